"""Non-temporal stores for results too large for the caches.

    for (i = at; i < stop; i++) out[i] = f(i)
  →
    for (block = at; block < stop - 15; block += 16) {
        for (l = 0; l < 16; l++) { i = block + l; lanes[l] = f(i) }
        for (p = 0; p < 16; p += 8) STREAM(vload8(0, lanes + p), out + block + p)
    }
    for (i = rest; i < stop; i++) out[i] = f(i)

A plain store first reads the cache line that it overwrites (write allocate); for a map
over large arrays that is a third or a quarter of the memory traffic. Whether the arrays
are large, and whether the first point is aligned to blocks as their memory is, is
tested when the kernel runs. Conditions: each point writes its own element, at the index
of the loop, of memory that is not read. Bodies that call functions are vectorised
instead: they are not bound by memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.node import replace
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.types import STREAMABLE
from minifut.kernel_passes.vectorise.calls import calls_functions

BLOCK = 16
PART = 32
"""bytes of a store"""
LARGE = 1 << 24
"""bytes of results that, with as many of arguments, exceed the last-level cache"""
LONGEST_BODY = 40
"""statements of a body that may be duplicated"""


def stream_blocks(k: CodeBuilder, total: Size, loop: kc.For) -> kc.For:
    """Emit the loop over whole blocks, if the body allows it; gives the loop over the
    rest."""
    block, lane = k.variable("block", kc.LONG), k.variable("l", kc.LONG)
    start, stop, point = loop.start, loop.bound, loop.variable
    body = loop.body.statements
    stores = own_stores(body, point)
    if stores is None or any(map(calls_functions, body)):
        return loop
    lanes = {
        store.memory: k.private_memory(store.memory.element, BLOCK, "lanes")
        for store in stores
    }
    staged = [
        kc.Store(lanes[s.memory], lane, s.exp) if isinstance(s, kc.Store) else s
        for s in body
    ]
    zero, one = kc.Literal(0, kc.LONG), kc.Literal(1, kc.LONG)
    many = kc.Literal(BLOCK, kc.LONG)
    here = kc.Declare(point, block + lane)
    fill = kc.For(lane, zero, many, one, kc.Block((here, *staged)), True)
    flush = [
        kc.Store(memory, block + at, kc.Load(staging, at, part), True)
        for memory, staging in lanes.items()
        for part in [vector(memory)]
        for at in [kc.Literal(n, kc.LONG) for n in range(0, BLOCK, part.lanes)]
    ]
    large = is_large(k, total, sum(memory.element.bytes for memory in lanes))
    aligned = kc.Binary("==", start % many, zero, kc.TRUTH)
    streams = k.declare("streams", kc.all_of((large, aligned)))
    end = kc.Select(streams, stop - (BLOCK - 1), start, kc.LONG)
    blocks = kc.Block((fill, *flush))
    k.emit(kc.For(block, start, end, many, blocks, streams=True))
    whole = start + (stop - start) // BLOCK * BLOCK
    rest = k.declare("rest", kc.Select(streams, whole, start, kc.LONG))
    return replace(loop, start=rest)


def is_large(k: CodeBuilder, points: Size, nbytes: int) -> kc.Expression:
    """Whether results of so many bytes at each point are too large for the caches."""
    return k.size_value(points) >= LARGE // nbytes


def vector(memory: kc.Memory) -> kc.VectorType:
    """The type of what is stored at once: no wider than vectors of the loop before, so
    that it is loaded from a single store of that loop."""
    return kc.VectorType(memory.element, min(BLOCK, PART // memory.element.bytes))


def own_stores(
    body: Sequence[kc.Statement], point: kc.Variable
) -> list[kc.Store] | None:
    """The stores of a body if each writes the element of the point, each to a different
    memory, which it does not read, and there are no others; None if not."""
    stores = [s for s in body if isinstance(s, kc.Store)]
    inside = list(nodes_of(kc.Store, *body))
    read = kc.loaded_by(body)
    if any(store.memory in read for store in stores):
        return None  # the cache line is there already
    if not stores or len(inside) != len(stores) or len(body) > LONGEST_BODY:
        return None
    if len({store.memory for store in stores}) != len(stores):
        return None
    for store in stores:
        memory, index = store.memory, store.index
        here = isinstance(index, kc.Variable) and index.name == point.name
        plain = memory.space == "global" and memory.element in STREAMABLE
        if not (here and plain and store.exp.type.lanes == 1):
            return None
    return stores
