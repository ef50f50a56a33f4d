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

from typing import Any

from minifut.ir.traverse import map_children
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.cpu.widths import WIDTHS, site_of
from minifut.kernel_code.lanes.calls import calls_functions
from minifut.kernel_code.lanes.loops import vectorise_map
from minifut.kernel_code.threads.builder import KernelBuilder


def lift_calls(k: KernelBuilder) -> None:
    """Lift what there is in a kernel that is otherwise done."""
    if any(map(calls_functions, k.statements)):
        k.statements[:] = [_lifted(k, statement) for statement in k.statements]


def _lifted(k: KernelBuilder, node: Any) -> Any:
    if isinstance(node, kc.Expression):
        return node
    if isinstance(node, kc.For) and _is_worth_lifting(node):
        made = vectorise_map.or_comment(node, site_of(k))
        if made is not None:
            return kc.Block(made)
    return map_children(node, lambda part: _lifted(k, part))


def _is_worth_lifting(loop: kc.For) -> bool:
    many = _rounds(loop) >= WIDTHS[-1]
    return loop.points and many and calls_functions(loop.body)


def _rounds(loop: kc.For) -> float:
    """How many there are, as far as is known."""
    if isinstance(loop.start, kc.Literal) and isinstance(loop.bound, kc.Literal):
        return float(loop.bound.value) - float(loop.start.value)
    return float("inf")
