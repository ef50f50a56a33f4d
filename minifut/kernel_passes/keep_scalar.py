"""Loops over points that gather bytes stay scalar.

    parallel for (i ..) ys[i] = table[xs[i]]     →     scalar for (i ..) ys[i] = ..

No processor gathers elements of fewer than 32 bits. The compiler of the device makes
vectors of such loops all the same where it takes gathers for cheap, as with AVX-512: of
words around each byte, at addresses of 64 bits. An image through a table of bytes takes
0.5 of the time one by one.
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.ir.search import nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext, rewritten
from minifut.kernel_passes.editor import KernelEditor, has_loops
from minifut.kernel_passes.vectorise.varying import find_loaded, varies
from minifut.rewrite.rule import Declined, rule

GATHERED = 32
"""bits of the narrowest elements that are gathered"""


def keep_gathers_of_bytes_scalar(k: KernelEditor) -> None:
    """Apply the rule to all innermost loops of a kernel."""
    k.change_loops(lambda loop: rewritten(keep_loop_scalar, loop, CodeContext(k)))


@rule()
def keep_loop_scalar(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Keep a loop scalar that gathers narrow elements.

    before:
        given (const uchar *table, const uchar *xs, uchar *ys, long n)
        PARALLEL
        for (long i = 0; i < n; i++) {
            ys[i] = table[xs[i]];
        }
    after:
        SCALAR
        for (long i = 0L; i < n; i++) {
            ys[i] = table[xs[i]];
        }
    declines: bytes are read by position alone
        like before, with
        table[xs[i]] => table[i]
    """
    if not isinstance(loop, kc.For) or not loop.parallel or has_loops(loop.body):
        return None
    narrow = [
        node
        for node in nodes_of(kc.Load, loop.body)
        if node.memory.element.bits < GATHERED
    ]
    if not narrow:
        return None
    loaded = find_loaded(loop.body.statements)
    if not any(varies(load.index, loaded) for load in narrow):
        return Declined("bytes are read by position alone")
    return (replace(loop, parallel=False, scalar=True),)
