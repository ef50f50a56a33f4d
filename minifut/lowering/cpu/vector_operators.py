"""The scalar code of one point of a reduction or scan, which rules vectorise.

`vectorise.operators` defines its parts, `vectorise.folds` the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.node import immutable
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise import NotVectorisable
from minifut.kernel_passes.vectorise.operators import PointCode
from minifut.lowering.cpu.reduction import Reduction
from minifut.lowering.operators import (
    AccumulatorPlace,
    Accumulators,
    replace_all,
    returned,
)
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue


@immutable
class ScannedPoint:
    """What is known at a point of a scan."""

    index: kc.Expression
    scanned: Sequence[AccumulatorPlace]
    passed: Sequence[LoweredValue]
    """what the body maps besides the operands"""
    before: Sequence[kc.Expression]
    """the scanned values of the point before, if they are wanted"""


@immutable
class PointUse:
    """What is done at each point of a scan: `emit`, which stores so many `bytes`."""

    emit: Callable[[KernelBuilder, ScannedPoint], None]
    bytes: int = 0
    passed: tuple[ScalarType, ...] = ()
    wants_before: bool = False


def point_code(
    k: KernelBuilder,
    reduction: Reduction,
    segment: Sequence[kc.Expression],
    use: PointUse | None = None,
) -> PointCode:
    """The code of one point, with what is done with the results; raises
    `NotVectorisable` for operators that combine arrays."""
    index = k.variable("i", kc.LONG)
    types = [kc.VectorType(t) for t in reduction.types if isinstance(t, ScalarType)]
    if len(types) < len(reduction.types):
        raise NotVectorisable("the operator combines arrays")
    left = [k.variable("left", t) for t in types]
    right = [k.variable("right", t) for t in types]
    operators = reduction.operators
    others = () if use is None else use.passed
    passed = [k.variable("passed", kc.VectorType(t)) for t in others]
    wanted = types if use is not None and use.wants_before else []
    before = [k.variable("before", t) for t in wanted]
    with k.nested() as body:
        made = reduction.visit(k, segment, index)
        if passed:
            made += returned(k, reduction.operation.body)[len(made) :]
        for place, value in zip((*right, *passed), made, strict=True):
            assert isinstance(value, kc.Expression)
            k.assign(place, value)
    with k.nested() as operator_code:
        at = 0
        for operator in operators:
            end = at + len(operator.neutral)
            values = (*left[at:end], *right[at:end])
            results = list(k.apply(operator.operator, values))
            replace_all(k, list(right[at:end]), results)
            at = end
    with k.nested() as saved:
        if use is not None:
            use.emit(k, ScannedPoint(index, right, passed, before))
    return PointCode(
        index,
        tuple(left),
        tuple(right),
        tuple(k.scalar(atom) for o in operators for atom in o.neutral),
        tuple(body),
        tuple(operator_code),
        tuple(saved),
        tuple(passed),
        tuple(before),
    )


def scalar_places(accumulators: Accumulators) -> list[kc.Variable]:
    """The accumulators of operators on scalars."""
    return [p for p in accumulators.all_places if isinstance(p, kc.Variable)]
