"""Nests of parallel loops under the CPU schedule.

    for all i < n, j < m: body        work-groups of one work-item, each a contiguous
                                      chunk of the n * m points, in row-major order:

    at = chunk * get_global_id(0); stop = min(at + chunk, n * m)
    row = at / m; j0 = at % m
    while (at < stop) {
        end = min(m, j0 + stop - at)
        for (j = j0; j < end; j++) body       <- contiguous: the device vectorises it
        at += end - j0; j0 = 0; row++
    }

So the load is balanced and the inner loop long for any shape. The host chooses the
chunk size when it runs: several chunks per core for load balance, each large enough to
amortise the start of a work-group.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir.node import immutable, replace
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.ir.types import U64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.check_ranges import check_ranges_first, test_range
from minifut.kernel_passes.context import CodeContext, rewritten
from minifut.kernel_passes.editor import change_loops
from minifut.kernel_passes.hoist_invariants import hoist_invariants
from minifut.kernel_passes.split_rotations import split_by_positions
from minifut.kernel_passes.strip_mine import strip_mine_by_period
from minifut.kernel_passes.vectorise.context import WIDTHS
from minifut.lowering.positions import unravel
from minifut.lowering.segmap.streaming import BLOCK, stream_blocks
from minifut.lowering.threads.builder import KernelBuilder

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder

CHUNKS_PER_CORE = 8
EXPENSIVE_CHUNKS_PER_CORE = 32
"""where the costs of points may differ much"""
ALIKE_CHUNKS_PER_CORE = 4
"""where they do not, for points of several vectors at once"""
FULL = 64
"""points of several vectors at once (`vectorise.jam`)"""
JAMMED = 32
"""and those of AVX2"""
LARGEST_CHUNK, SMALLEST_CHUNK = 16384, 512
"""points, where a point is cheap"""
SHORT_ROW = 4
"""points that are computed together"""
CHECKED_BLOCK = 2048
"""points whose checks are tested before any of their work"""

Indices: TypeAlias = tuple[kc.Expression, ...]
VisitIndices: TypeAlias = Callable[..., None]
"""of a builder, the indices, and whether the last index alone has changed since the
code before, so that what does not depend on it is known"""


@immutable
class PointKind:
    """Whether the points of a loop are parallel, whether they are expensive, and how
    many there are in all where results may be too large for the caches."""

    parallel: bool
    expensive: bool
    total: Size | None = None


@immutable
class Phases:
    """`test` computes whether all checks of a point hold, `work` does without them;
    `suffices` what all points share, of which all has to be true for that, if any."""

    suffices: Callable[[KernelBuilder], list[kc.Expression]]
    test: Callable[..., kc.Expression]
    work: VisitIndices


@immutable
class Clamped:
    """`bounds` computes for a chunk whether checks can hold, and limits; `work` clamps
    the indices of a point, and gives the distances that must not exceed the limits."""

    bounds: Callable[[KernelBuilder], tuple[kc.Expression, list[kc.Expression]]]
    work: Callable[..., list[kc.Expression]]


@immutable
class CollectedPoints:
    """`emit` makes the loop over points with given outer indices, from the first to
    before the last."""

    emit: Callable[[KernelBuilder, Indices, kc.Expression, kc.Expression], None]


ChunkCode: TypeAlias = Phases | Clamped | CollectedPoints


def launch_nest(
    host: HostBuilder,
    base: str,
    shape: tuple[Size, ...],
    visit: VisitIndices,
    *,
    expensive: bool,
    parallel: bool,
    fresh: bool = False,
    phases: ChunkCode | None = None,
    alike: bool = False,
    in_columns: bool = False,
) -> None:
    """Launch a kernel that runs `visit` at each point; or the `phases`, and `visit`
    only where a check fails. `expensive`: points are expensive; `alike`: equally so;
    `parallel`: they are independent (no memory of the thread, no failures, no write
    conflicts); `fresh`: what is written is not read; `in_columns`: each writes a column
    of what it makes, so that two cores must not have parts of one cache line.
    """
    length = shape[-1].as_constant if len(shape) > 1 else None
    in_rows = (phases is None and parallel) or isinstance(phases, Phases | Clamped)
    if in_rows and not expensive and length and 1 < length <= SHORT_ROW:
        shape, visit = shape[:-1], partial(_visit_row, visit, length)
        phases = _phases_of_rows(phases, length)
    total = product(shape)
    if total.as_constant == 0:
        return
    known = total.as_constant
    if known is not None and known <= SMALLEST_CHUNK and not expensive:
        total_size, chunk = total, total
    else:
        total_size = host.let_size(total, "points")
        cores = host.cores()
        if expensive:
            # Fill the lanes, but not at the cost of an idle core.
            filled = Size.constant(WIDTHS[0])
            if alike:
                few = ceil_div(total_size, cores * ALIKE_CHUNKS_PER_CORE)
                filled = ceil_div(minimum(few, Size.constant(FULL)), JAMMED) * JAMMED
            least = maximum(ONE, minimum(filled, ceil_div(total_size, cores)))
            share = ceil_div(total_size, cores * EXPENSIVE_CHUNKS_PER_CORE)
            share = minimum(ceil_div(share, FULL) * FULL, share * 2)
        else:
            least = Size.constant(SMALLEST_CHUNK)
            share = ceil_div(total_size, cores * CHUNKS_PER_CORE * BLOCK) * BLOCK
        share = maximum(least, minimum(share, Size.constant(LARGEST_CHUNK)))
        if in_columns and expensive:
            filling = minimum(ONE, total_size // Size.constant(WIDTHS[0]))
            together = ONE + filling * (WIDTHS[0] - 1)
            share = ceil_div(share, together) * together
        chunk = host.let_size(share, "chunk")
    k = host.kernel(base)
    threads = ceil_div(total_size, chunk)
    thread = k.variable("thread", kc.LONG)
    k.prologue.append(kc.Declare(thread, k.identity("get_global_id")))
    many = known is None or known >= WIDTHS[-1]
    k.thread, k.has_lanes = (thread, threads), expensive and many
    k.repeatable = True
    start = k.declare("at", thread * k.size_value(chunk))
    limit = k.size_value(total_size)
    last = kc.Call("min", (start + k.size_value(chunk), limit), kc.LONG)
    stop = k.declare("stop", last)
    if len(shape) == 0:
        visit(k, ())
    elif len(shape) == 1:
        streams = fresh and not expensive and total.as_constant is None
        index = k.variable("i", kc.LONG)
        kind = PointKind(parallel, expensive, total_size if streams else None)
        ends: tuple[kc.Expression, kc.Expression] = (start, stop)
        if known == 1:
            ends = (kc.Literal(0, kc.LONG), kc.Literal(1, kc.LONG))
        points(k, index, *ends, (index,), visit, kind, phases)
    else:
        kind = PointKind(parallel, expensive)
        rows(k, shape, start, stop, visit, kind, phases)
    host.launch(k, threads, 1, fresh=fresh)


def _visit_row(visit: VisitIndices, length: int, k: KernelBuilder, at: Indices) -> None:
    """The points of a row as one point, since a loop over a few is too short for
    vectors: what they have in common is computed once. Rows of three colours whose
    values select from a table take half of the time, as vectors over pixels."""
    for number in range(length):
        visit(k, (*at, kc.Literal(number, kc.LONG)), number > 0)


def _phases_of_rows(phases: ChunkCode | None, length: int) -> ChunkCode | None:
    """The same for what is done in phases."""
    columns = [(kc.Literal(number, kc.LONG), number > 0) for number in range(length)]

    def test(code: Phases, k: KernelBuilder, at: Indices) -> kc.Expression:
        fine = [code.test(k, (*at, column), again) for column, again in columns]
        return kc.all_of(list(dict.fromkeys(fine)))

    def work(code: Clamped, k: KernelBuilder, at: Indices) -> list[kc.Expression]:
        distances = [code.work(k, (*at, column), again) for column, again in columns]
        return [reduce(_larger, of_limit) for of_limit in zip(*distances, strict=True)]

    match phases:
        case Phases():
            each = partial(_visit_row, phases.work, length)
            return Phases(phases.suffices, partial(test, phases), each)
        case Clamped():
            return Clamped(phases.bounds, partial(work, phases))
    return phases


def _larger(one: kc.Expression, other: kc.Expression) -> kc.Expression:
    return kc.Call("max", (one, other), one.type)


def rows(
    k: KernelBuilder,
    shape: tuple[Size, ...],
    at: kc.Variable,
    stop: kc.Variable,
    visit: VisitIndices,
    kind: PointKind,
    phases: ChunkCode | None,
) -> None:
    """The points from `at` up to `stop`, row by row."""
    width = k.named(k.size_value(shape[-1]), "width")
    row = k.declare("row", kc.Literal(0, kc.LONG))
    first = k.declare("first", kc.Literal(0, kc.LONG))
    with k.branch(at < stop):
        k.assign(row, at // width)
        k.assign(first, at - row * width)
    with k.while_loop(at < stop):
        end = k.declare("end", kc.Call("min", (width, first + stop - at), kc.LONG))
        outer = unravel(k, row, shape[:-1])
        index = k.variable("j", kc.LONG)
        at_point = (*outer, index)
        points(k, index, first, end, at_point, visit, kind, phases)
        k.assign(at, at + (end - first))
        k.assign(first, 0)
        k.assign(row, row + 1)


def points(
    k: KernelBuilder,
    index: kc.Variable,
    start: kc.Expression,
    stop: kc.Expression,
    at: Indices,
    visit: VisitIndices,
    kind: PointKind,
    phases: ChunkCode | None = None,
) -> None:
    """The points of a chunk: the interior of a stencil apart from its border, if none
    of its points can fail; else in phases, if their checks can be tested first, by
    blocks whose inputs are in the cache when they are read again."""
    if isinstance(phases, CollectedPoints):
        phases.emit(k, at[:-1], start, stop)
        return
    with k.nested() as body:
        visit(k, at)
    block = kc.Block(tuple(body))
    one = kc.Literal(1, kc.LONG)
    loop = hoisted(
        k, kc.For(index, start, stop, one, block, kind.parallel, True, kind.expensive)
    )
    checked = rewritten(check_ranges_first, loop, CodeContext(k))
    if checked is not None:
        (choice,) = checked
        assert isinstance(choice, kc.Branch)
        (unchecked,) = choice.then.statements
        assert isinstance(unchecked, kc.For)
        with k.branch(choice.condition):
            for statement in split_points(k, unchecked) or (unchecked,):
                k.emit(streamed(k, statement, kind))
        with k.otherwise():
            k.emit(loop)
        return
    pieces = split_points(k, loop, whole=phases is not None)
    if phases is None or pieces is not None:
        for statement in pieces or (loop,):
            k.emit(streamed(k, statement, kind))
        return
    if isinstance(phases, Clamped):
        clamped_first(k, loop, at, phases)
        return
    at_block = k.declare("block", start)
    with k.while_loop(at_block < stop):
        limit = at_block + kc.Literal(CHECKED_BLOCK, kc.LONG)
        end = k.declare("end", kc.Call("min", (limit, stop), kc.LONG))
        fine = k.declare("fine", kc.Literal(1, kc.INT))
        with k.nested() as tests:
            holds = kc.Cast(phases.test(k, at), kc.INT)
            k.assign(fine, kc.Binary("&", fine, holds, kc.INT))
        test = kc.For(index, at_block, end, one, kc.Block(tuple(tests)), True, True)
        with k.unless(phases.suffices(k)):
            for statement in tested(k, test):
                k.emit(statement)
        again = k.variable(index.name.base, kc.LONG)
        with k.branch(kc.Binary("!=", fine, kc.Literal(0, kc.INT), kc.TRUTH)):
            there, kind = (*at[:-1], again), PointKind(True, kind.expensive)
            points(k, again, at_block, end, there, phases.work, kind)
        with k.otherwise():
            k.emit(replace(loop, start=at_block, bound=end))
        k.assign(at_block, end)


def tested(k: KernelBuilder, loop: kc.For) -> tuple[kc.Statement, ...]:
    """A loop that tests the checks of a block, by a test of the block if that is
    enough."""
    made = test_range(loop, CodeContext(k)) or (loop,)
    return change_loops(made, lambda at: split_points(k, at) if at.points else None)


def clamped_first(
    k: KernelBuilder, checked: kc.For, at: Indices, clamped: Clamped
) -> None:
    """The points of a chunk with clamped indices, and once more with all checks if an
    index was outside."""
    possible, limits = clamped.bounds(k)
    unsigned = kc.VectorType(U64)
    most = [k.declare("most", kc.Literal(0, unsigned)) for _ in limits]
    index = k.variable(checked.variable.name.base, kc.LONG)
    with k.nested() as body:
        distances = clamped.work(k, (*at[:-1], index))
        for largest, distance in zip(most, distances, strict=True):
            k.assign(largest, kc.Call("max", (largest, distance), unsigned))
    end = kc.Select(possible, checked.bound, checked.start, kc.LONG)
    one = checked.step
    k.emit(kc.For(index, checked.start, end, one, kc.Block(tuple(body)), True, True))
    pairs = zip(most, limits, strict=True)
    inside = (kc.Binary("<=", *pair, kc.TRUTH) for pair in pairs)
    fine = kc.all_of((possible, *inside))
    with k.branch(kc.Call("!", (fine,), kc.TRUTH)):
        k.emit(checked)


def hoisted(k: KernelBuilder, loop: kc.For) -> kc.For:
    """The loop, which has points, without loads that are the same for all of them."""
    *loads, rest = rewritten(hoist_invariants, loop, CodeContext(k)) or (loop,)
    for load in loads:
        k.emit(load)
    assert isinstance(rest, kc.For)
    return rest


def split_points(
    k: KernelBuilder, loop: kc.For, *, whole: bool = False
) -> tuple[kc.Statement, ...] | None:
    """The loop in blocks of a period, if it is not to be left `whole`, and without
    branches on the position; None if it stays as it is."""
    context = CodeContext(k)

    def split(inner: kc.For) -> tuple[kc.Statement, ...] | None:
        if not inner.points and inner is not loop:
            return None
        return split_by_positions(inner, context)

    blocks = None if whole else rewritten(strip_mine_by_period, loop, context)
    return split(loop) if blocks is None else change_loops(blocks, split)


def streamed(
    k: KernelBuilder, statement: kc.Statement, kind: PointKind
) -> kc.Statement:
    """The statement, or what is left to do after blocks with non-temporal stores."""
    total = kind.total
    if total is None or not isinstance(statement, kc.For) or not statement.points:
        return statement
    return stream_blocks(k, total, statement) if statement.parallel else statement
