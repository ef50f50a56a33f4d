r"""Rewrites that change layouts: transpose operands before a kernel, exchange the
dimensions of its space, make results in another order.

Each considers one kernel alone, for a GPU; the pass uses the same rewrites as the plan
of the whole function decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.analysis.layouts import Order, innermost
from minifut.ir import kernels, traverse, types
from minifut.ir.core import Manifest, Param, Rearrange, Stm
from minifut.ir.node import replace
from minifut.names import Name
from minifut.passes.layout.accesses import KERNELS
from minifut.passes.layout.choices import Dimension, KernelFacts, Offer
from minifut.passes.layout.costs import GPU
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

REPORT = "Optimising locality of reference in Futhark"
LECTURE = "Locality of reference"


def transpose_operands(
    statement: Stm, reads: Iterable[Dimension], context: StatementContext
) -> tuple[Stm, ...]:
    """Copies of operands with a dimension innermost, and the kernel that reads them."""
    build = context.builder(statement)
    build.attributes = ()
    copies: dict[Name, Name] = {}
    for array, dimension in reads:
        type_ = context.scope[array]
        assert isinstance(type_, types.ArrayType)
        order = innermost(dimension, type_.rank)
        copies[array] = build.let(Manifest(array, order), array.base)
    return (
        *build.statements,
        replace(statement, exp=traverse.substitute(statement.exp, copies)),
    )


@rule(paper=LECTURE)
def coalesce_by_transposition(statement: Stm, context: StatementContext) -> Outcome:
    """Transpose an operand so that accesses of neighbouring threads are coalesced.

    before:
        given (n: i64, m: i64, a: [n][m]f32)
        let y: [n]f32 = segmap grid (i < n) -> (f32) {
          return returns loop (t: f32 = 0f32) for j: i64 < m do {
            let x: f32 = a[i, j]
            return add_f32(t, x)
          }
        }
    after:
        like before, with
        given (n: i64, m: i64, a: [n][m]f32) => let b: [n][m]f32 = manifest((1, 0), a)
        a[i, j] => b[i, j]
    declines: does not save as many bytes as it costs
        like before, with
        [n][m]f32 => [m][n]f32
        a[i, j] => a[j, i]
    """
    facts = _facts(statement, context)
    if facts is None:
        return None
    first = facts.offers[0]
    best = facts.best(first.fastest, first.lanes)
    reads = []
    for array, dimension in best.wanted.items():
        last = len(facts.arrays[array][0].places) - 1
        transposed = facts.cost(array, best, dimension)
        transposed += GPU.transposition_cost(context.scope[array])
        if array in facts.reads and transposed < facts.cost(array, best, last):
            reads.append((array, dimension))
    if not reads:
        return Declined("a transposed operand does not save as many bytes as it costs")
    return transpose_operands(statement, reads, context)


def exchange_dimensions(
    statement: Stm, fastest: Name, context: StatementContext
) -> tuple[Stm, ...]:
    """The kernel with one variable innermost, and its results as views in the old
    order."""
    kernel = statement.exp_of(kernels.SegMap)
    space = kernel.space
    order = innermost(space.indices.index(fastest), len(space.indices))
    sizes = tuple(space.sizes[d] for d in order)
    moved = replace(
        kernel, space=kernels.SegSpace(tuple(space.indices[d] for d in order), sizes)
    )
    pattern = tuple(
        Param(context.names.like(p.name), types.array_of(type_, sizes))
        for p, type_ in zip(statement.pattern, kernel.types, strict=True)
    )
    build = context.builder(statement)
    build.append(replace(statement, pattern=pattern, exp=moved))
    for bound, made in zip(statement.pattern, pattern, strict=True):
        rank = len(types.shape_of(bound.type))
        back = (*map(order.index, range(len(order))), *range(len(order), rank))
        view = Stm((bound,), Rearrange(back, made.name), (), statement.location)
        build.append(view)
    return tuple(build.statements)


@rule(paper=REPORT)
def exchange_kernel_dimensions(statement: Stm, context: StatementContext) -> Outcome:
    """Make the variable innermost along which most bytes are coalesced.

    before:
        given (n: i64, m: i64, a: [m][n]f32, b: [m][n]f32)
        let y: [n][m]f32 = segmap grid (i < n, j < m) -> (f32) {
          let u: f32 = a[j, i]
          let v: f32 = b[j, i]
          return returns add_f32(u, v)
        }
    after:
        let z: [m][n]f32 = segmap grid (j < m, i < n) -> (f32) {
          let u: f32 = a[j, i]
          let v: f32 = b[j, i]
          return returns add_f32(u, v)
        }
        let y: [n][m]f32 = rearrange((1, 0), z)
    declines: is innermost already
        given (n: i64, m: i64, a: [n][m]f32)
        let y: [n][m]f32 = segmap grid (i < n, j < m) -> (f32) {returns a[i, j]}
    """
    facts = _facts(statement, context)
    if facts is None or not isinstance(statement.exp, kernels.SegMap):
        return None

    lanes = facts.offers[0].lanes

    def read(variable: Name) -> float:
        offer = Offer(variable, {}, lanes)
        return sum(
            facts.cost(array, offer, len(accesses[0].places) - 1)
            for array, accesses in facts.reads.items()
        )

    variables = list(dict.fromkeys(offer.fastest for offer in facts.offers))
    best = min(variables, key=read)
    if best == variables[0]:
        return Declined("the best variable is innermost already")
    return exchange_dimensions(statement, best, context)


def make_results(
    statement: Stm, orders: dict[Name, Order], context: StatementContext
) -> tuple[Stm, ...]:
    """The kernel, with manifests of results, which it then writes in these orders."""
    made = {name: context.names.like(name) for name in orders}
    pattern = tuple(
        replace(bound, name=made.get(bound.name, bound.name))
        for bound in statement.pattern
    )
    build = context.builder(statement)
    build.append(replace(statement, pattern=pattern))
    for bound in statement.pattern:
        if bound.name in orders:
            manifest = Manifest(made[bound.name], orders[bound.name])
            build.append(Stm((bound,), manifest, (), statement.location))
    return tuple(build.statements)


@rule(paper=LECTURE)
def make_result_in_layout(statement: Stm, context: StatementContext) -> Outcome:
    """Coalesce the writes of neighbouring threads, each of which makes a row.

    before:
        given (n: i64, m: i64)
        let y: [n][m]i64 = segmap grid (i < n) -> ([m]i64) {returns replicate([m], i)}
    after:
        let z: [n][m]i64 = segmap grid (i < n) -> ([m]i64) {returns replicate([m], i)}
        let y: [n][m]i64 = manifest((1, 0), z)
    declines: the writes are coalesced already
        given (n: i64, m: i64)
        let y: [n][m]i64 = segmap grid (i < n, j < m) -> (i64) {returns j}
    """
    facts = _facts(statement, context)
    if facts is None or not facts.writes:
        return None
    first = facts.offers[0]
    wanted = facts.best(first.fastest, first.lanes).wanted
    orders = {
        name: innermost(dimension, len(facts.writes[name][0].places))
        for name, dimension in wanted.items()
        if name in facts.writes
    }
    if not orders:
        return Declined("the writes are coalesced already")
    return make_results(statement, orders, context)


def _facts(statement: Stm, context: StatementContext) -> KernelFacts | None:
    kernel = statement.exp
    if not isinstance(kernel, KERNELS) or kernel.level != kernels.GRID:
        return None
    if not all(isinstance(r, kernels.Returns) for r in kernel.body.result):
        return None
    return KernelFacts.of(statement, dict(context.scope), GPU)
