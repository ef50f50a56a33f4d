"""`SegMap` at the level of the grid: a nest of parallel loops that writes results.

    segmap grid (i < n, j < m) {.. return {returns x}}     out[i, j] = x
                        {writes a [n] with [k] = x}        if (0 <= k < n) a[k] = x

Arrays that a point makes are built in the memory of the result where possible
(destination passing).
"""

from __future__ import annotations

from typing import Any

from minifut.analysis.simple_points import cost_the_same, is_simple
from minifut.ir import core, kernels, search, types
from minifut.ir.core import Param, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import free_names
from minifut.kernel_ir import nodes as kc
from minifut.lowering.accumulators.common import combined_directly
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.host.slices import destination
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap.block_steps import lower_block_steps
from minifut.lowering.segmap.chunk_checks import ChunkChecks, test_chunks_first
from minifut.lowering.segmap.clamped_indices import ClampedIndices, clamp_indices
from minifut.lowering.segmap.collected_writes import collect_writes, collected
from minifut.lowering.segmap.cpu import ChunkCode, Clamped, Indices, Phases
from minifut.lowering.segmap.time_steps import lower_steps
from minifut.lowering.segmap.writes import write_if_inside
from minifut.lowering.threads.arena import release_after
from minifut.lowering.threads.builder import KernelBuilder, NotInKernel
from minifut.names import Name
from minifut.rewrite.rule import Declined, decision


def lower(
    host: HostBuilder, pattern: tuple[Param, ...], operation: kernels.SegMap
) -> None:
    """Allocate the results and launch one kernel."""
    from minifut.lowering.dispatch import (
        LAUNCH_NEST,
        LOWER_AFTER_SCAN,
        LOWER_PRIVATE_COPIES,
    )

    if operation.scan is not None:
        LOWER_AFTER_SCAN(host, pattern, operation, operation.scan)
        return
    roots = combined_directly(host, operation)
    if roots:
        LOWER_PRIVATE_COPIES(host, pattern, operation, roots)
        return
    body, space = operation.body, operation.space
    outputs = outputs_of(host, pattern, operation)
    if operation.steps is not None:

        def visit_step(
            k: KernelBuilder,
            body: kernels.KernelBody,
            made: list[Array],
            at: tuple[kc.Expression, ...],
        ) -> None:
            k.bind_indices(space.indices, at)
            run_points(k, body, made, at)

        base, steps = pattern[0].name.base, operation.steps
        if isinstance(steps, kernels.TimeSteps):
            lower_steps(host, base, operation, steps, outputs[0], visit_step)
        else:
            lower_block_steps(host, base, operation, steps, outputs, visit_step)
        host.bind_all(pattern, outputs)
        return
    simple = is_simple(operation)

    def visit(k: KernelBuilder, at: Indices, again: bool = False) -> None:
        k.bind_indices(space.indices, at)
        run_points(k, in_row(body, space.indices[-1], again), outputs, at)

    options: dict[str, Any] = {}
    if host.schedule == "cpu":
        options["phases"] = phases_of(host, operation, outputs)
        options["alike"] = cost_the_same(operation)
        last = len(space.sizes) - 1
        options["in_columns"] = any(
            made.rank > last + 1 and made.strides[last] == ONE for made in outputs
        )
    LAUNCH_NEST[host.schedule](
        host,
        pattern[0].name.base if pattern else "check",
        host.sizes(space.sizes),
        visit,
        expensive=search.contains(body, core.Loop | core.Apply),
        parallel=simple,
        fresh=True,
        **options,
    )
    host.bind_all(pattern, outputs)


def phases_of(
    host: HostBuilder, operation: kernels.SegMap, outputs: list[Array]
) -> ChunkCode | None:
    """What does the work of points in several loops: without checks, which are tested
    after or before, or writes after the rest; None if that is done point by point."""
    writes = collect_writes(operation, host)
    if isinstance(writes, tuple):
        return collected(operation, outputs, writes)
    indices = operation.space.indices
    read = {a.memory for n in free_names(operation.body) if (a := _array(host, n))}
    fresh = read.isdisjoint(output.memory for output in outputs)
    chosen = test_chunks_first(operation, host)
    if not (isinstance(chosen, ChunkChecks) and chosen.is_cheap):
        clamping = clamp_indices(operation, host) if fresh else None
        if isinstance(clamping, ClampedIndices):
            return clamped_of(clamping, indices, outputs)
    if not isinstance(chosen, ChunkChecks):
        return None

    def test(k: KernelBuilder, at: Indices, again: bool = False) -> kc.Expression:
        k.bind_indices(indices, at)
        statements = chosen.statements
        if again:
            statements = depending_on(indices[-1], statements)
        k.statements_of(statements)
        return k.scalar(chosen.condition)

    def work(k: KernelBuilder, at: Indices, again: bool = False) -> None:
        k.bind_indices(indices, at)
        body = in_row(chosen.unchecked.body, indices[-1], again)
        run_points(k, body, outputs, at)

    def suffices(k: KernelBuilder) -> list[kc.Expression]:
        return [k.scalar(atom) for atom in chosen.sufficient]

    return Phases(suffices, test, work)


def in_row(body: kernels.KernelBody, index: Name, again: bool) -> kernels.KernelBody:
    """A body, or what of it depends on the last index alone that changed."""
    if not again:
        return body
    return replace(body, statements=depending_on(index, body.statements))


