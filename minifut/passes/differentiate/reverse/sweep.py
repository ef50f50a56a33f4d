"""Both sweeps of reverse mode over a body.

    a = f x; y = g a     →     a = f x; y = g a;        forward sweep
                               a' = dg a y'; x' = df x a'     return sweep

The forward sweep emits each statement, or what its rule makes of it, and collects what
makes the return sweep, which runs backwards. Bodies inside (of a branch, loop or map)
are run again in the return sweep, where their own two sweeps stand: so nothing inside
them has to be kept, at the cost of one more run for each level of nesting (SC 2022,
section 4). What a reduction inside of a map or loop has found is kept on a tape,

- if it takes at least `OPERATIONS` scalar operations for each byte that is kept, where
  sizes that are unknown count as `NOMINAL`, and
- if the tape has no more dimensions than the arrays that the map reads and makes, or
  than the tapes of the loop's parameters: so that it does not outgrow those by far.

Where all that uses such results is a sum of them, the sum is kept in their place:

    a = xs * u; b = ys * v; c = a + b + bias; d = tanh c       keeps c

What is not needed, later passes drop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set

from minifut.analysis.work import work_of
from minifut.errors import InternalError
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Lambda, Param, ScalarOp, Stm
from minifut.ir.node import immutable
from minifut.ir.search import nodes_of
from minifut.ir.sizes import ZERO, product
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, walk
from minifut.ir.types import AccType, Type, element_of, shape_of
from minifut.names import Name
from minifut.passes.differentiate.activity import Activity
from minifut.passes.differentiate.context import Context, without_checks
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.rules import ReturnSweep, Reversed, ReverseOutcome
from minifut.rewrite.rule import Declined

OPERATIONS = 4
"""for a byte: fewer are rather executed again than their result written and read"""
NOMINAL = 64
"""a size that is not known"""


class ReverseSweep:
    """Makes sweeps; `activity` gives the active names, `maps` which map made an array,
    and as which of its results."""

    def __init__(self, context: Context, activity: Activity) -> None:
        self.context = context
        self.activity = activity
        self.maps: dict[Name, tuple[Screma, int]] = {}

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements stand where this one does."""
        return self.context.builder(statement)

    def adjoints(self) -> Adjoints:
        """No adjoints yet."""
        return Adjoints(self.context, self.activity)

    def forward(self, build: Builder, statements: Iterable[Stm]) -> list[ReturnSweep]:
        """Emit the forward sweep; what makes the return sweep, in order."""
        found = []
        for statement in statements:
            if any(self.activity.statement(statement)):
                if isinstance(statement.exp, Screma) and statement.exp.is_map:
                    for number, parameter in enumerate(statement.pattern):
                        self.maps[parameter.name] = statement.exp, number
                outcome = self.active(statement)
                build.extend(outcome.forward)
                found.append(outcome.back)
            else:
                build.append(statement)
        return found

    def active(self, statement: Stm) -> Reversed:
        """The sweeps of an active statement, by the first rule that fires."""
        for rule in self.context.reverse.get(type(statement.exp), ()):
            outcome: ReverseOutcome = rule.outcome(statement, self)
            if outcome is None:
                continue
            if isinstance(outcome, Declined):
                self.context.note(rule, statement, outcome)
                continue
            if isinstance(outcome, tuple):
                self.context.note(rule, statement, outcome)
                return self.through(outcome)
            self.context.note(rule, statement, outcome.forward)
            return outcome
        kind = type(statement.exp).__name__
        raise InternalError("differentiate", f"no rule of reverse mode for {kind}")

    def through(self, statements: tuple[Stm, ...]) -> Reversed:
        """Statements that stand for another one, swept in its place."""
        inner = self.context.builder()
        backs = self.forward(inner, statements)

        def back(build: Builder, adjoints: Adjoints) -> None:
            run_back(build, backs, adjoints)

        return Reversed(tuple(inner.statements), back)

    # --- bodies inside ---

    def again(
        self,
        build: Builder,
        body: Body,
        adjoints: Adjoints,
        results: Sequence[Atom | None],
    ) -> None:
        """Run a body again, for the adjoints of its results; those of what it mentions
        are in `adjoints` afterwards. The body's names must be its own."""
        backs = self.forward(build, body.statements)
        SweptBody((), (), Body((), body.result), backs).back(build, adjoints, results)

    def swept(
        self,
        build: Builder,
        own: Iterable[Name],
        body: Body,
        rank: int,
        wanted: Set[Name] = frozenset(),
    ) -> SweptBody:
        """Sweep a body with parameters of its `own` forward. What is `wanted` is kept;
        of what it finds by reductions, what has no sizes of the body's own, at most
        `rank` dimensions, and is worth it."""
        inner = build.nested()
        backs = self.forward(inner, body.statements)
        found = tuple(inner.statements)
        bound = {*own, *[p.name for s in found for p in s.pattern]}
        kept = [
            s
            for s in found
            if not wanted.isdisjoint(p.name for p in s.pattern)
            or (all(_fits(p.type, bound, rank) for p in s.pattern) and worth_keeping(s))
        ]
        kept = _sums_of(kept, Body(found, body.result), wanted)
        again = tuple(s for s in found if s not in kept)
        return SweptBody(
            found,
            tuple(p for s in kept for p in s.pattern),
            without_checks(Body(again, body.result)),
            backs,
        )

    def copy(self, body: Body) -> Body:
        """A copy of a body to run again, without checks."""
        copied: Body = self.context.copy(without_checks(body))
        return copied

    def copy_of_function(self, function: Lambda) -> Lambda:
        """A copy of a lambda to run again, without checks."""
        copied: Lambda = self.context.copy(without_checks(function))
        return copied

    def mentioned(self, *nodes: object) -> list[Name]:
        """The active names that the nodes take from outside, in a fixed order."""
        free: set[Name] = set().union(*[free_names(node) for node in nodes])
        return sorted(free & self.activity.names, key=lambda name: name.tag)


