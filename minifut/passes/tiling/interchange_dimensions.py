r"""Interchange dimensions of the grid: the outermost becomes the innermost.

    y[i, j, k] = reduce over q of a[j, q] * b[q, k] under the mask x[i, q]

Neither a nor b varies with i, nor the mask with j and k. If i stays outermost, each of
its points multiplies the same small matrices again; moved innermost, i has the columns
of the tiles, and a group reads what it needs of a and b once for all of them.
"""

from __future__ import annotations

from minifut.ir import builder, kernels, types
from minifut.ir.core import Param, Rearrange, Stm
from minifut.ir.node import replace
from minifut.passes.tiling.marks import LECTURE
from minifut.passes.tiling.recognise import inner_pair
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(kernels.SegMap, paper=LECTURE)
def interchange_dimensions(statement: Stm, context: StatementContext) -> Outcome:
    r"""Move the outermost dimension inwards if all others' operands are the same in it.

    before:
        given (n: i64, m: i64, q: i64, a: [m][q]f32, b: [m][q]f32, x: [n][q]f32)
        #[nest(main.map_map_map_redomap)] let y: [n][m][m]f32 =
          segmap grid (i < n, j < m, k < m) -> (f32) {
            let xs: [q]f32 = x[i]
            let as: [q]f32 = a[j]
            let bs: [q]f32 = b[k]
            let s: f32 = redomap(q, (as, bs, xs), reduce(add_f32, (0f32)),
              \(e: f32, f: f32, g: f32) -> (f32) {
                let h: f32 = mul_f32(e, f)
                return mul_f32(g, h)
              })
            return returns s
          }
    after:
        like before, with
        let y: [n][m][m]f32 => let t: [m][m][n]f32
        (i < n, j < m, k < m) => (j < m, k < m, i < n)
        returns s }
        => returns s }
        => let y: [n][m][m]f32 = rearrange((2, 0, 1), t)
    declines: the outermost dimension is a batch of products
        like before, with
        a: [m][q]f32, b: [m][q]f32, x: [n][q]f32 => a: [n][m][q]f32, b: [m][q]f32
        let xs: [q]f32 = x[i] let as: [q]f32 = a[j] => let as: [q]f32 = a[i, j]
        (as, bs, xs) => (as, bs)
        \(e: f32, f: f32, g: f32) -> (f32) { let h: f32 = mul_f32(e, f)
        return mul_f32(g, h) } => mul_f32
    """
    found = inner_pair(statement, context)
    if found is None:
        return None
    kernel, operands, dimensions = found
    outer = [o.dimensions for o in operands if 0 in o.dimensions]
    if not outer or any(s & set(dimensions) for s in outer):
        return Declined("the outermost dimension is a batch of products")
    return _moved(statement, kernel, context)


def _moved(
    statement: Stm, kernel: kernels.SegMap, context: StatementContext
) -> tuple[Stm, ...]:
    build = builder.Builder(context.names, context.scope, statement.location)
    space = kernel.space
    rank = len(space.sizes)
    sizes = (*space.sizes[1:], space.sizes[0])
    moved = replace(
        kernel, space=kernels.SegSpace((*space.indices[1:], space.indices[0]), sizes)
    )
    pattern = tuple(
        Param(build.names.like(p.name), types.array_of(type_, sizes))
        for p, type_ in zip(statement.pattern, kernel.types, strict=True)
    )
    build.append(replace(statement, pattern=pattern, exp=moved))
    back = (rank - 1, *range(rank - 1))
    for bound, made in zip(statement.pattern, pattern, strict=True):
        build.append(Stm((bound,), Rearrange(back, made.name), (), statement.location))
    return tuple(build.statements)
