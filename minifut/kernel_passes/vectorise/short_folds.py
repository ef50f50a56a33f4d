"""Folds of few points: whether the last ones are a vector with some active lanes.

for i < 100: acc = acc + exp(xs[i])      16 lanes: 6 whole vectors, then 4 lanes of one
"""

from __future__ import annotations

from minifut.ir.scalars import COMPARISONS
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.accesses import MASKABLE
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.operators import Fold, OperatorCode

SHORT_ROW, SHORT_ROW_OF_CALLS = 28, 12
"""points from which vectors are faster, the last one with a mask"""


def fewest_with_masks(fold: Fold) -> int | None:
    """From how many points on vectors are faster, if the last one has a mask; None if
    there is none: it has one if there may be few others, and all that points access has
    loads and stores of active lanes. Of sums without calls the device's compiler makes
    vectors, also of the last points."""
    code = fold.code()
    if not (fold.short and fold.cheap):
        return None
    calls = calls_functions(kc.Block(code.body))
    if not calls and _is_sum(code.operator):
        return None
    nodes = [node for statement in code.body for node in walk(statement)]
    accessed = {n.memory for n in nodes if isinstance(n, kc.Load | kc.Store)}
    if code.passed or not all(m.element.bits in MASKABLE for m in accessed):
        return None
    return SHORT_ROW_OF_CALLS if calls else SHORT_ROW


def _is_sum(operator: OperatorCode) -> bool:
    """Whether an operator has no comparisons of floats, as extremes have."""
    made = [
        n.operator for s in operator for n in walk(s) if isinstance(n, kc.Operation)
    ]
    return not any(
        op.operands[0].is_float
        and (op.name in ("min", "max") or op.name in COMPARISONS)
        for op in made
    )
