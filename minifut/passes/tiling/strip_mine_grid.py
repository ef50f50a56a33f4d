r"""Strip-mine the tiled dimensions of the grid, and interchange: blocks outside; then
the threads of a group, each of which gets a tile of elements in registers.

    segmap grid (i < n) { e }
  →
    segmap group (g < ceil_div(n, t)) {
      tile = segmap thread (x < t) { i = min(g * t + x, n - 1)   e }
      return tile tile of (n by t) }

Positions beyond the end repeat the last one, so that all tiles are full and no step
that follows needs a guard; what is computed twice is not written twice.

    segmap thread (x < t) { e }                    t := t * r
  →
    segmap thread (x < t) { segmap register (j < r) { x' = x * r + j   e } }

and the group returns register tiles in place of a tile.
"""

from __future__ import annotations

from minifut.ir import kernels
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Index, Param, Rearrange, Reshape, SizeExp, Stm
from minifut.ir.kernels import GRID, REGISTER, THREAD, KernelBody
from minifut.ir.node import immutable, replace
from minifut.ir.sizes import ONE, Size, ceil_div, minimum
from minifut.ir.traverse import free_names, substitute_sizes
from minifut.ir.types import I64, ArrayType, array_of
from minifut.names import Name
from minifut.passes.flatten.cheap import is_cheap
from minifut.passes.simplify.dead_code import has_effects
from minifut.passes.tiling.marks import PAPER, TILE, Mark, mark_of, marked
from minifut.passes.tiling.nest import (
    Variance,
    footprint_of,
    iotas_of,
    operands_of,
    redomaps_of,
)
from minifut.passes.tiling.parameters import COLUMNS, ROWS, parameter
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(kernels.SegMap, label="Step 1", paper=PAPER)
def strip_mine_grid(statement: Stm, context: StatementContext) -> Outcome:
    r"""Make a group compute a tile of the result, each of its threads an element.

    before:
        given (n: i64, xs: [n]f32)
        #[tile(main.map, 0)] let ys: [n]f32 = segmap grid (i < n) -> (f32) {
          let x: f32 = xs[i]
          return returns add_f32(x, x)
        }
    after:
        let t: i64 = get_parameter("main.map.block_columns" "tile_side"
          ("cpu" = 8, "gpu" = 256) bounds 1 1024)
        #[tile(main.map, 0)] let ys: [n]f32 =
          segmap group (g < ceil_div(n, t)) -> (f32) {
            let tile_1: [t]f32 = segmap thread (x_1 < t) -> (f32) {
              let i: i64 = size(min(g * t + x_1, n - 1))
              let x: f32 = xs[i]
              return returns add_f32(x, x)
            }
            return tile tile_1 of (n by t)
          }
    declines: each group would do what a thread does
        like before, with
        segmap grid => segmap group
    """
    kernel, mark = statement.exp_of(kernels.SegMap), mark_of(statement, TILE)
    if mark is None:
        return None
    if kernel.level != GRID:
        return Declined("each group would do what a thread does")
    build = Builder(context.names, context.scope, statement.location)
    operands = operands_of(
        kernel, Variance(kernel), context.scope, iotas_of(kernel, ())
    )
    footprint = footprint_of(kernel, operands, mark.dimensions)
    blocks = {
        dimension: build.let(
            kernels.GetParameter(parameter(mark.nest, which, footprint)), which
        )
        for dimension, (which, _) in zip(mark.dimensions, roles(mark), strict=True)
    }
    if redomaps_of(kernel):
        depth = parameter(mark.nest, "block_depth", footprint)
        build.let(kernels.GetParameter(depth), "block_depth")
    group = _group(build, kernel, blocks)
    return (
        *build.statements,
        Stm(statement.pattern, group, statement.attributes, statement.location),
    )


def roles(mark: Mark) -> tuple[tuple[str, str], ...]:
    """The names of block and register size of each tiled dimension."""
    return (ROWS, COLUMNS)[-len(mark.dimensions) :]


@immutable
class _Tiled:
    """One tiled dimension: its size, the size of a block, and index names."""

    size: Size
    block: Size
    index: Name
    group: Name
    thread: Name


