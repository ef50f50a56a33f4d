"""Loops over points that gather bytes stay scalar.

    parallel for (i ..) ys[i] = table[xs[i]]     →     narrow for (i ..) ys[i] = ..

No processor gathers elements of fewer than 32 bits. The compiler of the device makes
vectors of such loops all the same where it takes gathers for cheap, as with AVX-512: of
words around each byte, at addresses of 64 bits. An image through a table of bytes takes
0.5 of the time one by one. Without AVX-512 it puts loaded bytes into vectors, which
takes 0.5 to 0.8 of the time of single points; but not if it divides integers of 64
bits, which it does one by one.
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.ir.scalar_quotients import ROUNDED
from minifut.ir.search import nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import KernelEditor, has_loops
from minifut.kernel_passes.vectorise.varying import find_loaded, varies
from minifut.rewrite.rule import Declined, rule

GATHERED = 32
"""bits of the narrowest elements that are gathered"""


def keep_gathers_of_bytes_scalar(k: KernelEditor) -> None:
    """Let the device's compiler make no vectors of loops that gather bytes."""
    k.change_loops(lambda loop: rewritten(keep_loop_scalar, loop, CodeContext(k)))


@rule(kc.For)
def keep_loop_scalar(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Keep a loop scalar that gathers narrow elements.

    before:
        given (const uchar *table, const uchar *xs, uchar *ys, long n)
        PARALLEL
        for (long i = 0; i < n; i++) {
            ys[i] = table[xs[i]];
        }
    after:
        NARROW
        for (long i = 0L; i < n; i++) {
            ys[i] = table[xs[i]];
        }
    before:
        like before, with
        table[xs[i]] => table[quot_i64((long)xs[i], n)]
    after:
        SCALAR
        for (long i = 0L; i < n; i++) {
            ys[i] = table[quot_i64(((long)xs[i]), n)];
        }
    declines: bytes are read by position alone
        like before, with
        table[quot_i64((long)xs[i], n)] => table[i]
    """
    if not loop.parallel or has_loops(loop.body):
        return None
    narrow = [
        node
        for node in nodes_of(kc.Load, loop.body)
        if node.memory.element.bits < GATHERED
    ]
    if not narrow:
        return None
    loaded = find_loaded(loop.body)
    if not any(varies(load.index, loaded) for load in narrow):
        return Declined("bytes are read by position alone")
    divides = any(
        node.operator.name in ROUNDED and node.type == kc.LONG
        for node in nodes_of(kc.Operation, loop.body)
    )
    return (replace(loop, parallel=False, scalar=divides, narrow=not divides),)
