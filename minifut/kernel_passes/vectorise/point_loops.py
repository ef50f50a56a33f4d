"""Vectorise loops over points that call math functions, anywhere in a kernel.

    for (i = 0; i < n; i++) {..             for (i = 0; i < n; i++) {..
        for (j = 0; j < m; j++)      →          for (j = 0; j < m; j += 16)
            ys[j] = exp(xs[j]);                     vstore16(exp(vload16(xs + j)))

`lanes.calls` says why. The outermost loop that `vectorise_map` accepts is vectorised;
where points have arrays of their own, or fold, that is a loop further inside. Loops of
other expensive bodies are vectorised when `cpu.nest` emits them.
"""

from __future__ import annotations

from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.loops import vectorise_map
from minifut.kernel_passes.vectorise.widths import WIDTHS, site_of


def vectorise_calls(k: CodeBuilder) -> None:
    """Vectorise the loops of a finished kernel whose bodies call functions."""
    if any(map(calls_functions, k.statements)):
        k.change_loops(lambda loop: _vectorised(k, loop))


def _vectorised(k: CodeBuilder, loop: kc.For) -> kc.Statement | None:
    fills_vectors = loop.rounds is None or loop.rounds >= WIDTHS[-1]
    if not (loop.points and fills_vectors and calls_functions(loop.body)):
        return None
    vectors = vectorise_map.or_comment(loop, site_of(k))
    return None if vectors is None else kc.Block(vectors)
