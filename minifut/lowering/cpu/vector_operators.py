"""The scalar code of one point of a reduction or scan, which rules vectorise.

`vectorise.operators` defines its parts, `vectorise.folds` the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise import NotVectorisable
from minifut.kernel_passes.vectorise.operators import PointCode
from minifut.lowering.cpu.reduction import Reduction
from minifut.lowering.operators import Accumulators, replace_all
from minifut.lowering.threads.builder import KernelBuilder


def point_code(
    k: KernelBuilder,
    reduction: Reduction,
    segment: Sequence[kc.Expression],
    save: Callable[[kc.Expression, list[kc.Variable]], None] | None = None,
) -> PointCode:
    """The code of one point, with what `save` emits for an index and the results;
    raises `NotVectorisable` for operators that combine arrays."""
    index = k.variable("i", kc.LONG)
    types = [kc.VectorType(t) for t in reduction.types if isinstance(t, ScalarType)]
    if len(types) < len(reduction.types):
        raise NotVectorisable("the operator combines arrays")
    left = [k.variable("left", t) for t in types]
    right = [k.variable("right", t) for t in types]
    operators = reduction.operators
    with k.nested() as body:
        for place, value in zip(right, reduction.visit(k, segment, index), strict=True):
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
        if save is not None:
            save(index, right)
    return PointCode(
        index,
        tuple(left),
        tuple(right),
        tuple(k.scalar(atom) for o in operators for atom in o.neutral),
        tuple(body),
        tuple(operator_code),
        tuple(saved),
    )


def replace_state(
    k: KernelBuilder, accumulators: Accumulators, values: Sequence[kc.Expression]
) -> None:
    """Assign the accumulators."""
    for place, value in zip(accumulators.all_places, values, strict=True):
        assert isinstance(place, kc.Variable)
        k.assign(place, value)


def scalar_places(accumulators: Accumulators) -> list[kc.Variable]:
    """The accumulators of operators on scalars."""
    return [p for p in accumulators.all_places if isinstance(p, kc.Variable)]
