r"""Merge dimensions of the grid: batches of products with one matrix are one product.

    y[i, j, k] = reduce over q of a[i, j, q] * b[q, k]

As b does not vary with i, the rows of all batches are rows of one matrix: it is read
once for all of them, and only the last tile of all is not full.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.builder import Builder
from minifut.ir.core import Index, Param, Rearrange, Reshape, Stm
from minifut.ir.kernels import SegMap, SegSpace
from minifut.ir.node import replace
from minifut.ir.sizes import Size, product
from minifut.ir.traverse import free_names, map_children
from minifut.ir.types import array_of, shape_of
from minifut.names import Name
from minifut.passes.tiling.marks import LECTURE
from minifut.passes.tiling.recognise import inner_pair
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(SegMap, paper=LECTURE)
def merge_dimensions(statement: Stm, context: StatementContext) -> Outcome:
    r"""Make one dimension of the rows of a tile and the dimension around them, if the
    columns' operands are the same in it.

    before:
        given (n: i64, m: i64, p: i64, q: i64, a: [n][m][q]f32, b: [p][q]f32)
        #[nest(main.map_map_map_redomap)] let y: [n][m][p]f32 =
          segmap grid (i < n, j < m, k < p) -> (f32) {
            let as: [q]f32 = a[i, j]
            let bs: [q]f32 = b[k]
            let s: f32 = redomap(q, (as, bs), reduce(add_f32, (0f32)), mul_f32)
            return returns s
          }
    after:
        like before, with
        #[nest => let c: [n * m][q]f32 = reshape([n * m][q], a) #[nest
        let y: [n][m][p]f32 => let t: [n * m][p]f32
        (i < n, j < m, k < p) => (j < n * m, k < p)
        a[i, j] => c[j]
        returns s }
        => returns s }
        => let y: [n][m][p]f32 = reshape([n][m][p], t)
    declines: each batch has columns of its own
        like before, with
        b: [p][q]f32 => b: [n][p][q]f32
        b[k] => b[i, k]
    declines: a batch is used for more than its rows
        like before, with
        a[i, j] => a[j, i]
    """
    found = inner_pair(statement, context)
    if found is None:
        return None
    kernel, operands, (rows, columns) = found
    batch = rows - 1
    if any(batch in o.dimensions and columns in o.dimensions for o in operands):
        return Declined("each batch has columns of its own")
    if not any(batch in o.dimensions for o in operands):
        return None
    return _merged(statement, kernel, batch, context)


def _merged(
    statement: Stm, kernel: SegMap, batch: int, context: StatementContext
) -> Outcome:
    build = Builder(context.names, context.scope, statement.location)
    space = kernel.space
    pair, sizes = space.indices[batch : batch + 2], space.sizes[batch : batch + 2]
    merged = context.names.like(pair[1])
    joined: dict[tuple[Name, int], Name] = {}

    def read(node: Any) -> Any:
        if not isinstance(node, Index):
            return map_children(node, read)
        starts = range(len(node.slice) - 1)
        at = next((p for p in starts if node.slice[p : p + 2] == pair), None)
        if at is None or not _is_whole(node.array, at, sizes, context):
            return node
        if (key := (node.array, at)) not in joined:
            shape = shape_of(context.scope[node.array])
            flat = (*shape[:at], product(sizes), *shape[at + 2 :])
            joined[key] = build.let(Reshape(flat, node.array), node.array.base)
        entries = (*node.slice[:at], merged, *node.slice[at + 2 :])
        return replace(node, array=joined[key], slice=entries)

    body = read(kernel.body)
    if not free_names(body).isdisjoint(pair):
        return Declined("a batch is used for more than its rows")

    def along(indices: tuple[Any, ...], one: object) -> tuple[Any, ...]:
        return (*indices[:batch], one, *indices[batch + 2 :])

    space = SegSpace(along(space.indices, merged), along(space.sizes, product(sizes)))
    pattern = tuple(
        Param(build.names.like(p.name), array_of(type_, space.sizes))
        for p, type_ in zip(statement.pattern, kernel.types, strict=True)
    )
    made = replace(kernel, space=space, body=body)
    build.append(replace(statement, pattern=pattern, exp=made))
    for bound, whole in zip(statement.pattern, pattern, strict=True):
        apart = Reshape(shape_of(bound.type), whole.name)
        build.append(Stm((bound,), apart, (), statement.location))
    return tuple(build.statements)


def _is_whole(
    array: Name, at: int, sizes: tuple[Size, ...], context: StatementContext
) -> bool:
    """Whether an array from outside, in order in memory as far as is known, has these
    sizes there."""
    if (
        array not in context.scope
        or shape_of(context.scope[array])[at : at + 2] != sizes
    ):
        return False
    return not isinstance(context.definition(array), Index | Rearrange)