def _group(
    build: Builder, kernel: kernels.SegMap, blocks: dict[int, Name]
) -> kernels.SegMap:
    names, space = build.names, kernel.space
    tiled = {
        d: _Tiled(
            space.sizes[d],
            Size.of(block),
            space.indices[d],
            names.fresh("group"),
            names.fresh(base),
        )
        for base, (d, block) in zip("yx"[-len(blocks) :], blocks.items(), strict=True)
    }
    for dimension in tiled.values():
        build.scope[dimension.group] = build.scope[dimension.thread] = I64
    body = build.nested()
    inner = build.nested()
    for d in tiled.values():
        place = Size.of(d.group) * d.block + Size.of(d.thread)
        inner.scope[d.index] = I64
        inner.append(_bound(d.index, minimum(place, d.size - 1)))
    shared, own = split_uniform(
        kernel.body.statements, {d.index for d in tiled.values()}
    )
    body.extend(shared)
    inner.extend(own)
    results = tuple(dict.fromkeys(r for r in _values(kernel)))
    threads = kernels.SegMap(
        THREAD,
        kernels.SegSpace(
            tuple(d.thread for d in tiled.values()),
            tuple(d.block for d in tiled.values()),
        ),
        KernelBody(tuple(inner.statements), tuple(kernels.Returns(r) for r in results)),
        build.types(results),
    )
    tiles = dict(
        zip(results, body.let_many(threads, ["tile"] * len(results)), strict=True)
    )
    dimensions = tuple(
        (size, tiled[d].block if d in tiled else ONE)
        for d, size in enumerate(space.sizes)
    )
    returned: tuple[kernels.KernelResult, ...] = tuple(
        kernels.TileReturns(dimensions, tiles[value]) for value in _values(kernel)
    )
    outer = kernels.SegSpace(
        tuple(
            tiled[d].group if d in tiled else index
            for d, index in enumerate(space.indices)
        ),
        tuple(
            ceil_div(size, tiled[d].block) if d in tiled else size
            for d, size in enumerate(space.sizes)
        ),
    )
    return kernels.SegMap(
        kernels.GROUP, outer, KernelBody(tuple(body.statements), returned), kernel.types
    )


def _bound(index: Name, size: Size) -> Stm:
    return Stm((Param(index, I64),), SizeExp(size))


def _values(kernel: kernels.SegMap) -> tuple[Atom, ...]:
    return tuple(r.value for r in kernel.body.result if isinstance(r, kernels.Returns))


def split_uniform(
    statements: tuple[Stm, ...], varying: set[Name]
) -> tuple[list[Stm], list[Stm]]:
    """The statements that are the same for all points, and the others. Behind a check
    that differs between points nothing is taken out: it may guard what follows."""
    found = set(varying)
    shared: list[Stm] = []
    own: list[Stm] = []
    guarded = False
    for statement in statements:
        same = not guarded and found.isdisjoint(free_names(statement.exp))
        if same and _may_be_shared(statement):
            shared.append(statement)
            continue
        own.append(statement)
        found.update(p.name for p in statement.pattern)
        guarded |= has_effects(statement.exp)
    return shared, own


def _may_be_shared(statement: Stm) -> bool:
    """Scalars and views; other arrays would be made by all threads together."""
    if not is_cheap(statement):
        return False
    scalars = not any(isinstance(p.type, ArrayType) for p in statement.pattern)
    return scalars or isinstance(statement.exp, (Index, Rearrange, Reshape))


@rule(kernels.SegMap, label="Step 1", paper=PAPER)
def strip_mine_threads(statement: Stm, context: StatementContext) -> Outcome:
    r"""Give each thread of a group a register tile instead of one element.

    before:
        given (n: i64, t: i64, xs: [n]f32)
        #[tile(main.map, 0)] let ys: [n]f32 =
          segmap group (g < ceil_div(n, t)) -> (f32) {
            let tile_1: [t]f32 = segmap thread (x < t) -> (f32) {
              let i: i64 = size(min(g * t + x, n - 1))
              return returns xs[i]
            }
            return tile tile_1 of (n by t)
          }
    after:
        let r: i64 = get_parameter("main.map.register_columns" "reg_tile_size"
          ("cpu" = 64, "gpu" = 1) bounds 1 64)
        #[tile(main.map, 0)] let ys: [n]f32 =
          segmap group (g < ceil_div(n, t * r)) -> (f32) {
            let tile_1: [t][r]f32 = segmap thread (x_1 < t) -> ([r]f32) {
              return returns segmap register (j < r) -> (f32) {
                let x: i64 = size(x_1 * r + j)
                let i: i64 = size(min(g * t * r + x, n - 1))
                return returns xs[i]
              }
            }
            return regtile tile_1 of (n by t by r)
          }
    declines: the group does not return tiles
        like declines of strip_mine_grid
    """
    kernel, mark = statement.exp_of(kernels.SegMap), mark_of(statement, TILE)
    if kernel.level != kernels.GROUP or mark is None:
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
