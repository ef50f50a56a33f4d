"""Loops over points that are within others, without branches on their positions.

    for (k = 0; k < n; k++)            for (k = 0; k < n; k++) {
        for (i = 0; i < m; i++) {          w = ws[k];
            w = ws[k];                     if (no i fails a check)
            if (i < w) A           →           for (i < w) A; for (w <= i < m) B
            else B, which may fail         else for (i < m) as before
        }                              }

The steps are those for the points of kernels (`lowering.segmap.cpu`): loads that are
the same for all points come first, then one test for all checks on positions, then
blocks of a period, then rotated indices and the branches.
"""

from __future__ import annotations

from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes import check_ranges, editor, strip_mine
from minifut.kernel_passes.context import CodeContext, rewritten
from minifut.kernel_passes.hoist_invariants import hoist_invariants
from minifut.kernel_passes.split_rotations import split_by_positions


def split_loops_inside(k: editor.KernelEditor) -> None:
    """Give each side of a branch on the position a loop of its own, within points."""
    context = CodeContext(k)

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        if not loop.points or editor.has_loops(loop.body):
            return None
        *loads, rest = rewritten(hoist_invariants, loop, context) or (loop,)
        assert isinstance(rest, kc.For)
        made = _in_blocks(rest, context) or _split(rest, context)
        if made is None or not loads:
            return made
        points = kc.Block((*loads, *made))
        return (kc.Branch(loop.start < loop.bound, points),)

    def of_block(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        if not loop.points:
            return (editor.loops_inside(loop, of_block),)
        made = None if editor.has_loops(loop.body) else _in_blocks(loop, context)
        return (editor.loops_inside(loop, change),) if made is None else made

    def within(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        return (editor.loops_inside(loop, change if loop.points else of_block),)

    k.change_loops(within)


def _in_blocks(loop: kc.For, context: CodeContext) -> tuple[kc.Statement, ...] | None:
    """Loops over blocks in which quotients of the position are the same, split."""
    blocks = rewritten(strip_mine.strip_mine_by_period, loop, context)
    if blocks is None:
        return None
    return editor.change_loops(
        blocks, lambda inner: _split(inner, context) if inner.points else None
    )


def _split(loop: kc.For, context: CodeContext) -> tuple[kc.Statement, ...] | None:
    """The loop without checks, rotations and branches on the position."""
    checked = rewritten(check_ranges.check_ranges_first, loop, context)
    if checked is None:
        return split_by_positions(loop, context)
    return editor.change_loops(checked, lambda one: split_by_positions(one, context))
