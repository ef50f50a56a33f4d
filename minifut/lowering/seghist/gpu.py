"""Histograms under the GPU schedule.

    bins that fit into local memory    a group accumulates a chunk of a segment in
                                       private bins in local memory, then adds those to
                                       the bins in global memory (privatisation)
    more bins than that                every point updates its bin in global memory

The host decides by the sizes when the program runs. All updates are those of
`atomic_cells`. Cells that are not plain values are in words of their own, filled from
the destination before and written back after. A group with few bins has several copies
of them, so that fewer work-items contend for a cell. Operators on arrays are left to
`seghist.gpu_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.core import Param
from minifut.ir.kernels import Parameter, SegHist, group_size
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, ZERO, Size, ceil_div, maximum, minimum, product
from minifut.ir.types import ArrayType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import LOCALITY
from minifut.lowering.gpu.work_distribution import bind_segment, parallel_region
from minifut.lowering.groups.gpu_limits import free_local_bytes
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.operators import OF_ARRAYS
from minifut.lowering.positions import unravel
from minifut.lowering.seghist.gpu_cells import CellsOfRows, points_of_lane, row_length
from minifut.lowering.seghist.gpu_rows import update_rows
from minifut.lowering.seghist.gpu_targets import (
    Target,
    convert_words,
    each_cell,
    target_of,
)
from minifut.lowering.seghist.histograms import (
    all_bins,
    bin_updates,
    bind_all,
    if_updated,
)
from minifut.lowering.segmap.gpu import launch_nest
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.rule import Declined, Remark, decision

GROUP_SIZE = group_size("hist")
RESIDENT = Parameter(
    "gpu.hist.resident_groups", "num_groups", (("cpu", 2), ("gpu", 2)), (1, 32)
)
"""groups that share a compute unit's local memory: the bins of each fit into its
part"""
COPIES = Parameter("gpu.hist.copies", "num_copies", (("cpu", 8), ("gpu", 8)), (1, 256))
"""copies of the bins in a group, at most; fewer where they do not fit"""
ELEMENTS, ELEMENTS_PER_CELL = 16, 4
"""elements of a chunk for each work-item, and for each cell, at least"""
GROUPS_PER_CORE = Parameter(
    "gpu.hist.groups_per_core", "num_groups", (("cpu", 8), ("gpu", 8)), (1, 1024)
)
STRIDES = 8
BANKS = Size.constant(32)
"""of local memory"""


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegHist) -> None:
    """Update the destinations (or copies of them); bind the results."""
    bins = all_bins(host, pattern, operation)
    if not privatise_in_local_memory.fires(operation, host):
        update_rows(host, operation, bins)
        bind_all(host, pattern, bins)
        return
    targets = [target_of(host, each) for each in bins]
    for target in targets:
        convert_words(host, target, back=False)
    fits = _in_local_memory(host, operation, targets)
    _in_global_memory(host, operation, targets, ONE - fits)
    for target in targets:
        convert_words(host, target, back=True)
    bind_all(host, pattern, bins)


@decision(
    paper=LOCALITY,
    remark=lambda *_: Remark(
        ("copies of the bins in a group, if they fit",),
        (RESIDENT, COPIES, GROUPS_PER_CORE, GROUP_SIZE),
    ),
)
def privatise_in_local_memory(operation: SegHist, host: HostBuilder) -> bool | Declined:
    """Privatise bins: a group accumulates chunks in local memory, then adds its bins to
    those in global memory; where they do not fit, all updates go to global memory.

    before:
        given (n: i64, k: i64, to: [k]i32, is: [n]i64)
        let h: [k]i32 = seghist grid (i < n)
            bins([k], (to), (0i32), add_i32, []) -> (i64, i32) {
          let at: i64 = is[i]
          return returns at, returns 1i32
        }
    after:
        ROUNDS(long, at, start + lane, end, GROUP, chunk) {
            long at_1 = is[at];
            long bin = ((long)at_1);
            if (((ulong)bin) < ((ulong)k)) {
                long cell_1 = own + bin;
                atomic_add((volatile __local int *)(bins + cell_1), 1);
        ..
        atomic_add((volatile __global int *)(to + i), total_1);
    declines: the operator combines arrays
        given (n: i64, k: i64, to: [k][2]i32, is: [n]i64, xs: [n][2]i32)
        let one: [2]i32 = replicate([2], 1i32)
        let h: [k][2]i32 = seghist grid (i < n)
            bins([k], (to), (one), \\(a: [2]i32, b: [2]i32) -> ([2]i32) {b}, [])
            -> (i64, [2]i32) {
          let at: i64 = is[i]
          let x: [2]i32 = xs[i]
          return returns at, returns x
        }
    """
    types = [t for op in operation.operators for t in op.operator.results]
    if any(isinstance(t, ArrayType) for t in types):
        return Declined(OF_ARRAYS)
    return True


# --- in global memory ---------------------------------------------------------------


def _in_global_memory(
    host: HostBuilder, operation: SegHist, targets: list[Target], wanted: Size
) -> None:
    """Each point updates its bins, if `wanted` is not 0."""
    space = operation.space
    rank = len(space.sizes)
    columns = row_length(operation, host)
    row = () if isinstance(columns, Declined) else (columns,)

    def visit(k: KernelBuilder, at: tuple[kc.Expression, ...]) -> None:
        of_point, of_row = at[1 : 1 + rank], at[1 + rank :]
        k.bind_indices(space.indices, of_point)
        outer = tuple(k.as_size(index) for index in of_point[:-1])
        column = tuple(k.as_size(index) for index in of_row)
        found = bin_updates(k, operation, [target.bins for target in targets])
        for target, point in zip(targets, found, strict=True):
            with each_cell(k, point, column) as (where, values):
                target.cells.update(k, target.places(k, outer, where), values)

    shape = (wanted, *host.sizes(space.sizes), *row)
    launch_nest(
        host, "hist_global", shape, visit, expensive=False, parallel=False, fresh=True
    )


# --- in local memory ----------------------------------------------------------------


@immutable
class LocalHistograms:
    """Sizes over variables of the host: `copies` of the bins, the tasks (chunks of
    segments), the groups that process them and the work-items of a group."""

    segments: Size
    length: Size
    chunks: Size
    chunk: Size
    copies: Size
    groups: Size
    group: Size
    columns: Size | None
    """of rows, whose cells are distributed over work-items"""


def _in_local_memory(
    host: HostBuilder, operation: SegHist, targets: list[Target]
) -> Size:
    """Accumulate in local memory if the bins fit; returns 1 if so, else 0."""
    sizes = host.sizes(operation.space.sizes)
    segments = host.let_size(product(sizes[:-1]), "segments")
    length = host.let_size(sizes[-1], "length")
    columns = row_length(operation, host)
    columns = columns if isinstance(columns, Size) else None
    cells, nbytes = ZERO, ZERO
    for target in targets:
        cells = cells + product(target.shape)
        most_cells = product(target.shape) + (ONE if columns is None else BANKS)
        nbytes = nbytes + most_cells * target.cells.bytes
    cells = host.let_size(cells, "cells")
    nbytes = host.let_size(maximum(ONE, nbytes), "bytes")
    room = host.let_size(free_local_bytes(host) // host.parameter(RESIDENT), "room")
    fits = minimum(ONE, room // nbytes)
    worth = minimum(ONE, length * ELEMENTS_PER_CELL // maximum(ONE, cells))
    fits = host.let_size(fits * worth, "fits")
    per_core = host.parameter(GROUPS_PER_CORE)
    fill = host.cores() * per_core // maximum(ONE, segments)
    group = host.parameter(GROUP_SIZE)
    least = maximum(group * ELEMENTS, cells * ELEMENTS_PER_CELL)
    chunks = maximum(ONE, minimum(fill, ceil_div(length, least)))
    chunks = host.let_size(chunks, "chunks")
    copies = minimum(host.parameter(COPIES), room // nbytes)
    most = host.cores() * per_core * STRIDES
    sizes_of = LocalHistograms(
        segments,
        length,
        chunks,
        host.let_size(ceil_div(length, chunks), "chunk"),
        host.let_size(maximum(ONE, copies * fits), "copies"),
        host.let_size(minimum(segments * chunks, most) * fits, "groups"),
        group,
        columns,
    )
    _accumulate_locally(host, operation, targets, sizes_of, fits)
    return fits


def _accumulate_locally(
    host: HostBuilder,
    operation: SegHist,
    targets: list[Target],
    of: LocalHistograms,
    fits: Size,
) -> None:
    k = host.kernel("hist_local")
    lane = k.declare("lane", k.identity("get_local_id"))
    group = k.declare("group", k.identity("get_group_id"))
    count = k.declare("groups", k.identity("get_num_groups"))
    k.thread = (k.declare("thread", k.identity("get_global_id")), of.groups * of.group)
    by_cell = None if of.columns is None else CellsOfRows(k, lane, of.columns)
    number = lane if by_cell is None else by_cell.row
    own = [_Local(host, k, target, of, fits, number) for target in targets]
    chunks, chunk = k.size_value(of.chunks), k.size_value(of.chunk)
    tasks = k.declare("tasks", k.size_value(of.segments * of.chunks))
    with k.loop("task", tasks, group, count) as task:
        segment = k.declare("segment", task // chunks)
        outer = bind_segment(k, operation.space, segment)
        for local in own:
            local.clear(lane)
        start = k.declare("start", (task - segment * chunks) * chunk)
        stop = kc.Call("min", (start + chunk, k.size_value(of.length)), kc.LONG)
        end = k.declare("end", stop)
        points = points_of_lane(k, lane, (start, end, chunk))
        if by_cell is not None:
            points = by_cell.points((start, end, chunk))
        with parallel_region(k), points as (at, column):
            k.bind(operation.space.indices[-1], at)
            found = bin_updates(k, operation, [target.bins for target in targets])
            for local, point in zip(own, found, strict=True):
                with each_cell(k, point, column) as (where, values):
                    local.update(where, values)
        with parallel_region(k):
            for local in own:
                local.flush(lane, tuple(k.as_size(index) for index in outer))
    host.launch(k, of.groups * of.group, of.group, fresh=True)


class _Local:
    """The bins of one target in the local memory of a group, in several copies, an odd
    number of cells apart: work-items with copies of their own conflict in no bank when
    they update the same bin. So do not those of the cells of several rows, if copies
    are as far apart as rows, but for whole rounds of the banks."""

    def __init__(
        self,
        host: HostBuilder,
        k: KernelBuilder,
        target: Target,
        of: LocalHistograms,
        fits: Size,
        number: kc.Expression,
    ) -> None:
        self.k = k
        self.target = target
        self.cells = target.cells
        self.copies = k.size_value(of.copies)
        count = host.let_size(product(target.shape), "cells")
        self.count = k.size_value(count)
        stride = count // 2 * 2 + 1
        if of.columns is not None:
            stride = ceil_div(count - of.columns, BANKS) * BANKS + of.columns
        stride = host.let_size(stride, "stride")
        self.stride = k.size_value(stride)
        self.own = k.declare("own", number % self.copies * self.stride)
        total = host.let_size(maximum(ONE, stride * of.copies * fits), "local_cells")
        self.words = [
            k.local_memory(word, total, "bins") for word in target.cells.words
        ]

    def clear(self, lane: kc.Expression) -> None:
        """Neutral values in all cells."""
        k = self.k
        total = k.declare("total", self.stride * self.copies)
        with k.loop("cell", total, lane, k.width, extent=total) as cell:
            for memory, word in zip(self.words, self.neutral(), strict=True):
                k.store(memory, cell, word)

    def neutral(self) -> list[kc.Expression]:
        """The words of a cell that holds neutral values."""
        atoms = self.target.bins.operator.neutral
        return self.cells.encode(self.k, [self.k.scalar(atom) for atom in atoms])

    def update(self, at: Sequence[Size], values: list[kc.Expression]) -> None:
        """One element, into this work-item's copy."""
        k = self.k
        flat = Size.constant(0)
        for index, size in zip(at, self.target.shape, strict=True):
            flat = flat * size + index
        cell = k.declare("cell", self.own + k.size_value(flat))
        self.cells.update(k, [(memory, cell) for memory in self.words], values)

    def flush(self, lane: kc.Expression, outer: tuple[Size, ...]) -> None:
        """Add what the copies hold to the bins in global memory."""
        k = self.k
        loop = k.loop("cell", self.count, lane, k.width, extent=self.count)
        with loop as cell:
            total = [k.declare("total", value) for value in self._load(cell)]
            with k.loop("copy", self.copies, 1) as copy:
                more = self._load(cell + copy * self.stride)
                new = k.apply(self.cells.operator, (*total, *more))
                held = [k.declare("new", value) for value in new]
                k.assign_all(total, held)
            with if_updated(k, self.target.bins, total):
                at = tuple(k.as_size(i) for i in unravel(k, cell, self.target.shape))
                self.cells.update(k, self.target.places(k, outer, at), total)

    def _load(self, cell: kc.Expression) -> list[kc.Expression]:
        words = [self.k.declare("word", self.k.load(m, cell)) for m in self.words]
        return self.cells.decode(self.k, words)
