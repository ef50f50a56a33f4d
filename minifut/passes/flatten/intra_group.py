r"""Intra-group versions: the points of a map are work-groups, what is parallel inside
is shared out among the group's threads and kept in local memory.

    nest (i < n) { map (\xs -> let bs = scan f xs in scan g bs) xss }
    →  segmap group (i < n, j < m) { let bs = segscan thread (k < q) {f} xs[k]
                                     segscan thread (k < q) {g} bs[k] }

The body becomes group code: its statements stay in order, uniform over the group, with
loops and branches of any kind, and each SOAC in it is flattened in full for the level
of threads. Conditions: something inside is parallel, and the sizes of all arrays of the
group are known outside, so that the host can say whether they fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as replace_context

from minifut.ir import accumulators, core, kernels, scalars, search, soacs
from minifut.ir.builder import Builder
from minifut.ir.core import Exp, Stm
from minifut.ir.host_bodies import host_statements
from minifut.ir.kernels import THREAD
from minifut.ir.node import immutable, replace
from minifut.ir.sizes import Size, maximum, product
from minifut.ir.types import I64, Type, element_of, shape_of
from minifut.names import Name
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.exploitable import any_exploitable
from minifut.passes.flatten.judgement import PPOPP, Answer
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import EMITTED, Declined, rule

SEQUENTIAL = Declined("it is sequential by its attribute")

VIEWS = (core.Copy, core.Index, core.Opaque, core.Rearrange, core.Reshape)
MAKERS = (
    core.Concat,
    core.Iota,
    core.Manifest,
    core.Replicate,
    core.Scratch,
    core.Update,
)
SEGMENTED = (kernels.SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


@rule(soacs.Screma, label="G for l + 1", paper=PPOPP)
def run_map_in_groups(judgement: Judgement, context: NestContext) -> Answer:
    r"""Each point of the nest and the map is a work-group that runs the map's body.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let yss: [n][m]i32 = map(n, (xss), \(xs: [m]i32) -> ([m]i32) {
          let sum: i32 = redomap(m, (xs),
            reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          return map(m, (xs), \(z: i32) -> (i32) {mul_i32(z, sum)})
        })
    after:
        let yss: [n][m]i32 = segmap group (i < n) -> ([m]i32) {
          let xs: [m]i32 = xss[i]
          let sum: i32 = redomap(m, (xs),
            reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          return returns map(m, (xs), \(z: i32) -> (i32) {mul_i32(z, sum)})
        }
    declines: nothing inside is parallel
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(soacs.Screma)
    if not exp.is_map:
        return None
    if context.level == THREAD:
        return Declined("groups hold no groups")
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    if accumulators.updates_accumulators(exp):
        return Declined("it updates accumulators, which lie in global memory")
    if search.contains(exp.function, accumulators.WithAcc):
        return Declined("its threads would share an accumulator of the group")
    whole, body = nest.over(context.fresh_index("i"), exp)
    if not any_exploitable(body.statements, whole.bound):
        return Declined("nothing inside is parallel with one size at all points")
    code = context.code(_inside(context, whole), body.statements)
    if _local_bytes(code, whole.bound) is None:
        return Declined("sizes of arrays of the group differ between groups")
    group = returns((*whole.statements, *code), body.result)
    context.emit(
        pattern, kernels.SegMap(kernels.GROUP, whole.space, group, exp.function.results)
    )
    return EMITTED


def _inside(context: NestContext, nest: Nest) -> NestContext:
    """The place of group code."""
    known = dict(context.definitions)
    for statement in nest.statements:
        if len(statement.pattern) == 1:
            known[statement.pattern[0].name] = statement.exp
    return replace_context(context, level=THREAD, definitions=known)


def with_own_destinations(
    build: Builder, definitions: Mapping[Name, Exp], statement: Stm
) -> Stm:
    """A scatter or histogram of group code writes to arrays of the group: copies, made
    by all threads together, of what may occur outside."""

    def own(array: Name) -> Name:
        if isinstance(definitions.get(array), MAKERS):
            return array
        order = tuple(range(len(build.shape(array))))
        return build.let(core.Manifest(array, order), array.base)

    match statement.exp:
        case soacs.Scatter() as exp:
            copies = tuple(replace(d, array=own(d.array)) for d in exp.destinations)
            return replace(statement, exp=replace(exp, destinations=copies))
        case soacs.Hist() as exp:
            operators = tuple(
                replace(op, destinations=tuple(own(array) for array in op.destinations))
                for op in exp.operators
            )
            return replace(statement, exp=replace(exp, operators=operators))
    return statement


# --- what a group needs -----------------------------------------------------------


@immutable
class GroupRequirements:
    """`parallelism` is the number of points of the largest operation of the threads,
    `local_bytes` the bytes that all arrays of the group take, `thread_bytes` what each
    thread takes besides."""

    parallelism: Size
    local_bytes: Size
    thread_bytes: int


def requirements_of(kernel: kernels.SegMap) -> GroupRequirements | None:
    """What a kernel of groups needs; None if the host does not know it."""
    statements = kernel.body.statements
    bound = frozenset(kernel.space.indices)
    used = _local_bytes(statements, bound)
    inner = _bound_inside(statements) | bound
    points = [
        product(exp.space.sizes)
        for statement in host_statements(statements)
        if isinstance(exp := statement.exp, SEGMENTED)
    ]
    known = [size for size in points if inner.isdisjoint(size.names())]
    if used is None or not known:
        return None
    return GroupRequirements(maximum(*known), used, _thread_bytes(statements))


def fits(build: Builder, needs: GroupRequirements) -> Name:
    """The host's check of whether the arrays of a group fit into local memory."""
    limit = build.let(kernels.GetParameter(kernels.LOCAL_MEMORY), "limit")
    used = needs.local_bytes
    if needs.thread_bytes:
        threads = build.let(kernels.GetParameter(kernels.GROUP_SIZE), "threads")
        used = used + needs.thread_bytes * Size.of(threads)
    total = build.size_atom(used, "local_bytes")
    return build.let(core.ScalarOp(scalars.operator("le", I64), (total, limit)), "fits")


def _local_bytes(statements: tuple[Stm, ...], bound: frozenset[Name]) -> Size | None:
    """The bytes of all arrays that the statements make, each counted once; None if the
    host does not know them."""
    total = Size.constant(0)
    for statement in host_statements(statements):
        total = total + _made(statement)
    inner = _bound_inside(statements) | bound
    return total if inner.isdisjoint(total.names()) else None


def _bound_inside(statements: tuple[Stm, ...]) -> frozenset[Name]:
    """The names of group code: none of them is known on the host."""
    found: set[Name] = set()
    for statement in host_statements(statements):
        found.update(p.name for p in statement.pattern)
        if isinstance(statement.exp, core.Loop):
            found.update(p.name for p in statement.exp.parameters)
            if isinstance(statement.exp.form, core.ForLoop):
                found.add(statement.exp.form.index)
    return frozenset(found)


def _made(statement: Stm) -> Size:
    exp = statement.exp
    if isinstance(exp, VIEWS):
        return Size.constant(0)
    return sum((_bytes(p.type) for p in statement.pattern), Size.constant(0))


def _thread_bytes(statements: tuple[Stm, ...]) -> int:
    """The bytes of the partial results of reductions and scans: a scalar for each
    thread, two for scans (operators on arrays are the work of a single one)."""
    return sum(
        element_of(type_).bytes * (1 + isinstance(statement.exp, kernels.SegScan))
        for statement in host_statements(statements)
        if isinstance(statement.exp, kernels.SegRed | kernels.SegScan)
        for op in statement.exp.operators
        for type_ in op.operator.results
        if not shape_of(type_)
    )


def _bytes(type_: Type) -> Size:
    if not shape_of(type_):
        return Size.constant(0)
    width = Size.constant(element_of(type_).bytes)
    return product(shape_of(type_)) * width
