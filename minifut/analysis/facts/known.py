"""The facts that hold at one place of a program, scope by scope.

    facts.define(statement)                 what its names stand for, examined later
    with facts.inner():                     a branch, a loop's body, a lambda
        facts.assume(condition, True, "..") what holds in there
        facts.run_over(i, width, "..")      0 <= i < width

A traversal of a program enters what it passes; what is entered within `inner` is
removed at its end. Sizes that are known to be at least zero are those of parameters and
of results that come with their size (`natural`); the mere type of an array that a
statement makes proves nothing, since a total statement may be moved above the check of
its size.

Sizes are taken to be below 2^48: no device addresses more elements, and an array that
is longer is empty along another dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from minifut.analysis.facts import meaning, proof, ranges
from minifut.analysis.facts.forms import (
    CONSTANT,
    Fact,
    Form,
    Proof,
    ValueRange,
    atoms_of,
    combine,
    difference,
    number,
    of_atom,
    replaced,
    type_range,
)
from minifut.analysis.facts.journal import Journal
from minifut.analysis.facts.open_conditions import OpenCondition, OpenConditions
from minifut.ir import core
from minifut.ir.core import Exp, Param, ScalarOp, Stm
from minifut.ir.scope import Scope
from minifut.ir.sizes import Monomial, Size, SizeFactor, product
from minifut.ir.types import I64, shape_of
from minifut.names import Name

T = TypeVar("T")

SIZE_LIMIT = 1 << 48
"""no array has more elements"""
MOST_TERMS = 12
"""of a form; longer ones are not reasoned about"""


class Facts:
    """What is known at a place; see the module."""

    def __init__(self, types: Scope) -> None:
        self.types = types
        self.definitions: dict[Name, tuple[Exp, int]] = {}
        self.order: dict[Name, int] = {}
        self.about: dict[SizeFactor, list[Fact]] = {}
        self.bounds: dict[SizeFactor | Monomial, ValueRange] = {}
        self.truths: dict[Name, bool] = {}
        self.open = OpenConditions()
        self.memo: dict[Any, Any] = {}
        self.journal = Journal()
        self.put = self.journal.put
        self.version = 0
        self.proving = 0

    # --- scopes -----------------------------------------------------------------------

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A scope: what is added in it is removed at its end, so that what was found
        out before it counts again (its version is that of before)."""
        mark = len(self.journal.replaced)
        open_before, version_before = self.open.entries, self.version
        try:
            yield
        finally:
            self.journal.undo(mark)
            self.open.entries, self.version = open_before, version_before

    def remembered(
        self, what: str, atom: SizeFactor, find: Callable[[Facts, SizeFactor], list[T]]
    ) -> list[T]:
        """What was found for an atom, as long as no fact is added."""
        found, version = self.memo.get((what, atom), (None, None))
        if version == self.version:
            known: list[T] = found
            return known
        made = find(self, atom)
        self.put(self.memo, (what, atom), (made, self.version))
        return made

    # --- learning ---------------------------------------------------------------------

    def define(self, statement: Stm) -> None:
        """The names of a statement; results that come with their size have a size."""
        for position, bound in enumerate(statement.pattern):
            self.definitions[bound.name] = statement.exp, position
            self.order[bound.name] = len(self.order)
        if len(statement.pattern) > 1:
            self.natural_sizes(statement.pattern)

    def execute(self, statement: Stm) -> None:
        """What holds after a statement: its names are defined, its check holds."""
        self.define(statement)
        if isinstance(statement.exp, core.Assert):
            self.assume(statement.exp.condition, True, "a check")

    def natural_sizes(
        self, parameters: Iterable[Param], all_sizes: bool = False
    ) -> None:
        """Sizes among parameters (or a pattern) that shape arrays among them; all of
        them if the arrays are sure to exist, and then they fit into memory."""
        parameters = tuple(parameters)
        own = {p.name for p in parameters if p.type == I64}
        for parameter in parameters:
            shape = shape_of(parameter.type)
            for size in shape:
                name = size.as_name
                if name is not None and (all_sizes or name in own):
                    self.natural(name)
                elif name is None and all_sizes:
                    self.learn(Fact(dict(size.terms), "a size"))
                    self.fits_memory(size)
            if all_sizes and len(shape) > 1:
                self.fits_memory(product(shape))

    def fits_memory(self, size: Size) -> None:
        """A product of sizes is a number of elements."""
        if all(coefficient > 0 for _, coefficient in size.terms):
            self.version += 1
            for monomial, _ in size.terms:
                if len(monomial) > 1:
                    self.put(self.bounds, monomial, (0, SIZE_LIMIT))

    def natural(self, name: Name) -> None:
        """The name is a size of an array that exists."""
        self.version += 1
        low, high = self.bounds.get(name, (0, SIZE_LIMIT))
        self.put(self.bounds, name, (max(low, 0), min(high, SIZE_LIMIT)))

    def run_over(self, index: Name, width: Form, origin: str) -> None:
        """The index runs over 0, 1, ... below `width`, which so is at least 1."""
        width = meaning.if_positive(self, width)
        self.order[index] = len(self.order)
        self.put(self.bounds, index, (0, max(self.range_of_form(width)[1] - 1, 0)))
        self.is_positive(width, origin)
        self.learn(Fact(difference(width, of_atom(index), 1), origin), index)
        self.resolve()

    def run_at_least_once(self, width: Form) -> None:
        """The space of a map is not empty."""
        self.is_positive(meaning.if_positive(self, width), "the map")
        self.resolve()

    def is_positive(self, width: Form, origin: str) -> None:
        """The form is at least 1."""
        self.learn(Fact(difference(width, number(1)), origin))
        for fact in meaning.of_positive(self, width, origin):
            self.learn(fact)

    def learn(self, fact: Fact, new: SizeFactor | None = None) -> None:
        """A fact that holds until the end of the scope; it says nothing more of other
        atoms if it is of a `new` one."""
        form = fact.form
        if len(form) > MOST_TERMS:
            return
        atoms = set(atoms_of(form))
        if any(known.form == form for a in atoms for known in self.about.get(a, ())):
            return
        self.version += 1
        for atom in atoms if new is None else [new]:
            self.put(self.open.changed, atom, self.open.clock)
        for atom in atoms:
            self.put(self.about, atom, [*self.about.get(atom, ()), fact])
        for monomial, coefficient in form.items():
            if len(monomial) == 1 and abs(coefficient) == 1:
                self.narrow(monomial[0], coefficient, form)

    def restate(self, atom: SizeFactor, form: Form) -> None:
        """What is known of an atom, said of the form that it has from now on: a sum may
        turn out not to wrap by what was assumed of it."""
        for fact in self.about.get(atom, ()):
            again = replaced(fact.form, atom, form)
            if again is not None:
                self.learn(Fact(again, fact.origin))
        low, _ = self.bounds.get(atom, (None, None))
        if low is not None and self.range_of_form(form)[0] < low:
            self.learn(Fact(difference(form, number(low)), "its range"))

    def limit_elements(self, array: Name, limit: Form) -> None:
        """All elements of an array are below the limit, and none is negative."""
        self.put(self.memo, ("limit", array), limit)

    def element_limit(self, array: Name) -> Form | None:
        """The limit of the elements of an array, if one is known."""
        found: Form | None = self.memo.get(("limit", array))
        return found

    def narrow(self, atom: SizeFactor, coefficient: int, form: Form) -> None:
        """The range of an atom, by `form >= 0` and the ranges of the others."""
        low, high = self.range_of_atom(atom)
        rest = self.range_of_form({m: c for m, c in form.items() if m != (atom,)})
        tighter = (
            (max(low, -rest[1]), high)
            if coefficient == 1
            else (low, min(high, rest[1]))
        )
        if tighter != (low, high):
            self.put(self.bounds, atom, tighter)

    def assume(self, condition: core.Atom, truth: bool, origin: str) -> None:
        """The condition is true (or false) until the end of the scope."""
        if not isinstance(condition, Name):
            return
        self.put(self.truths, condition, truth)
        self.put(self.open.changed, condition, self.open.clock)
        exp = self.definition(condition)
        for part, holds in meaning.parts_of_branch(exp, truth):
            self.assume(part, holds, origin)
        if not isinstance(exp, ScalarOp):
            return
        name, operands = exp.operator.name, exp.operands
        if name == "not":
            self.assume(operands[0], not truth, origin)
        elif name == ("and" if truth else "or"):
            for operand in operands:
                self.assume(operand, truth, origin)
        elif name == ("or" if truth else "and"):
            about = self.subjects(condition)
            self.open.add(OpenCondition(condition, truth, origin, about))
            self.resolve()
        elif _compares_integers(exp):
            self.compare(exp, truth, origin)

    def compare(self, exp: ScalarOp, truth: bool, origin: str) -> None:
        """What a comparison of integers says."""
        name = exp.operator.name if truth else OPPOSITES[exp.operator.name]
        left, right = (meaning.form_of(self, operand) for operand in exp.operands)
        if name in ("lt", "le", "eq"):
            self.learn(Fact(difference(right, left, int(name == "lt")), origin))
        if name in ("gt", "ge", "eq"):
            self.learn(Fact(difference(left, right, int(name == "gt")), origin))
        if name == "ne":
            for one, other in ((left, right), (right, left)):
                if proof.prove(self, difference(one, other)) is not None:
                    self.learn(Fact(difference(one, other, 1), origin))

    def resolve(self) -> None:
        """Examine disjunctions again of which a part may be known to fail by now: those
        about something added since they were last examined."""
        for entry in self.open.due():
            exp = self.definition(entry.condition)
            assert isinstance(exp, ScalarOp)
            left, right = exp.operands
            again = [entry]
            part: core.Atom | None = None
            for one, other in ((left, right), (right, left)):
                if proof.holds(self, one, not entry.truth) is not None:
                    again, part = [], other
                    break
            self.open.replace(entry.condition, again)
            if part is not None:
                self.assume(part, entry.truth, entry.origin)
                # What follows may resolve others, and so on.
                self.resolve()
                return

    def subjects(self, condition: core.Atom) -> frozenset[SizeFactor]:
        """The atoms that a condition is about."""
        if not isinstance(condition, Name):
            return frozenset()
        exp = self.definition(condition)
        if not isinstance(exp, ScalarOp):
            return frozenset((condition,))
        if _compares_integers(exp):
            forms = (meaning.form_of(self, operand) for operand in exp.operands)
            return frozenset(atom for form in forms for atom in atoms_of(form))
        parts = (self.subjects(operand) for operand in exp.operands)
        return frozenset((condition,)).union(*parts)

    # --- looking up -------------------------------------------------------------------

    def definition(self, atom: core.Atom) -> Exp | None:
        """The expression whose only result a name is."""
        if not isinstance(atom, Name):
            return None
        exp, position = self.definitions.get(atom, (None, 0))
        return None if isinstance(exp, core.If | core.Loop) and position else exp

    def range_of_atom(self, atom: SizeFactor) -> ValueRange:
        """The least and greatest value of an atom of forms."""
        found = self.bounds.get(atom)
        return found if found is not None else ranges.range_of(self, atom)

    def range_of_monomial(self, monomial: Monomial) -> ValueRange:
        """The least and greatest value of a product."""
        found = self.bounds.get(monomial)
        if found is not None:
            return found
        found = ranges.range_of_multiple(self, monomial)
        if found is not None:
            return found
        least, most = self.range_of_atom(monomial[0])
        for atom in monomial[1:]:
            a, b = self.range_of_atom(atom)
            corners = (least * a, least * b, most * a, most * b)
            least, most = min(corners), max(corners)
        return least, most

    def range_of_form(self, form: Form) -> ValueRange:
        """An interval that contains the values of a form."""
        low = high = form.get(CONSTANT, 0)
        for monomial, coefficient in form.items():
            if monomial:
                least, most = self.range_of_monomial(monomial)
                ends = (least * coefficient, most * coefficient)
                low, high = low + min(ends), high + max(ends)
        return low, high

    # --- queries ----------------------------------------------------------------------

    def form(self, what: Size | core.Atom) -> Form:
        """A size or an integer atom as a form."""
        if isinstance(what, Size):
            return meaning.form_of_size(self, what)
        return meaning.form_of(self, what)

    def proves(
        self, what: Size | Form, most: int = proof.MOST_STEPS[0]
    ) -> Proof | None:
        """A proof that a size or form is never negative, of at most so many steps."""
        goal = self.form(what) if isinstance(what, Size) else what
        return proof.prove(self, goal, most)

    def holds(self, condition: core.Atom, truth: bool = True) -> Proof | None:
        """A proof that a condition is true (or false)."""
        return proof.holds(self, condition, truth)

    def below(self, one: core.Atom, other: Form | core.Atom) -> Proof | None:
        """A proof of `one < other`."""
        bound = other if isinstance(other, dict) else self.form(other)
        return self.proves(difference(bound, self.form(one), 1))

    def at_most(self, one: core.Atom, other: core.Atom) -> Proof | None:
        """A proof of `one <= other`."""
        return self.proves(difference(self.form(other), self.form(one)))

    def within_type(self, name: Name, least: int, most: int) -> bool:
        """Whether an interval is within the type of a name."""
        low, high = type_range(self.types.get(name, I64))
        return low <= least and most <= high

    def natural_atom(self, atom: core.Atom) -> Proof | None:
        """A proof of `0 <= atom`."""
        return self.proves(self.form(atom))

    def inside(
        self, indices: Iterable[core.Atom], shape: Iterable[Size]
    ) -> Proof | None:
        """A proof that each index is within its dimension."""
        used: Proof = ()
        for index, size in zip(indices, shape, strict=False):
            low, high = self.natural_atom(index), self.below(index, self.form(size))
            if low is None or high is None:
                return None
            used += low + high
        return used

    def remainder(self, exp: ScalarOp) -> tuple[Proof, int] | None:
        """A proof that a remainder is its number less 0, 1 or -1 times the divisor."""
        return meaning.remainder(self, exp)

    def nonzero(self, atom: core.Atom) -> Proof | None:
        """A proof that a number is not zero."""
        form = self.form(atom)
        above = self.proves(difference(form, number(1)))
        return (
            above
            if above is not None
            else self.proves(combine(form, -1, number(1), -1))
        )

    def range_of(self, atom: core.Atom) -> ValueRange:
        """The least and greatest value of an integer atom."""
        return self.range_of_form(self.form(atom))


OPPOSITES = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def _compares_integers(exp: ScalarOp) -> bool:
    return exp.operator.name in OPPOSITES and exp.operator.operands[0].is_integer
