"""Copies of streams into results: around the caches if those are large.

    for p until the place is aligned, while p < high: result[first + p] = stream[p]
    for p by 16:    STREAM(vload16(stream + p), result + first + p)
    for p < high:   result[first + p] = stream[p]

A plain store first reads the line that it overwrites (`segmap.streaming`).
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.types import STREAMABLE
from minifut.lowering.cpu.partition import smaller
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap.streaming import BLOCK, is_large, vector
from minifut.lowering.segscan.compressed_streams import prefetch
from minifut.lowering.threads.builder import KernelBuilder


def copy_stream(
    k: KernelBuilder,
    arrays: tuple[Array, Array],
    first: kc.Expression,
    ends: Sequence[kc.Expression],
    points: Size,
) -> None:
    """Copy the elements from the first of `ends` to before the second, of the first
    array, to the second one from `first` on; its results are those of so many points.
    """
    source, target = arrays
    start, high = k.declare("start", ends[0]), k.named(ends[1], "high")
    if target.memory.element in STREAMABLE:
        _copy_around_caches(k, arrays, first, (start, high), points)
    with k.loop("p", high, start) as p:
        k.write(target, (first + p,), k.read(source, (p,)))


def _copy_around_caches(
    k: KernelBuilder,
    arrays: tuple[Array, Array],
    first: kc.Expression,
    ends: tuple[kc.Variable, kc.Expression],
    points: Size,
) -> None:
    """Copy whole vectors; `start` becomes the first element that is left."""
    source, target = arrays
    start, high = ends
    element = target.memory.element
    part = vector(target.memory)
    with k.branch(is_large(k, points, element.bytes)):
        place = k.size_value(target.position(k.as_sizes((first + start,))))
        before = (BLOCK - place % BLOCK) % BLOCK
        aligned = k.declare("aligned", smaller(start + before, high))
        with k.loop("p", aligned, start) as p:
            k.write(target, (first + p,), k.read(source, (p,)))
        whole = k.declare("whole", high - (high - aligned) % BLOCK)
        with k.loop("p", whole, aligned, BLOCK) as p:
            prefetch(k, source, p)
            for at in range(0, BLOCK, part.lanes):
                here = source.position(k.as_sizes((p + at,)))
                there = target.position(k.as_sizes((first + p + at,)))
                loaded = k.load(source.memory, here, part.lanes)
                k.store(target.memory, there, loaded, streaming=True)
        k.assign(start, whole)
