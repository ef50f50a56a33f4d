"""Transposition under the GPU schedule: square tiles transposed in local memory.

    for r: tile[r][lane] = from[.. + lane]     neighbouring threads read neighbours
    barrier
    for r: to[.. + lane] = tile[lane][r]       and again

The tile is padded by one column, so that reading a column has no bank conflicts. A
group has as many threads as a few rows of the square, and loops over the others.
"""

from __future__ import annotations

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
    with k.loop("r", length, first, step) as r:
        i, j = k.named(i0 + lane, "i"), k.named(j0 + r, "j")
        with k.branch(_inside(i, most_i, j, most_j)):
            k.store(tile, r * (length + 1) + lane, k.read(plane.source, (*outer, i, j)))
    k.barrier()
    with k.loop("r", length, first, step) as r:
        i, j = k.named(i0 + r, "i"), k.named(j0 + lane, "j")
        with k.branch(_inside(i, most_i, j, most_j)):
            k.write(plane.target, (*outer, i, j), k.load(tile, lane * (length + 1) + r))
    host.launch(k, count * (side * rows), side * rows, fresh=True)


def _inside(
    i: kc.Expression, height: kc.Expression, j: kc.Expression, width: kc.Expression
) -> kc.Expression:
    return kc.Binary("&&", i < height, j < width, kc.TRUTH)
