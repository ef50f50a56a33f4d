"""Light reductions on whole vectors, where the operator branches or mixes components.

    for i by 64:  for p < 4:  acc[p] = acc[p] op body(i + 16 p .. i + 16 p + 15)
    right = acc[0] op acc[1] op ..;  prefixes of right; its last lane

The compiler of the device makes vectors of such loops, too, but keeps running values in
memory. Elements are dealt to lanes in turn, so the operator must commute.
"""

from __future__ import annotations

from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lower_kernel import KernelBuilder
from minifut.kernel_code.operators import State
from minifut.kernel_code.reduction_cpu import Reduction
from minifut.kernel_code.vector_operators_cpu import (
    ScalarCode,
    Vectors,
    replace_state,
)

TOGETHER = 4
"""running vectors at once: one would wait for its operator"""


def fold_vectors(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
    start: kc.Variable,
) -> None:
    """Reduce what fills whole vectors into a state that is neutral; `start` becomes the
    first element left over. Raises `NotLifted`."""
    first, last = ends
    code = ScalarCode(k, reduction, segment)

    def make(vectors: Vectors) -> None:
        rest = (last - first) % (vectors.width * TOGETHER)
        whole = k.declare("whole", last - rest)
        _dealt(vectors, first, whole)
        replace_state(k, state, vectors.last())
        k.assign(start, whole)

    k.statements.extend(code.by_width(make))


def _dealt(vectors: Vectors, first: kc.Expression, whole: kc.Expression) -> None:
    k, width = vectors.k, vectors.width
    lanes = [vectors.declare("lane", vectors.neutral) for _ in range(TOGETHER)]
    with k.loop("at", whole, first, TOGETHER * width) as at:
        for number, mine in enumerate(lanes):
            vectors.visit(k.named(at + number * width, "own"))
            vectors.combine(mine)
            for variable, value in zip(mine, vectors.right, strict=True):
                k.assign(variable, value)
    for mine in lanes[:-1]:
        vectors.combine(mine)
    vectors.prefix()
