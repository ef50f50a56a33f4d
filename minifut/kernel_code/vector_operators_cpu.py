"""Bodies and operators of reductions and scans on whole vectors.

    float16 right = xs[i .. i + 15]                    `visit`: the body, lifted
    for d in 1, 2, 4, 8:                               `prefix`: scan within the vector
        left = right moved up by d lanes, neutral moves in
        right = left + right                           `combine`: the operator, lifted
    left = before; right = left + right                `combine(before)`
    before = right.sF in all lanes

Operands stand in order in the lanes, so any associative operator on scalars will do: a
tuple has a vector for each component. What cannot be lifted raises `NotLifted`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.types import BOOL, element_of
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lanes import NotLifted, lift
from minifut.kernel_code.lanes.expressions import Lanes
from minifut.kernel_code.lower_kernel import KernelBuilder
from minifut.kernel_code.operators import State, replace_all
from minifut.kernel_code.reduction_cpu import Reduction
from minifut.kernel_code.shuffles import move_up
from minifut.kernel_code.speculation import speculate
from minifut.kernel_code.widths_cpu import by_width


class ScalarCode:
    """What a step consists of, for one point: the body, which leaves its operands in
    variables `right`; the operators, `right = left op right`; and what `save` emits for
    an index and these values."""

    def __init__(
        self,
        k: KernelBuilder,
        reduction: Reduction,
        segment: Sequence[kc.Expression],
        save: Callable[[kc.Expression, list[kc.Variable]], None] | None = None,
    ) -> None:
        self.k = k
        self.index = k.variable("i", kc.LONG)
        types = [kc.VectorType(element_of(t)) for t in reduction.types]
        self.left = [k.variable("left", t) for t in types]
        self.right = [k.variable("right", t) for t in types]
        operators = reduction.operators
        self.neutral = [atom for o in operators for atom in o.neutral]
        with k.nested() as body:
            for place, value in zip(
                self.right, reduction.visit(k, segment, self.index), strict=True
            ):
                assert isinstance(value, kc.Expression)
                k.assign(place, value)
        self.body = speculate(k, body)
        with k.nested() as operator_code:
            at = 0
            for operator in operators:
                end = at + len(operator.neutral)
                values = (*self.left[at:end], *self.right[at:end])
                results = list(k.apply(operator.operator, values))
                replace_all(k, list(self.right[at:end]), results)
                at = end
        self.operator = speculate(k, operator_code)
        with k.nested() as self.saved:
            if save is not None:
                save(self.index, self.right)

    def by_width(self, make: Callable[[Vectors], None]) -> list[kc.Statement]:
        """What `make` emits for the width that the device has; see `widths_cpu`."""
        return by_width(
            self.k, [*self.body, *self.operator], lambda w: make(Vectors(self, w))
        )


class Vectors:
    """The same in vectors of a width; declares `left` and `right`."""

    def __init__(self, code: ScalarCode, width: int) -> None:
        self.code, self.k, self.width = code, code.k, width
        self.lanes = Lanes(width, frozenset())
        self.left = [self._wide(v) for v in code.left]
        self.right = [self._wide(v) for v in code.right]
        self.neutral = [self.lanes.spread(self.k.scalar(a)) for a in code.neutral]
        for variable in (*self.left, *self.right):
            self.k.emit(kc.Declare(variable))

    def _wide(self, variable: kc.Variable) -> kc.Variable:
        return kc.Variable(variable.name, self.lanes.wide(variable.type.scalar))

    def declare(self, base: str, values: Sequence[kc.Expression]) -> list[kc.Variable]:
        """New vectors."""
        return [self.k.declare(base, value) for value in values]

    def spread(self, places: Sequence[kc.Expression]) -> list[kc.Expression]:
        """Scalars in all lanes."""
        return [self.lanes.spread(place) for place in places]

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

    def visit(self, at: kc.Expression) -> None:
        """`right` becomes the operands of the points from `at` on."""
        with self.k.scope():
            self._lifted(self.code.body, at)

    def save(
        self, at: kc.Expression, change: Callable[[kc.Statement], kc.Statement]
    ) -> None:
        """Do for `right` what the scalar code saves, each statement as `change` has
        it."""
        self._lifted(self.code.saved, at, change)

    def combine(self, left: Sequence[kc.Expression]) -> None:
        """`right = left op right` in each lane."""
        with self.k.scope():
            for place, value in zip(self.left, left, strict=True):
                self.k.assign(place, value)
            self._lifted(self.code.operator, kc.Literal(0, kc.LONG))

    def prefix(self) -> None:
        """Each lane of `right` becomes all lanes up to and with it, in order."""
        distance = 1
        while distance < self.width:
            moved: list[kc.Expression] = []
            for neutral, right in zip(self.neutral, self.right, strict=True):
                bits = max(32, right.type.scalar.bits)
                if right.type.scalar.is_integer:
                    bits = right.type.scalar.bits
                name = move_up(distance, self.width, bits)
                moved.append(kc.Call(name, (neutral, right), right.type))
            self.combine(moved)
            distance *= 2

    def _lifted(
        self,
        statements: Sequence[kc.Statement],
        at: kc.Expression,
        change: Callable[[kc.Statement], kc.Statement] | None = None,
    ) -> None:
        code = self.code
        running = (*code.left, *code.right)
        made = lift(self.k, statements, code.index, (at, 1), self.width, running)
        self.k.statements.extend(map(change, made) if change else made)


def replace_state(k: KernelBuilder, state: State, values: list[kc.Expression]) -> None:
    """The running values become others."""
    for place, value in zip(state.all_places, values, strict=True):
        assert isinstance(place, kc.Variable)
        k.assign(place, value)


def scalar_places(state: State) -> list[kc.Expression]:
    """The running values of operators on scalars."""
    return [p for p in state.all_places if isinstance(p, kc.Variable)]


__all__ = ["NotLifted", "ScalarCode", "Vectors", "replace_state", "scalar_places"]
