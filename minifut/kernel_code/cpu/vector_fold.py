"""Reductions on whole vectors: bodies with loops, and operators that branch or mix
components.

    interleave_fold    for i by 64:  for p < 4:  acc[p] = acc[p] op body(i + 16 p ..)
    divide_fold        for t < part:  acc = acc op body(first + t, first + part + t, ..)

The rules are in `lanes.loops`. Of plain operators on light bodies the compiler of the
device makes good vectors itself; of others it does, too, but keeps running values in
memory.
"""

from __future__ import annotations

from minifut.kernel_code import nodes as kc
from minifut.kernel_code.cpu.reduction import Reduction
from minifut.kernel_code.cpu.vector_operators import point_code, scalar_places
from minifut.kernel_code.cpu.widths import site_of
from minifut.kernel_code.lanes.loops import divide_fold, interleave_fold
from minifut.kernel_code.lanes.operators import Fold
from minifut.kernel_code.operators import State, commutes
from minifut.kernel_code.threads.builder import KernelBuilder

TOGETHER = 4
"""running vectors at once where a body is light: one would wait for its operator"""


def fold_vectors(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
    start: kc.Variable,
) -> bool:
    """Reduce what fills whole vectors into a state that is neutral; `start` becomes the
    first element left over. False if no rule does it."""
    code = point_code(k, reduction, segment)
    if code is None:
        k.emit(kc.Comment("element by element: the operator combines arrays"))
        return False
    commute = all(map(commutes, reduction.operators))
    together = TOGETHER if reduction.light else 1
    running = tuple(scalar_places(state))
    fold = Fold(code, running, *ends, start, commute, together)
    rule = interleave_fold if commute else divide_fold
    vectors = rule.or_comment(fold, site_of(k))
    k.statements.extend(vectors or ())
    return vectors is not None
