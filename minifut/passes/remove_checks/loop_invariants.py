"""Bounds of the parameters of a loop that hold in every iteration, by induction.

    loop (lo, hi) = (0, n) while lo < hi do          0 <= lo,  lo <= n,  0 <= hi,
      let mid = (lo + hi) / 2                         hi <= n  and  lo < hi,
      in if xs[mid] < x then (mid + 1, hi)            so  0 <= mid < n
         else (lo, mid)

Candidates are bounds by zero, by initial values, by other parameters and, in a for
loop, by the number of the iteration. Those that hold at the start are assumed of an
iteration; those that do not hold at its end then are dropped, until all that are left
do (Houdini: Flanagan and Leino, FME 2001). What the results of branches are is proved
on each side. They hold of the loop's results, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import Fact, Form, combine, number
from minifut.ir import core
from minifut.ir.core import Atom, Body, Constant, If, Loop, ScalarOp, Stm
from minifut.ir.node import immutable
from minifut.ir.types import I64, ScalarType
from minifut.names import Name

MOST_PARAMETERS = 5
"""integers of a loop with more are not examined"""
MOST_STEPS = 12
"""of a proof of a candidate"""
MOST_ROUNDS = 4
"""of dropping candidates"""
DEEPEST = 2
"""branches within branches that are told apart"""
COMPARED = {"lt": 1, "le": 0, "gt": 1, "ge": 0}
"""how far apart the numbers are"""
ORIGIN = "the loop"

Values = Mapping[Name, Form]
"""what parameters and the index are at a place"""
Enter = Callable[[Stm], None]
"""learns what holds after a statement"""


@immutable
class LoopBound:
    """`sum(greater) - less - apart >= 0`."""

    greater: tuple[Atom, ...]
    less: Atom
    apart: int = 0

    def at(self, facts: Facts, values: Values) -> Form:
        """What is not negative, with the values of a place."""
        total = number(-self.apart)
        for atom, sign in (*((each, 1) for each in self.greater), (self.less, -1)):
            known = values.get(atom) if isinstance(atom, Name) else None
            form = facts.form(atom) if known is None else known
            total = combine(total, 1, form, sign)
        return total


@immutable
class LoopInvariants:
    """The bounds of a loop, and those that hold while it goes on."""

    loop: Loop
    always: tuple[LoopBound, ...] = ()
    inside: tuple[LoopBound, ...] = ()

    def assume_inside(self, facts: Facts) -> None:
        """Learn what holds of the parameters in an iteration."""
        values = self._values(facts, self.loop.parameters)
        for each in (*self.always, *self.inside):
            facts.learn(Fact(each.at(facts, values), ORIGIN))

    def assume_results(self, facts: Facts, pattern: Sequence[core.Param]) -> None:
        """Learn what holds of the results."""
        values = self._values(facts, pattern)
        if isinstance(self.loop.form, core.ForLoop):
            bound = facts.form(self.loop.form.bound)
            if facts.proves(bound) is None:
                return
            values[self.loop.form.index] = bound
        for each in self.always:
            facts.learn(Fact(each.at(facts, values), ORIGIN))

    def _values(self, facts: Facts, names: Sequence[core.Param]) -> dict[Name, Form]:
        """What these stand for in the place of the parameters."""
        return {
            mine.name: facts.form(bound.name)
            for mine, bound in zip(self.loop.parameters, names, strict=True)
            if _is_integer(mine.type)
        }


def loop_invariants(facts: Facts, loop: Loop, enter: Enter) -> LoopInvariants:
    """The bounds that hold at the start of each iteration; `facts` are those before."""
    integers = [
        (parameter.name, initial, result)
        for parameter, initial, result in zip(
            loop.parameters, loop.initial, loop.body.result, strict=True
        )
        if _is_integer(parameter.type) and result != parameter.name
    ]
    if not 0 < len(integers) <= MOST_PARAMETERS:
        return LoopInvariants(loop)
    index = loop.form.index if isinstance(loop.form, core.ForLoop) else None
    start: dict[Name, Form] = {name: facts.form(first) for name, first, _ in integers}
    if index is not None:
        start[index] = number(0)
    bounds = tuple(
        bound
        for bound in _candidates(integers, index)
        if facts.proves(bound.at(facts, start), MOST_STEPS) is not None
    )
    inside = tuple(_conditions(facts, loop, start))
    for _ in range(MOST_ROUNDS):
        found = LoopInvariants(loop, bounds, inside)
        if not bounds:
            break
        kept = _after_iteration(facts, found, index, integers, enter)
        if len(kept) == len(bounds):
            return found
        bounds = kept
    return LoopInvariants(loop, (), inside)


def _candidates(
    integers: Sequence[tuple[Name, Atom, Atom]], index: Name | None
) -> Iterator[LoopBound]:
    zero = Constant(0, I64)
    for name, initial, _ in integers:
        yield LoopBound((name,), zero)
        yield LoopBound((initial,), name)
        if initial != zero:
            yield LoopBound((name,), initial)
        if index is not None:
            yield LoopBound((initial, index), name)
    for (one, first, _), (other, _, _) in permutations(integers, 2):
        yield LoopBound((one,), other)
        if isinstance(first, Name):
            yield LoopBound((first,), other)


def _conditions(facts: Facts, loop: Loop, start: Values) -> Iterator[LoopBound]:
    """What the condition of a while loop says of the parameters, if it is computed at
    the end of an iteration from what they become."""
    if not isinstance(loop.form, core.WhileLoop):
        return
    names = [parameter.name for parameter in loop.parameters]
    if loop.form.condition not in names:
        return
    place = names.index(loop.form.condition)
    own = {bound.name for s in loop.body.statements for bound in s.pattern}
    own |= {*names}
    become = dict(zip(loop.body.result, names, strict=True))
    made = {s.pattern[0].name: s.exp for s in loop.body.statements if s.pattern}
    for exp in _conjuncts(loop.body.result[place], made):
        known = all(each in become or each not in own for each in exp.operands)
        if not known or not _is_integer(exp.operator.operands[0]):
            continue
        less, greater = [become.get(each, each) for each in exp.operands]
        if exp.operator.name in ("gt", "ge"):
            less, greater = greater, less
        bound = LoopBound((greater,), less, COMPARED[exp.operator.name])
        with facts.inner():
            facts.assume(loop.initial[place], True, ORIGIN)
            if facts.proves(bound.at(facts, start)) is not None:
                yield bound


def _conjuncts(atom: Atom, made: Mapping[Name, core.Exp]) -> Iterator[ScalarOp]:
    """The comparisons that hold where the atom is true."""
    match made.get(atom) if isinstance(atom, Name) else None:
        case ScalarOp(operator, operands) as exp:
            if operator.name == "and":
                for operand in operands:
                    yield from _conjuncts(operand, made)
            elif operator.name in COMPARED:
                yield exp
        case If(condition, _, Body((), (Constant(False, _),))):
            yield from _conjuncts(condition, made)


def _after_iteration(
    facts: Facts,
    found: LoopInvariants,
    index: Name | None,
    integers: Sequence[tuple[Name, Atom, Atom]],
    enter: Enter,
) -> tuple[LoopBound, ...]:
    """The bounds that hold at the end of an iteration in which all did at its start."""
    loop = found.loop
    with facts.inner():
        enter_iteration(facts, found)
        for statement in loop.body.statements:
            enter(statement)
        results = {name: result for name, _, result in integers}
        following: dict[Name, Form] = {}
        if index is not None:
            following[index] = combine(facts.form(index), 1, number(1), 1)
        return _kept(facts, found.always, results, following, loop.body, enter)


def enter_iteration(facts: Facts, found: LoopInvariants) -> None:
    """Learn what holds in an iteration."""
    loop = found.loop
    facts.natural_sizes(loop.parameters)
    if isinstance(loop.form, core.ForLoop):
        facts.run_over(loop.form.index, facts.form(loop.form.bound), ORIGIN)
    else:
        facts.assume(loop.form.condition, True, ORIGIN)
    found.assume_inside(facts)


def _kept(
    facts: Facts,
    bounds: tuple[LoopBound, ...],
    results: Mapping[Name, Atom],
    following: Values,
    body: Body,
    enter: Enter,
    depth: int = 0,
) -> tuple[LoopBound, ...]:
    """The bounds that hold of what the parameters become: on both sides of a branch
    that gives some of it, else by themselves."""
    branch = None if depth == DEEPEST else next(_branches(body, results), None)
    chosen = {bound.name for bound in branch.pattern} if branch else set()
    divided = {name for name, atom in results.items() if atom in chosen}
    apart = tuple(b for b in bounds if not divided.isdisjoint((*b.greater, b.less)))
    kept = set(apart)
    if branch is not None and apart:
        made = branch.exp
        assert isinstance(made, If)
        for truth, side in ((True, made.then), (False, made.otherwise)):
            given = dict(
                zip((b.name for b in branch.pattern), side.result, strict=True)
            )
            there = {
                name: given.get(atom, atom) if isinstance(atom, Name) else atom
                for name, atom in results.items()
            }
            with facts.inner():
                facts.assume(made.condition, truth, "the branch")
                for statement in side.statements:
                    enter(statement)
                some = tuple(bound for bound in apart if bound in kept)
                kept &= {*_kept(facts, some, there, following, side, enter, depth + 1)}
    values = {name: facts.form(atom) for name, atom in results.items()} | {**following}
    return tuple(
        bound
        for bound in bounds
        if (
            bound in kept
            if bound in apart
            else facts.proves(bound.at(facts, values), MOST_STEPS) is not None
        )
    )


def _is_integer(type_: object) -> bool:
    """Whether numbers of the type may be positions; unsigned ones are mostly bits."""
    return isinstance(type_, ScalarType) and type_.kind == "int"


def _branches(body: Body, results: Mapping[Name, Atom]) -> Iterator[Stm]:
    """The branches of a body that give results."""
    wanted = set(results.values())
    for statement in body.statements:
        made = {bound.name for bound in statement.pattern}
        if isinstance(statement.exp, If) and not wanted.isdisjoint(made):
            yield statement