def depending_on(index: Name, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
    """The statements that need an index, by what others of them compute as well."""
    names, found = {index}, []
    for statement in statements:
        if not names.isdisjoint(free_names(statement.exp)):
            names.update(p.name for p in statement.pattern)
            found.append(statement)
    return tuple(found)


def _array(host: HostBuilder, name: Name) -> Array | None:
    found = host.values.get(name)
    return found if isinstance(found, Array) else None


def clamped_of(
    chosen: ClampedIndices, indices: tuple[Name, ...], outputs: list[Array]
) -> Clamped:
    """The bounds of a chunk, and the work of a point whose indices are clamped."""

    def bounds(k: KernelBuilder) -> tuple[kc.Expression, list[kc.Expression]]:
        k.statements_of(chosen.bounds)
        limits = [k.scalar(limit) for _, limit in chosen.distances]
        return k.scalar(chosen.possible), limits

    def work(k: KernelBuilder, at: Indices, again: bool = False) -> list[kc.Expression]:
        k.bind_indices(indices, at)
        body = in_row(chosen.body, indices[-1], again)
        finish_point(k, body, outputs, tuple(k.as_size(i) for i in at))
        return [k.scalar(distance) for distance, _ in chosen.distances]

    return Clamped(bounds, work)


def outputs_of(
    host: HostBuilder,
    pattern: tuple[Param, ...],
    operation: kernels.SegMap,
    overwrites: bool = False,
) -> list[Array]:
    """The memory of all results; `overwrites`: all of what is written to is."""
    return [
        output_of(host, bound, result, operation.space, overwrites)
        for bound, result in zip(pattern, operation.body.result, strict=True)
    ]


def output_of(
    host: HostBuilder,
    bound: Param,
    result: kernels.KernelResult,
    space: kernels.SegSpace,
    overwrites: bool = False,
) -> Array:
    """The memory of a result."""
    match result:
        case kernels.Returns():
            sizes = set(space.indices)
            shape = types.shape_of(bound.type)
            if any(size.names() & sizes for size in shape):
                raise NotInKernel("rows of different sizes")
            if (made_there := destination(host, bound)) is not None:
                return made_there
            element = bound.type
            assert isinstance(element, types.ArrayType)
            last_read = overwrite_last_use(bound, host)
            if isinstance(last_read, Array):
                return last_read
            return host.allocate_result(bound, element.element, host.shape(element))
        case kernels.WriteReturns(array, _, _):
            target = host.array(array)
            if bound.name in host.facts.in_place.updates:
                return target
            if overwrites:
                return host.allocate_result(bound, target.memory.element, target.shape)
            return host.copied(target)
        case kernels.TotalReturns():
            return host.allocate(types.element_of(bound.type), (), bound.name.base)
    raise NotInKernel(f"{type(result).__name__} at the level of the grid")


@decision(paper="Memory optimizations in an array language (SC'22)")
def overwrite_last_use(bound: Param, host: HostBuilder) -> Array | Declined | None:
    """Write a result over an array of which each point reads only the element that it
    replaces, and which nothing needs afterwards.

    before:
        given (n: i64)
        let xs: [n]i64 = segmap grid (i < n) -> (i64) {returns size(i + 3)}
        let ys: [n]i64 = segmap grid (j < n) -> (i64) {
          let a: i64 = xs[j]
          let b: i64 = mul_i64(a, a)
          return returns b
        }
    after:
                    long a = xs[i];
        ..
                    xs[i] = b;
    declines: it does not lie in memory as the result does
        like before, with
        xs: [n]i64 = segmap grid (i < n) => xs: [n + 1]i64 = segmap grid (i < n + 1)
        let ys => let rest: [n]i64 = xs[1i64 :+ n by 1i64] let ys
        a: i64 = xs[j] => a: i64 = rest[j]
    """
    array = host.facts.in_place.overwritten.get(bound.name)
    if array is None:
        return None
    found = host.array(array)
    if bound.name in host.facts.layouts.made or not found.is_whole:
        return Declined("it does not lie in memory as the result does")
    return found


def run_points(
    k: KernelBuilder,
    body: kernels.KernelBody,
    outputs: list[Array],
    at: tuple[kc.Expression, ...],
) -> None:
    """The body at one point, and the stores of its results."""
    indices = tuple(k.as_size(index) for index in at)
    rows: list[tuple[core.Atom, Array]] = []
    for result, output in zip(body.result, outputs, strict=True):
        if isinstance(result, kernels.Returns) and output.rank > len(at):
            rows.append((result.value, output.row(indices)))
    k.pass_destinations(body, tuple(rows))
    with k.nested() as point:
        finish_point(k, body, outputs, indices)
    release_after(k, point)


def finish_point(
    k: KernelBuilder,
    body: kernels.KernelBody,
    outputs: list[Array],
    indices: tuple[Size, ...],
) -> None:
    """The statements of a point, then the stores of its results."""
    k.statements_of(body.statements)
    for result, output in zip(body.result, outputs, strict=True):
        match result:
            case kernels.Returns(value):
                k.write(output, indices, k.atom(value))
            case kernels.WriteReturns(_, _, writes):
                for where, value in writes:
                    write_if_inside(k, output, where, value)
