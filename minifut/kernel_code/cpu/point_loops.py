"""Loops over points that call functions such as `exp` are lifted to lanes, wherever
they stand in a kernel.

    for (i = 0; i < n; i++) {..             for (i = 0; i < n; i++) {..
        for (j = 0; j < m; j++)      →          for (j = 0; j < m; j += 16)
            ys[j] = exp(xs[j]);                     vstore16(exp(vload16(xs + j)))

Why is told in `lanes.calls`. The outermost loop that the rule takes is lifted; where
points have arrays of their own, or fold, that is one further inside. Loops of other
heavy bodies were seen to by `cpu.nest`.
"""

from __future__ import annotations

from minifut.kernel_code.cpu.widths import WIDTHS, site_of
from minifut.kernel_code.lanes.calls import calls_functions
from minifut.kernel_code.lanes.loops import vectorise_map
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc


def lift_calls(k: KernelBuilder) -> None:
    """Lift what there is in a kernel that is otherwise done."""
    if any(map(calls_functions, k.statements)):
        k.change_loops(lambda loop: _lifted(k, loop))


def _lifted(k: KernelBuilder, loop: kc.For) -> kc.Statement | None:
    many = loop.rounds is None or loop.rounds >= WIDTHS[-1]
    if not (loop.points and many and calls_functions(loop.body)):
        return None
    made = vectorise_map.or_comment(loop, site_of(k))
    return None if made is None else kc.Block(made)
