"""Transposition under the GPU schedule: squares of 32 x 32 turned in local memory.

    for r: tile[r][lane] = from[.. + lane]     neighbouring threads read neighbours
    barrier
    for r: to[.. + lane] = tile[lane][r]       and again

The tile has a column more than it needs, so that reading down a column meets all banks.
A group has 32 x 8 threads; each takes four rows of the square.
"""

from __future__ import annotations

from minifut.ir.sizes import Size, ceil_div, product
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lower_host import HostBuilder
from minifut.kernel_code.nest_cpu import unravel
from minifut.kernel_code.transposition import Plane

SIDE = 32
ROWS = 8


def copy_turned(host: HostBuilder, plane: Plane) -> None:
    """One work-group for each square of the plane."""
    rows, columns = plane.sides
    squares = (*plane.outer, ceil_div(rows, SIDE), ceil_div(columns, SIDE))
    count = host.let_size(product(squares), "squares")
    k = host.kernel("transpose")
    element = plane.source.memory.element
    tile = k.local_memory(element, Size.constant(SIDE * (SIDE + 1)), "tile")
    number = k.declare("square", k.identity("get_group_id"))
    *outer, row, column = unravel(k, number, squares)
    thread = k.declare("thread", k.identity("get_local_id"))
    lane, first = k.declare("lane", thread % SIDE), k.declare("row", thread // SIDE)
    height, width = k.size_value(rows), k.size_value(columns)
    i0, j0 = k.named(row * SIDE, "i"), k.named(column * SIDE, "j")
    with k.loop("r", SIDE, first, ROWS) as r:
        i, j = k.named(i0 + lane, "i"), k.named(j0 + r, "j")
        with k.branch(_inside(i, height, j, width)):
            k.store(tile, r * (SIDE + 1) + lane, k.read(plane.source, (*outer, i, j)))
    k.barrier()
    with k.loop("r", SIDE, first, ROWS) as r:
        i, j = k.named(i0 + r, "i"), k.named(j0 + lane, "j")
        with k.branch(_inside(i, height, j, width)):
            k.write(plane.target, (*outer, i, j), k.load(tile, lane * (SIDE + 1) + r))
    host.launch(k, count * (SIDE * ROWS), SIDE * ROWS, fresh=True)


def _inside(
    i: kc.Expression, height: kc.Expression, j: kc.Expression, width: kc.Expression
) -> kc.Expression:
    return kc.Binary("&&", i < height, j < width, kc.TRUTH)
