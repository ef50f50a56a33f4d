"""Maps that update accumulators, without atomics: as histograms on CPUs are done.

    few cells, many points    each chunk of the points has private copies of the cells,
                              which are combined afterwards
    else                      one work-item does all points, straight into the arrays

Which of the two it is, the host decides by the sizes when it runs. A point counts as
many updates as the loops around its updates make rounds, as far as is known on the
host.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from minifut.ir.accumulators import UpdateAcc
from minifut.ir.core import Constant, ForLoop, Loop, Param
from minifut.ir.kernels import SegMap
from minifut.ir.search import contains
from minifut.ir.sizes import ONE, ZERO, Size, ceil_div, maximum, minimum, product
from minifut.ir.traverse import children
from minifut.lowering.accumulators.common import Accumulator, instead
from minifut.lowering.cpu.partition import MultiIndex, smaller
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import fill_with
from minifut.lowering.seghist import cpu
from minifut.lowering.seghist.subhistograms import subhistogram_at
from minifut.lowering.segmap.points import outputs_of, run_points
from minifut.names import Name

ROUNDS = 16
"""of a loop whose bound the host does not know"""


@contextmanager
def prepared(host: HostBuilder, roots: list[Name]) -> Iterator[None]:
    """The arrays are updated as they are."""
    del host, roots
    yield


def lower(
    host: HostBuilder, pattern: tuple[Param, ...], operation: SegMap, roots: list[Name]
) -> None:
    """A map that updates the accumulators `roots` with operators."""
    outputs = outputs_of(host, pattern, operation)
    bins = [host.accumulators[root].bins for root in roots]
    sizes = host.sizes(operation.space.sizes)
    points = host.let_size(product(sizes), "points")
    cells = host.let_size(cpu.sum_of(each.cells for each in bins), "cells")
    updates = points * _rounds(host, operation)
    smallest = maximum(Size.constant(cpu.SMALLEST_CHUNK), cells * cpu.ELEMENTS_PER_CELL)
    most = minimum(host.cores() * cpu.CHUNKS_PER_CORE, points)
    chunks = host.let_size(maximum(ONE, minimum(most, updates // smallest)), "chunks")
    several = host.let_size(minimum(ONE, chunks - 1), "several")
    _run(host, operation, outputs, (points, ONE - several), {})
    count = host.let_size(several * chunks, "copies")
    copies = [cpu.private_copies(host, each, count) for each in bins]
    private = {
        root: replace(host.accumulators[root], bins=each)
        for root, each in zip(roots, copies, strict=True)
    }
    _run(host, operation, outputs, (points, count), private)
    for each, copied in zip(bins, copies, strict=True):
        cpu.combine_copies(host, each, copied, several)
    host.bind_all(pattern, outputs)


def _run(
    host: HostBuilder,
    operation: SegMap,
    outputs: list[Array],
    sizes: tuple[Size, Size],
    private: dict[Name, Accumulator],
) -> None:
    """A kernel of some work-items, each with a part of the points and `private`
    copies of accumulators."""
    points, count = sizes
    k = host.kernel("accumulate")
    unit = k.declare("unit", k.identity("get_global_id"))
    k.thread = (unit, count)
    k.repeatable = True
    row = (k.as_size(unit, "copy"),)
    own: dict[Name, Accumulator] = {}
    for root, accumulator in private.items():
        bins = accumulator.bins
        for place, atom in zip(bins.rows(row), bins.operator.neutral, strict=True):
            shape = place.shape[: len(bins.operator.shape)]
            fill_with(k, place, shape, k.atom(atom))
        copied = subhistogram_at(k, bins, row)
        own[root] = replace(accumulator, bins=copied, shared=())
    share = host.let_size(ceil_div(points, maximum(ONE, count)), "share")
    end = k.size_value(points)
    first = k.declare("first", smaller(unit * k.size_value(share), end))
    last = k.declare("last", smaller(first + k.size_value(share), end))
    at = MultiIndex(k, host.sizes(operation.space.sizes), first)
    with instead(host, own), k.loop("point", last, first):
        k.bind_indices(operation.space.indices, at.indices)
        run_points(k, operation.body, outputs, tuple(at.indices))
        at.increment()
    host.launch(k, count, 1)


def _rounds(host: HostBuilder, node: object) -> Size:
    """How many updates a point makes at least, as far as is known on the host."""
    total = ZERO
    for child in children(node):
        if isinstance(child, UpdateAcc):
            total = total + ONE
        elif isinstance(child, Loop) and contains(child.body, UpdateAcc):
            total = total + _bound(host, child) * _rounds(host, child.body)
        else:
            total = total + _rounds(host, child)
    return total


def _bound(host: HostBuilder, loop: Loop) -> Size:
    """The rounds of a loop."""
    if isinstance(loop.form, ForLoop):
        bound = loop.form.bound
        if isinstance(bound, Constant) or bound in host.values:
            return maximum(ZERO, host.index(bound))
    return Size.constant(ROUNDS)
