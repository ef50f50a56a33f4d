"""Prefetch what loops read that go once through long arrays, block by block.

    for (at = first; at < whole; at += 16) {     for (at ..) {
        x = vload8(xs + at);              →          PREFETCH(xs + at + 1024);
        y = vload8(xs + at + 8);                     PREFETCH(xs + at + 1032);
        ..                                           ..  }

The more instructions a block takes, the fewer blocks fit into the reorder window of a
core, until loops wait for memory in spite of hardware prefetchers, which stop at the
ends of pages. Measured in C with arrays of 256 MB and AVX-512 on two cores: the sum of
a vector takes 0.97 of the time, its least and greatest element 0.88, the sum of a
polynomial of degree 20 0.70, a map of that with non-temporal stores 0.74. In caches
prefetches cost nothing that could be measured; distances below a page gain less.

Conditions: lowering says that the loop streams. Loads at unit stride are found through
definitions and through counters of loops inside.
"""

from __future__ import annotations

from dataclasses import replace

from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import constants
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.prefetch import streams_of
from minifut.rewrite.rule import Declined, Remark, rule

BLOCK_DISTANCE = 8192
"""bytes from a block to its prefetches: two pages"""
LINE = 64
"""bytes of a cache line"""


def prefetch_streaming_loops(k: KernelEditor) -> None:
    """Prefetch what loops over long arrays read, some blocks ahead."""
    k.change_loops(lambda loop: rewritten(prefetch_block, loop, CodeContext(k)))


def _remark(loop: kc.For, context: CodeContext) -> Remark:
    names = dict.fromkeys(memory.name.base for memory, _ in _streams_of(loop))
    return Remark((f"{', '.join(names)}, {BLOCK_DISTANCE} bytes ahead of the block",))


@rule(kc.For, remark=_remark)
def prefetch_block(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Prefetch the lines that a later block of a streaming loop will read.

    before:
        given (const long *xs, long *ys, long n)
        STREAMING
        for (long at = 0; at < n; at += 16) {
            long own = at;
            ys[at] = xs[own];
        }
    after:
        for (long at = 0L; at < n; at += 16L) {
            PREFETCH(xs + (at + 1024));
            PREFETCH(xs + (at + 1032));
            long own = at;
            ys[at] = xs[own];
        }
    declines: it has no loads of unit stride
        like before, with
        xs[own] => own
    """
    if not loop.streams:
        return None
    step = loop.step
    streams = _streams_of(loop) if isinstance(step, kc.Literal) else []
    if not streams or not isinstance(step, kc.Literal):
        return Declined("it has no loads of unit stride")
    prefetches = [
        kc.Prefetch(memory, kc.SizeValue(place + point + BLOCK_DISTANCE // width))
        for memory, place in streams
        for width in [memory.element.bytes]
        for point in range(0, int(step.value), LINE // width)
    ]
    body = kc.Block((*prefetches, *loop.body.statements))
    return (replace(loop, streams=False, body=body),)


def _streams_of(loop: kc.For) -> list[tuple[kc.Memory, Size]]:
    """The memories that a round reads at unit stride, with the first index."""
    made = constants(loop.body.statements)
    return streams_of(loop, {name: _first_of(value) for name, value in made.items()})


def _first_of(value: kc.Expression) -> kc.Expression:
    """The index of a block that is moved where it would end beyond the last point, for
    the others."""
    match value:
        case kc.Call("min", (kc.Variable() as index, _), _):
            return index
    return value
