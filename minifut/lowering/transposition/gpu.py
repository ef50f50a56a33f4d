"""Transposition under the GPU schedule: square tiles transposed in local memory.

    for r: tile[r][lane] = from[.. + lane]     neighbouring threads read neighbours
    barrier
    for r: to[.. + lane] = tile[lane][r]       and again

The tile is padded by one column, so that reading a column has no bank conflicts. A
group has as many threads as a few rows of the square, and loops over the others.
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.ir.kernels import Parameter
from minifut.ir.sizes import product
from minifut.kernel_ir import nodes as kc
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.positions import unravel
from minifut.lowering.transposition.planes import Plane, as_parameters

SIDE = Parameter(
    "gpu.transpose.side", "tile_size", (("cpu", 32), ("gpu", 32)), (1, 256)
)
ROWS = Parameter("gpu.transpose.rows", "tile_size", (("cpu", 8), ("gpu", 8)), (1, 256))
"""of a square that a group processes at a time"""
VisitElement = Callable[[kc.Expression, kc.Expression, kc.Expression], None]


def copy_transposed(host: HostBuilder, plane: Plane) -> None:
    """One work-group for each square of the plane."""
    side, rows = host.parameter(SIDE), host.parameter(ROWS)
    count = host.let_size(product(plane.squares(side)), "squares")
    k = host.kernel("transpose")
    plane = as_parameters(k, plane)
    height, width = plane.sides
    element = plane.source.memory.element
    tile = k.local_memory(element, side * (side + 1), "tile")
    number = k.declare("square", k.identity("get_group_id"))
    *outer, row, column = unravel(k, number, plane.squares(side))
    thread = k.declare("thread", k.identity("get_local_id"))
    length, step = k.size_value(side), k.size_value(rows)
    lane = k.declare("lane", thread % length)
    first = k.declare("row", thread // length)
    most_i, most_j = k.size_value(height), k.size_value(width)
    i0, j0 = k.named(row * length, "i"), k.named(column * length, "j")
    fits = _inside(i0 + (length - 1), most_i, j0 + (length - 1), most_j)
    even = (length % step).equals(0)
    whole = k.declare("whole", kc.all_of((even, fits)))

    def load(r: kc.Expression, i: kc.Expression, j: kc.Expression) -> None:
        k.store(tile, r * (length + 1) + lane, k.read(plane.source, (*outer, i, j)))

    def store(r: kc.Expression, i: kc.Expression, j: kc.Expression) -> None:
        k.write(plane.target, (*outer, i, j), k.load(tile, lane * (length + 1) + r))

    def each_row(visit: VisitElement, transposed: bool) -> None:
        """The rows of a work-item: of a whole square a number that is known when the
        kernel is built, without guards, so that all loads are in flight together."""

        def place(r: kc.Expression) -> tuple[kc.Expression, kc.Expression]:
            down, across = (r, lane) if transposed else (lane, r)
            return k.named(i0 + down, "i"), k.named(j0 + across, "j")

        with k.branch(whole), k.loop("step", k.size_value(side // rows)) as number:
            r = k.declare("r", first + number * step)
            visit(r, *place(r))
        each = k.loop("r", length, first, step, extent=length)
        with k.otherwise(), each as r:
            i, j = place(r)
            with k.branch(_inside(i, most_i, j, most_j)):
                visit(r, i, j)

    each_row(load, transposed=False)
    each_row(store, transposed=True)
    host.launch(k, count * (side * rows), side * rows, fresh=True)


def _inside(
    i: kc.Expression, height: kc.Expression, j: kc.Expression, width: kc.Expression
) -> kc.Expression:
    return kc.all_of((i < height, j < width))
