"""Cells of rows over work-items, in histograms whose values are rows.

    for (i = lane; i < n; i += GROUP)         for (c = lane; c < n * d; c += GROUP)
        for (v = 0; v < d; v++)          →        bins[is[c / d]][c % d] += vs[c]
            bins[is[i]][v] += vs[i][v]

A warp loads neighbouring cells of rows, in whole sectors, and updates neighbouring
cells of bins, which are in different banks. An index is loaded by each work-item of its
row, at once. Row and column of the next cell are sums; a division would take longer
than an update.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minifut.ir.kernels import SegHist
from minifut.ir.sizes import ONE, Size, maximum
from minifut.kernel_ir import nodes as kc
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.segred.gpu import is_light
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.rule import Declined, Remark, decision

Range = tuple[kc.Expression, kc.Expression, kc.Expression]
"""the first point of a task, that after its last one, and how many there are at most"""
PointAndColumn = tuple[kc.Expression, tuple[Size, ...]]


@contextmanager
def points_of_lane(
    k: KernelBuilder, lane: kc.Expression, task: Range
) -> Iterator[PointAndColumn]:
    """The points of a lane, cyclically."""
    start, end, most = task
    with k.loop("at", end, start + lane, k.width, extent=most) as at:
        yield at, ()


@decision(remark=lambda *_: Remark(("a work-item for each cell of a row",)))
def row_length(operation: SegHist, host: HostBuilder) -> Size | Declined:
    """Distribute the cells of rows over work-items, instead of rows: neighbouring
    work-items load neighbouring cells, and update neighbouring cells of a bin.

    before:
        given (n: i64, k: i64, to: [k][8]f32, is: [n]i64, vs: [n][8]f32)
        let h: [k][8]f32 = seghist grid (i < n)
            bins([k], (to), (0.0f32), add_f32, [8]) -> (i64, [8]f32) {
          let at: i64 = is[i]
          let row: [8]f32 = vs[i]
          return returns at, returns row
        }
    after:
        long at = start + row_1;
        long own_1 = column_1;
        long at_1 = is[at];
    declines: the bins have no rows
        like before of privatise_in_local_memory
    """
    vectors = {operator.vector for operator in operation.operators}
    if len(vectors) != 1 or any(len(vector) != 1 for vector in vectors):
        return Declined("the bins have no rows")
    if not is_light(operation.body):
        return Declined("the body computes more than loads and scalars")
    ((length,),) = vectors
    return host.size(length)


class CellsOfRows:
    """The cells of all rows of a task, one after the other, cyclically over the lanes:
    neighbouring ones load neighbouring cells."""

    def __init__(self, k: KernelBuilder, lane: kc.Expression, columns: Size) -> None:
        self.k, self.lane = k, lane
        self.columns = k.size_value(columns)
        length = k.declare("columns", k.size_value(maximum(ONE, columns)))
        self.length = length
        self.row = k.declare("row", lane // length)
        self.column = k.declare("column", lane - self.row * length)
        self.rows_on = k.declare("rows_on", k.width // length)
        self.columns_on = k.declare("columns_on", k.width - self.rows_on * length)

    @contextmanager
    def points(self, task: Range) -> Iterator[PointAndColumn]:
        """The point and the column of each cell, without a division."""
        k = self.k
        start, end, most = task
        count = k.declare("count", (end - start) * self.columns)
        row = k.declare("row", self.row)
        column = k.declare("column", self.column)
        extent = most * self.columns
        with k.loop("cell", count, self.lane, k.width, extent=extent):
            at = k.declare("at", start + row)
            yield at, (k.as_size(k.declare("own", column), "own"),)
            k.assign(row, row + self.rows_on)
            k.assign(column, column + self.columns_on)
            with k.branch(column >= self.length):
                k.assign(row, row + 1)
                k.assign(column, column - self.length)