@immutable
class SweptBody:
    """The statements of the forward sweep of a body, the results of some that are
    `kept` on tapes, the statements to run `again` where those are read, and what makes
    the return sweep behind them."""

    statements: tuple[Stm, ...]
    kept: tuple[Param, ...]
    again: Body
    backs: Sequence[ReturnSweep]

    def back(
        self, build: Builder, adjoints: Adjoints, results: Sequence[Atom | None]
    ) -> None:
        """The return sweep, with the adjoints of the results."""
        build.extend(self.again.statements)
        for atom, adjoint in zip(self.again.result, results, strict=True):
            adjoints.add(build, atom, adjoint)
        run_back(build, self.backs, adjoints)


def _fits(type_: Type, bound: set[Name], rank: int) -> bool:
    """Whether there may be a tape of values of this type."""
    if isinstance(type_, AccType) or free_names(type_) & bound:
        return False
    return len(shape_of(type_)) <= rank


def worth_keeping(statement: Stm) -> bool:
    """Whether a SOAC reduces, itself or in its lambda, and takes long enough for what
    it finds. Work that depends on data counts as long."""
    exp = statement.exp
    if not isinstance(exp, Screma):
        return False
    if not any(isinstance(n, Screma) and n.reduces for n in walk(exp)):
        return False
    work = work_of(exp)
    if work is None:
        return True
    types = [p.type for p in statement.pattern]
    kept = sum((product(shape_of(t)) * element_of(t).bytes for t in types), ZERO)
    left = work - kept * OPERATIONS
    return left.evaluate(dict.fromkeys(left.names(), NOMINAL)) >= 0


def _sums_of(kept: list[Stm], body: Body, wanted: Set[Name]) -> list[Stm]:
    """With sums in the place of those terms that nothing else uses: the return sweep
    of a sum does not need them."""
    uses = Counter(name for s in body.statements for name in free_names(s))
    uses.update(atom for atom in body.result if isinstance(atom, Name))
    uses.update(wanted)
    for statement in body.statements:
        if not _is_sum(statement.exp):
            continue
        terms = [s for s in kept if _is_term(s, statement, uses)]
        if terms:
            kept = [*[s for s in kept if s not in terms], statement]
    return kept


def _is_term(statement: Stm, sum_: Stm, uses: Counter[Name]) -> bool:
    """Whether what a statement binds is a term of a sum alone, and so are its own
    folds, if it has some: the return sweep does not need what these found."""
    used = free_names(sum_)
    bound = [parameter.name for parameter in statement.pattern]
    if sum(uses[name] for name in bound) != 1 or used.isdisjoint(bound):
        return False
    if statement.pattern[0].type != sum_.pattern[0].type:
        return False
    folds = [f.operator for s in nodes_of(Screma, statement.exp) for f in s.folds]
    return all(op.operator.name == "add" for op in nodes_of(ScalarOp, *folds))


def _is_sum(exp: object) -> bool:
    """Whether an expression is a map with one result that only adds and subtracts."""
    if isinstance(exp, ScalarOp):
        return exp.operator.name in ("add", "sub", "neg") and exp.operator.type.is_float
    if isinstance(exp, Screma) and exp.is_map and len(exp.function.results) == 1:
        return all(_is_sum(s.exp) for s in exp.function.body.statements)
    return False


def run_back(build: Builder, backs: Sequence[ReturnSweep], adjoints: Adjoints) -> None:
    """The return sweep of statements in a row."""
    for back in reversed(backs):
        back(build, adjoints)
