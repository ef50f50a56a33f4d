r"""Strip-mine the tiled dimensions of the grid, and interchange: blocks outside.

    segmap grid (i < n) { e }
  →
    segmap group (g < ceil_div(n, t)) {
      tile = segmap thread (x < t) { i = min(g * t + x, n - 1)   e }
      return tile tile of (n by t) }

Positions beyond the end repeat the last one, so that all tiles are full and no step
that follows needs a guard; what is computed twice is not written twice.
"""

from __future__ import annotations

from minifut.ir import kernels
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Index, Param, Rearrange, Reshape, SizeExp, Stm
from minifut.ir.kernels import GRID, THREAD, KernelBody
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, minimum
from minifut.ir.traverse import free_names
from minifut.ir.types import I64, ArrayType
from minifut.names import Name
from minifut.passes.flatten.cheap import is_cheap
from minifut.passes.simplify.dead_code import has_effects
from minifut.passes.tiling.marks import PAPER, TILE, Mark, mark_of
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


@rule(label="Step 1", paper=PAPER)
def strip_mine_grid(statement: Stm, context: StatementContext) -> Outcome:
    r"""Make a group compute a tile of the result, each of its threads an element.

    before:
        given (n: i64, xs: [n]f32)
        #[tile(main.map, 0)] let ys: [n]f32 = segmap grid (i < n) -> (f32) {
          let x: f32 = xs[i]
          let y: f32 = add_f32(x, x)
          return returns y
        }
    after:
        let t: i64 = get_parameter("main.map.block_columns" "tile_side"
          ("cpu" = 8, "gpu" = 256) bounds 1 1024)
        #[tile(main.map, 0)] let ys: [n]f32 =
          segmap group (g < ceil_div(n, t)) -> (f32) {
            let tile_1: [t]f32 = segmap thread (x_1 < t) -> (f32) {
              let i: i64 = size(min(g * t + x_1, n - 1))
              let x: f32 = xs[i]
              let y: f32 = add_f32(x, x)
              return returns y
            }
            return tile tile_1 of (n by t)
          }
    declines: each group would do what a thread does
        like before, with
        segmap grid => segmap group
    """
    kernel, mark = statement.exp, mark_of(statement, TILE)
    if not isinstance(kernel, kernels.SegMap) or mark is None:
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
