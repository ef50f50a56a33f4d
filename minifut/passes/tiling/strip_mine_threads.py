r"""Strip-mine the threads of a group: each gets a tile of elements in registers.

    segmap thread (x < t) { e }                    t := t * r
  →
    segmap thread (x < t) { segmap register (j < r) { x' = x * r + j   e } }

and the group returns register tiles in place of a tile.
"""

from __future__ import annotations

from minifut.ir import kernels
from minifut.ir.builder import Builder
from minifut.ir.core import Param, SizeExp, Stm
from minifut.ir.kernels import REGISTER, THREAD, KernelBody
from minifut.ir.node import replace
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import substitute_sizes
from minifut.ir.types import I64, array_of
from minifut.names import Name
from minifut.passes.tiling.marks import PAPER, TILE, mark_of, marked
from minifut.passes.tiling.nest import Variance, footprint_of, operands_of
from minifut.passes.tiling.parameters import parameter
from minifut.passes.tiling.strip_mine_grid import roles
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(label="Step 1", paper=PAPER)
def strip_mine_threads(statement: Stm, context: StatementContext) -> Outcome:
    r"""Give each thread of a group a register tile instead of one element.

    before:
        given (n: i64, t: i64, xs: [n]f32)
        #[tile(main.map, 0)] let ys: [n]f32 =
          segmap group (g < ceil_div(n, t)) -> (f32) {
            let tile_1: [t]f32 = segmap thread (x < t) -> (f32) {
              let i: i64 = size(min(g * t + x, n - 1))
              let y: f32 = xs[i]
              return returns y
            }
            return tile tile_1 of (n by t)
          }
    after:
        let r: i64 = get_parameter("main.map.register_columns" "reg_tile_size"
          ("cpu" = 64, "gpu" = 1) bounds 1 64)
        #[tile(main.map, 0)] let ys: [n]f32 =
          segmap group (g < ceil_div(n, t * r)) -> (f32) {
            let tile_1: [t][r]f32 = segmap thread (x_1 < t) -> ([r]f32) {
              let elements: [r]f32 = segmap register (j < r) -> (f32) {
                let x: i64 = size(x_1 * r + j)
                let i: i64 = size(min(g * t * r + x, n - 1))
                let y: f32 = xs[i]
                return returns y
              }
              return returns elements
            }
            return regtile tile_1 of (n by t by r)
          }
    declines: the group does not return tiles
        like declines of strip_mine_grid
    """
    kernel, mark = statement.exp, mark_of(statement, TILE)
    if (
        not isinstance(kernel, kernels.SegMap)
        or kernel.level != kernels.GROUP
        or mark is None
    ):
        return None
    if not all(isinstance(r, kernels.TileReturns) for r in kernel.body.result):
        return Declined("the group does not return tiles")
    *_, last = kernel.body.statements
    threads = last.exp
    if not isinstance(threads, kernels.SegMap) or threads.level != THREAD:
        return Declined("what the threads do is in parts already")
    build = Builder(context.names, context.scope, statement.location)
    operands = operands_of(threads, Variance(threads), context.scope, set())
    footprint = footprint_of(threads, operands, tuple(range(len(mark.dimensions))))
    registers = [
        build.let(kernels.GetParameter(parameter(mark.nest, which, footprint)), which)
        for _, which in roles(mark)
    ]
    blocks = [size.as_name for size in threads.space.sizes]
    if None in blocks:
        return Declined("the sizes of blocks are not parameters")
    larger = {
        block: Size.of(block) * Size.of(register)
        for block, register in zip(blocks, registers, strict=True)
        if block is not None
    }
    grown: kernels.SegMap = substitute_sizes(kernel, larger)
    group = _with_registers(build, grown, threads.space, tuple(registers))
    made = replace(statement, exp=group)
    return (*build.statements, marked(made, mark))


def _with_registers(
    build: Builder,
    kernel: kernels.SegMap,
    space: kernels.SegSpace,
    registers: tuple[Name, ...],
) -> kernels.SegMap:
    """The group with its last nest in two levels; `space` are its threads."""
    *above, last = kernel.body.statements
    grown = last.exp_of(kernels.SegMap)
    sizes = tuple(Size.of(register) for register in registers)
    outer = tuple(build.names.like(index) for index in space.indices)
    inner = tuple(build.names.fresh(b) for b in "ij"[-len(registers) :])
    build.scope.update(dict.fromkeys((*outer, *inner), I64))
    places = tuple(
        Stm((Param(old, I64),), SizeExp(Size.of(thread) * register + Size.of(own)))
        for old, thread, register, own in zip(
            space.indices, outer, sizes, inner, strict=True
        )
    )
    body = replace(grown.body, statements=(*places, *grown.body.statements))
    nest = kernels.SegMap(REGISTER, kernels.SegSpace(inner, sizes), body, grown.types)
    thread = build.nested()
    elements = thread.let_many(nest, ["elements"] * len(grown.types))
    returned = KernelBody(
        tuple(thread.statements), tuple(kernels.Returns(name) for name in elements)
    )
    types = tuple(array_of(type_, sizes) for type_ in grown.types)
    threads = kernels.SegMap(
        THREAD, kernels.SegSpace(outer, space.sizes), returned, types
    )
    pattern = tuple(
        Param(p.name, array_of(t, space.sizes))
        for p, t in zip(last.pattern, types, strict=True)
    )
    build.scope.update((p.name, p.type) for p in pattern)
    results = tuple(
        kernels.RegTileReturns(_dimensions(r, space.sizes, sizes), r.tile)
        for r in kernel.body.result
        if isinstance(r, kernels.TileReturns)
    )
    whole = (*above, replace(last, pattern=pattern, exp=threads))
    return replace(kernel, body=KernelBody(whole, results))


def _dimensions(
    tile: kernels.TileReturns, blocks: tuple[Size, ...], registers: tuple[Size, ...]
) -> tuple[tuple[Size, Size, Size], ...]:
    """Total, block and register size of each dimension."""
    sizes = iter(zip(blocks, registers, strict=True))
    return tuple(
        (total, ONE, ONE) if size == ONE else (total, *next(sizes))
        for total, size in tile.dimensions
    )
