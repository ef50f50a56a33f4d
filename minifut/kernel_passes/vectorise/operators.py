"""Vectorised bodies and operators of reductions and scans.

    float16 right = xs[i .. i + 15]                    `visit`: the body, vectorised
    for d in 1, 2, 4, 8:                               `prefix`: scan within the vector
        left = right moved up by d lanes, neutral moves in
        right = left + right                           `combine`: the operator

The lanes hold operands in order, so any associative operator on scalars will do: a
tuple has a vector for each component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from minifut.immutables import fixed
from minifut.ir.types import BOOL
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.shuffles import move_up
from minifut.kernel_passes.split_block import decided_in_block
from minifut.kernel_passes.vectorise.affine import Affine
from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser
from minifut.kernel_passes.vectorise.statements import vectorise
from minifut.kernel_passes.vectorise.vectors import lane_bits

OperatorCode: TypeAlias = tuple[kc.Statement, ...]
"""`right = left op right`"""


@fixed
class PointCode:
    """The parts of one step of a fold or scan: the body, which leaves the operands of
    the point `index` in `right`, and what else it maps in `passed`; the operator,
    `right = left op right`, with its neutral values; and the statements that use the
    results, which are in `right`, those of the point before in `before`."""

    index: kc.Variable
    left: tuple[kc.Variable, ...]
    right: tuple[kc.Variable, ...]
    neutral: tuple[kc.Expression, ...]
    body: tuple[kc.Statement, ...]
    operator: OperatorCode
    saved: tuple[kc.Statement, ...] = ()
    passed: tuple[kc.Variable, ...] = ()
    before: tuple[kc.Variable, ...] = ()

    @property
    def running(self) -> tuple[kc.Variable, ...]:
        """The variables that differ from point to point."""
        return (*self.left, *self.right, *self.passed, *self.before)


@fixed
class Fold:
    """A sequential fold, the node of rules for folds:

        for (index = first; index < last; index++) {
            body; left = running; operator; running = right;
        }

    A rule processes as many points as fill vectors, and assigns the first remaining one
    to `start`. `code` is made when a rule first needs it. `commutes`: points may be
    combined in any order; `running` is neutral then. `cheap`: scalar code without
    checks or loops; `plain`: with a plain operator on one component, and without calls.
    `short`: there may be few points, so that those that fill no vector count.
    `is_large`: the run-time test whether results exceed the caches. `long`: most often
    the operands do, and each is read once.
    """

    code: Callable[[], PointCode]
    running: tuple[kc.Variable, ...]
    first: kc.Expression
    last: kc.Expression
    start: kc.Variable
    commutes: bool = False
    cheap: bool = False
    plain: bool = False
    short: bool = False
    is_large: Callable[[], kc.Expression] | None = None
    long: bool = False


class VectorCode:
    """The code of a point, vectorised for a width; declares `left` and `right`."""

    def __init__(self, k: CodeBuilder, code: PointCode, width: int) -> None:
        self.code, self.k, self.width = code, k, width
        self.rows: list[kc.Expression] | None = None
        """what must hold for lanes to traverse rows, if they may"""
        self.operators: dict[OperatorCode, list[kc.Statement]] = {}
        """those that were vectorised"""
        self.lanes = ExpressionVectoriser(width, frozenset())
        self.left = [self._wide(v) for v in code.left]
        self.right = [self._wide(v) for v in code.right]
        self.neutral = [self.lanes.broadcast(value) for value in code.neutral]
        self.before = [self._wide(v) for v in code.before]
        passed = [self._wide(v) for v in code.passed]
        for variable in (*self.left, *self.right, *self.before, *passed):
            self.k.emit(kc.Declare(variable))

    def _wide(self, variable: kc.Variable) -> kc.Variable:
        return kc.Variable(variable.name, self.lanes.wide(variable.type.scalar))

    def declare(self, base: str, values: Sequence[kc.Expression]) -> list[kc.Variable]:
        """New vectors."""
        return [self.k.declare(base, value) for value in values]

    def broadcast(self, places: Sequence[kc.Expression]) -> list[kc.Expression]:
        """Scalars in all lanes."""
        return [self.lanes.broadcast(place) for place in places]

    def last(self) -> list[kc.Expression]:
        """The last lane of `right`, as scalars."""
        found = []
        for wide, variable in zip(self.right, self.code.right, strict=True):
            lane = self.lanes.lane(wide, self.width - 1)
            found.append(lane.differs(0) if variable.type.scalar == BOOL else lane)
        return found

    def last_in_all(self) -> list[kc.Expression]:
        """The last lane of `right`, in all lanes."""
        return [
            kc.Vector((self.lanes.lane(wide, self.width - 1),), wide.type)
            for wide in self.right
        ]

    def visit(self, at: kc.Expression, step: kc.Operand = 1) -> None:
        """`right` becomes the operands of points: `at` in the first lane, `step` from
        lane to lane. A branch on the position is tested once for neighbouring ones."""
        self._at_points(self.code.body, (at, step))

    def visit_before(self, end: kc.Expression, at: kc.Expression) -> None:
        """The same for the points before an end, neutral in the lanes of others."""
        self.k.assign_all(self.right, self.neutral)
        within = kc.Branch(self.code.index < end, kc.Block(self.code.body))
        with self.k.scope():
            self.k.statements += self._vectorised((within,), (at, 1))

    def enter(self, before: Sequence[kc.Expression]) -> None:
        """`before` becomes the results of the point before each, with these, the same
        in all lanes, before the first lane."""
        for place, first, right in zip(self.before, before, self.right, strict=False):
            self.k.assign(place, self._moved_up(1, first, right))

    def save(
        self, at: kc.Expression, change: Callable[[kc.Statement], kc.Statement]
    ) -> None:
        """The statements that use the result, each as transformed by `change`."""
        self._at_points(self.code.saved, (at, 1), change)

    def _at_points(
        self,
        statements: tuple[kc.Statement, ...],
        at: Affine,
        change: Callable[[kc.Statement], kc.Statement] | None = None,
    ) -> None:
        """Statements of points, with what depends on the position tested once for
        neighbouring ones."""
        found = self._decided(statements, at[0]) if at[1] == 1 else None
        if found is None:
            with self.k.scope():
                self.k.statements += self._vectorised(statements, at, change)
            return
        whole, within = found
        with self.k.branch(whole):
            self.k.statements += self._vectorised(within, at, change)
        with self.k.otherwise():
            self.k.statements += self._vectorised(statements, at, change)

    def _decided(
        self, statements: tuple[kc.Statement, ...], at: kc.Expression
    ) -> tuple[kc.Expression, tuple[kc.Statement, ...]] | None:
        one, body = kc.Literal(1, kc.LONG), kc.Block(statements)
        points = kc.For(self.code.index, at, at + self.width, one, body)
        own = [variable.name for variable in self.code.running]
        return decided_in_block(points, at, self.width, self.k, own)

    def combine(
        self, left: Sequence[kc.Expression], operator: OperatorCode | None = None
    ) -> None:
        """`right = left op right` in each lane, by another operator if there is one."""
        with self.k.scope():
            self.k.assign_all(self.left, left)
            combining = self.code.operator if operator is None else operator
            self.k.statements += self._operator(combining)

    def _operator(self, operator: OperatorCode) -> list[kc.Statement]:
        """An operator in lanes: the same statements each time, unless they have names
        made for them."""
        known = self.operators.get(operator)
        if known is None:
            before = self.k.names.next
            known = self._vectorised(operator, (kc.Literal(0, kc.LONG), 1))
            if self.k.names.next == before:
                self.operators[operator] = known
        return known

    def prefix(self) -> None:
        """Inclusive prefix scan of the lanes of `right` (Hillis and Steele)."""
        distance = 1
        while distance < self.width:
            moved: list[kc.Expression] = []
            for neutral, right in zip(self.neutral, self.right, strict=True):
                moved.append(self._moved_up(distance, neutral, right))
            self.combine(moved)
            distance *= 2

    def _moved_up(
        self, distance: int, entering: kc.Expression, right: kc.Variable
    ) -> kc.Expression:
        name = move_up(distance, self.width, lane_bits(right.type))
        return kc.Call(name, (entering, right), right.type)

    def _vectorised(
        self,
        statements: Sequence[kc.Statement],
        at: Affine,
        change: Callable[[kc.Statement], kc.Statement] | None = None,
    ) -> list[kc.Statement]:
        code = self.code
        given = self.k, statements, code.index, at, self.width, code.running
        made = vectorise(*given, rows=self.rows)
        return [*map(change, made)] if change else made
