r"""Split the common dimension: parts of the reduction are points of their own.

    segmap grid (i < n, j < p) { s = redomap(m, ..)  e(s) }
  →
    parts = segmap grid (h < ceil_div(m, t), i < n, j < p) { redomap(part h, ..) }
    ss    = segred grid (i < n, j < p, h < ceil_div(m, t)) {op} { parts[h, i, j] }
            segmap grid (i < n, j < p) { s = ss[i, j]  e(s) }

With few points and a long common dimension there are then enough of them to keep the
device busy. The parts are combined in their order, so the operator need not commute.
"""

from __future__ import annotations

from minifut.ir import kernels
from minifut.ir.builder import Builder, i64
from minifut.ir.core import DimSlice, Index, Param, SizeExp, Stm
from minifut.ir.kernels import GRID, KernelBody
from minifut.ir.node import replace
from minifut.ir.sizes import Size, ceil_div, minimum
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, rename
from minifut.ir.types import I64, array_of
from minifut.names import Name
from minifut.passes.simplify.dead_code import has_effects
from minifut.passes.tiling.marks import PAPER, TILE, Mark, mark_of, marked
from minifut.passes.tiling.nest import Variance, footprint_of, operands_of, redomaps_of
from minifut.passes.tiling.parameters import parameter
from minifut.passes.tiling.recompute import dependences_of
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(kernels.SegMap, label="Section 7.3.1", paper=PAPER)
def split_reduction(statement: Stm, context: StatementContext) -> Outcome:
    r"""Reduce parts of the common dimension, then combine them.

    before:
        given (n: i64, m: i64, a: [n][m]f32, x: [m]f32)
        #[tile(main.map_redomap, 0)] let c: [n]f32 = segmap grid (i < n) -> (f32) {
          let row: [m]f32 = a[i]
          let s: f32 = redomap(m, (row, x), reduce(add_f32, (0f32)),
            mul_f32)
          return returns sqrt_f32(s)
        }
    after:
        let t: i64 = get_parameter("main.map_redomap.split_depth" "tile_size"
          ("cpu" = 4096, "gpu" = 512) bounds 1 1073741824)
        #[tile(main.map_redomap, 1)] let parts: [ceil_div(m, t)][n]f32 =
          segmap grid (h_1 < ceil_div(m, t), i < n) -> (f32) {
            let first: i64 = size(h_1 * t)
            let length: i64 = size(min(t, m - h_1 * t))
            let row: [m]f32 = a[i]
            let row_1: [length]f32 = row[first :+ length by 1i64]
            let x_1: [length]f32 = x[first :+ length by 1i64]
            return returns redomap(length, (row_1, x_1), reduce(add_f32, (0f32)),
              mul_f32)
          }
        let ss: [n]f32 = segred grid (i_1 < n, h_2 < ceil_div(m, t))
          operator(add_f32, (0f32), []) -> (f32) {returns parts[h_2, i_1]}
        let c: [n]f32 = segmap grid (i_2 < n) -> (f32) {
          let s_1: f32 = ss[i_2]
          return returns sqrt_f32(s_1)
        }
    declines: there are several reductions, or a check beside it
        like before, with
        let s: f32 = redomap(m, (row, x), reduce(add_f32, (0f32)), mul_f32) =>
        sqrt_f32(s) => sqrt_f32(0f32)
    """
    kernel, mark = statement.exp_of(kernels.SegMap), mark_of(statement, TILE)
    if kernel.level != GRID or mark is None:
        return None
    found = redomaps_of(kernel)
    beside = [s for s in kernel.body.statements if not isinstance(s.exp, Screma)]
    if len(found) != 1 or any(has_effects(s) for s in beside):
        return Declined("there are several reductions, or a check beside it")
    redomap = found[0][1]
    local = {p.name for s in kernel.body.statements for p in s.pattern}
    local.update(kernel.space.indices)
    if not local.isdisjoint(redomap.width.names()):
        return Declined("the reduction is not equally long everywhere")
    for reduce in redomap.reduces:
        if not local.isdisjoint(free_names(reduce)):
            return Declined("the operator differs between points")
    return _split(statement, kernel, mark, found[0][0], redomap, context)


