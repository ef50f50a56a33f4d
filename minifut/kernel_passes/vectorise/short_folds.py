"""Folds of few points: whether the last ones are a vector with some active lanes.

for i < 100: acc = acc + exp(xs[i])      16 lanes: 6 whole vectors, then 4 lanes of one
"""

from __future__ import annotations

from minifut.ir.scalars import COMPARISONS
from minifut.ir.search import nodes_of
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.accesses import MASKABLE
from minifut.kernel_passes.vectorise.calls import gains_in_vectors
from minifut.kernel_passes.vectorise.operators import Fold, OperatorCode, PointCode

SHORT_ROW, SHORT_ROW_OF_CALLS, SHORT_ROW_OF_LOOPS = 28, 12, 2
"""points from which vectors are faster, the last one with a mask"""


def fewest_with_masks(fold: Fold) -> int | None:
    """From how many points on vectors are faster, if the last one has a mask; None if
    there is none: it has one if there may be few others, and all that points access has
    loads and stores of active lanes. Of sums without calls the device's compiler makes
    vectors, also of the last points."""
    code = fold.code()
    if not fold.short:
        return None
    if not fold.cheap:
        return SHORT_ROW_OF_LOOPS if _has_maskable_loops(code) else None
    calls = gains_in_vectors(kc.Block(code.body))
    if not calls and _is_sum(code.operator):
        return None
    if not _is_maskable(code):
        return None
    return SHORT_ROW_OF_CALLS if calls else SHORT_ROW


def _is_maskable(code: PointCode) -> bool:
    """Whether all that points access has loads and stores of active lanes."""
    nodes = walk(kc.Block(code.body))
    accessed = {n.memory for n in nodes if isinstance(n, kc.Load | kc.Store)}
    return not code.passed and all(m.element.bits in MASKABLE for m in accessed)


def _has_maskable_loops(code: PointCode) -> bool:
    nodes = walk(kc.Block(code.body))
    return any(isinstance(n, kc.For | kc.While) for n in nodes) and _is_maskable(code)


def _is_sum(operator: OperatorCode) -> bool:
    """Whether an operator has no comparisons of floats, as extremes have."""
    made = [n.operator for n in nodes_of(kc.Operation, *operator)]
    return not any(
        op.operands[0].is_float
        and (op.name in ("min", "max") or op.name in COMPARISONS)
        for op in made
    )