def _split(
    statement: Stm,
    kernel: kernels.SegMap,
    mark: Mark,
    target: Stm,
    redomap: Screma,
    context: StatementContext,
) -> tuple[Stm, ...]:
    build = Builder(context.names, context.scope, statement.location)
    at = kernel.body.statements.index(target)
    above, below = kernel.body.statements[:at], kernel.body.statements[at + 1 :]
    operands = operands_of(kernel, Variance(kernel), build.scope, set())
    footprint = footprint_of(kernel, operands, mark.dimensions)
    chunk = Size.of(
        build.let(
            kernels.GetParameter(parameter(mark.nest, "split_depth", footprint)),
            "split_depth",
        )
    )
    count = ceil_div(redomap.width, chunk)
    parts = _parts(build, kernel, above, target, redomap, chunk, count)
    dimensions = tuple(d + 1 for d in mark.dimensions)
    pattern = _arrays(build, target, (count, *kernel.space.sizes))
    made = Stm(pattern, parts, (), statement.location)
    build.append(marked(made, Mark(mark.nest, dimensions)))

    whole = _arrays(build, target, kernel.space.sizes)
    values = [r.value for r in kernel.body.result if isinstance(r, kernels.Returns)]
    if not below and sorted(values, key=str) == sorted(
        (p.name for p in target.pattern), key=str
    ):
        bound = dict(zip(values, statement.pattern, strict=True))
        whole = tuple(bound[p.name] for p in target.pattern)
        build.bind(whole, _combined(build, kernel, redomap, pattern, count))
        return tuple(build.statements)
    build.bind(whole, _combined(build, kernel, redomap, pattern, count))
    reads = tuple(
        Stm((p,), Index(array.name, kernel.space.indices))
        for p, array in zip(target.pattern, whole, strict=True)
    )
    names = {value for value in values if isinstance(value, Name)}
    for later in below:
        names |= free_names(later)
    again = dependences_of(above, names).again
    body = KernelBody((*reads, *again, *below), kernel.body.result)
    last = rename(replace(kernel, body=body), build.names)
    build.append(Stm(statement.pattern, last, (), statement.location))
    return tuple(build.statements)


def _arrays(build: Builder, target: Stm, sizes: tuple[Size, ...]) -> tuple[Param, ...]:
    made = tuple(
        Param(build.names.like(p.name), array_of(p.type, sizes)) for p in target.pattern
    )
    build.scope.update((p.name, p.type) for p in made)
    return made


def _parts(
    build: Builder,
    kernel: kernels.SegMap,
    above: tuple[Stm, ...],
    target: Stm,
    redomap: Screma,
    chunk: Size,
    count: Size,
) -> kernels.SegMap:
    """The kernel whose points reduce one part each."""
    part = build.names.fresh("part")
    build.scope[part] = I64
    inner = build.nested()
    first = inner.let(SizeExp(Size.of(part) * chunk), "first")
    rest = redomap.width - Size.of(part) * chunk
    length = inner.let(SizeExp(minimum(chunk, rest)), "length")
    inner.extend(above)
    slices = tuple(
        inner.index(array, DimSlice(first, Size.of(length), i64(1)))
        for array in redomap.arrays
    )
    exp = replace(redomap, width=Size.of(length), arrays=slices)
    inner.append(replace(target, exp=exp))
    results = tuple(kernels.Returns(p.name) for p in target.pattern)
    body = KernelBody(tuple(inner.statements), results)
    space = kernels.SegSpace(
        (part, *kernel.space.indices), (count, *kernel.space.sizes)
    )
    return kernels.SegMap(GRID, space, body, tuple(p.type for p in target.pattern))


def _combined(
    build: Builder,
    kernel: kernels.SegMap,
    redomap: Screma,
    parts: tuple[Param, ...],
    count: Size,
) -> kernels.SegRed:
    """The reduction over the parts."""
    outer = tuple(build.names.like(index) for index in kernel.space.indices)
    part = build.names.fresh("part")
    build.scope.update(dict.fromkeys((*outer, part), I64))
    inner = build.nested()
    values = [inner.index(array.name, part, *outer, base="part") for array in parts]
    operators = tuple(
        kernels.SegBinOp(rename(r.operator, build.names), r.neutral, (), r.commutative)
        for r in redomap.reduces
    )
    body = KernelBody(
        tuple(inner.statements), tuple(kernels.Returns(v) for v in values)
    )
    space = kernels.SegSpace((*outer, part), (*kernel.space.sizes, count))
    return kernels.SegRed(GRID, space, operators, body, build.types(values))
