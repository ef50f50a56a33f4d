"""`SegMap` at the level of groups under the GPU schedule: a work-group per point.

    segmap group (gi < g, gj < h) {.. return regtile acc of (n by ty by ry, ..)}

A group has as many work-items as the space whose arrays are in registers, else as many
as its largest space of threads can use, up to a tuning parameter. Its code is lowered
by `groups.gpu_code`, with `groups.gpu_builder`; here are its size and its results:

    returns x       a scalar by one thread, an array by all threads
    tile, regtile   each thread writes its elements, within the bounds of the total, and
                    pieces of an interleaved tile as vectors
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from minifut.analysis.residency.distributed import RegisterArrays, register_arrays
from minifut.ir import kernels
from minifut.ir.core import Param
from minifut.ir.kernels import GROUP_SIZE, SegMap
from minifut.ir.sizes import ONE, Size, maximum, product
from minifut.ir.traverse import bound_names, walk
from minifut.kernel_ir import nodes as kc
from minifut.lowering.groups import results
from minifut.lowering.groups.gpu_builder import GroupBuilder
from minifut.lowering.groups.gpu_copy_layout import innermost_dimensions
from minifut.lowering.groups.gpu_interleave import interleave, interleaved_position
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.positions import unravel
from minifut.lowering.threads.builder import LoweredValue
from minifut.lowering.threads.register_tiles import RegisterTile, each_register


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegMap) -> None:
    """Allocate the results, check that groups fit, and launch one kernel."""
    body, space = operation.body, operation.space

    def known_when_built(sizes: tuple[Size, ...]) -> bool:
        names = {name for size in sizes for name in host.size(size).names()}
        return host.build.parameters.keys() >= names

    registers = register_arrays(body, known_when_built)
    interleaved = interleave(operation, registers)
    body = interleaved.operation.body
    group, most = _group_size(host, operation, registers)
    outputs = [
        results.output_of(host, bound, result, space)
        for bound, result in zip(pattern, body.result, strict=True)
    ]
    sizes = host.sizes(space.sizes)
    groups = host.let_size(product(sizes), "groups")
    base = pattern[0].name.base if pattern else "check"
    k = GroupBuilder(host, f"{base}_groups", group, registers)
    k.keep_constants(most)
    k.innermost = innermost_dimensions(body)
    k.thread = (k.declare("thread", k.identity("get_global_id")), groups * group)
    number = k.declare("group", k.identity("get_group_id"))
    at = tuple(k.as_size(index) for index in unravel(k, number, sizes))
    k.bind_all(space.indices, map(k.size_value, at))
    rows = [
        (result.value, output.row(at))
        for result, output in zip(body.result, outputs, strict=True)
        if isinstance(result, kernels.Returns) and output.rank > len(at)
    ]
    k.pass_destinations(body, tuple(rows))
    k.statements_of(body.statements)
    for result, output in zip(body.result, outputs, strict=True):
        results.write_result(
            k, result, output, at, partial(_write_tile, interleaved.width)
        )
    host.launch(k, groups * group, group, fresh=True)
    host.bind_all(pattern, outputs)


def _group_size(
    host: HostBuilder, operation: SegMap, registers: RegisterArrays
) -> tuple[Size, Size]:
    """The size, and what it is at most."""
    if registers.group is not None:
        size = host.size(registers.group)
        return size, size
    wanted: list[Size] = [ONE]
    bound = {*operation.space.indices, *bound_names(operation.body)}
    most = host.parameter(GROUP_SIZE)
    for node in walk(operation.body):
        if isinstance(node, _THREADED) and node.level == kernels.THREAD:
            size = product(node.space.sizes)
            known = size.names().isdisjoint(bound)
            wanted.append(host.size(size) if known else most)
        elif isinstance(node, kernels.CollectiveCopy):
            wanted.append(most)
    chosen = kc.GroupSize(maximum(*wanted), most)
    return Size.of(host.scalar(chosen, kc.LONG.scalar, "group")), most


_THREADED = (SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


# --- results ------------------------------------------------------------------------


def _write_tile(
    width: int,
    k: GroupBuilder,
    output: Array,
    tile: LoweredValue,
    extents: Sequence[results.TileExtent],
) -> None:
    if isinstance(tile, RegisterTile):
        _write_registers(k, output, tile, extents, width)
        return
    assert isinstance(tile, Array)
    rank = sum(not extent.is_single for extent in extents)

    def visit(where: tuple[Size, ...]) -> None:
        places = results.element_places(extents, where[:rank], where[rank:])
        with k.branch(_inside(k, places, extents)):
            k.write(output, places, k.read(tile, where))

    k.each(tile.shape, visit)


def _write_registers(
    k: GroupBuilder,
    output: Array,
    tile: RegisterTile,
    extents: Sequence[results.TileExtent],
    width: int,
) -> None:
    """Each thread writes its registers. A full tile is tested once; a partial tile has
    a guard at each element."""
    places_of = partial(_interleaved_places, width) if width else results.element_places

    with k.thread_region():
        threads = [k.as_size(index) for index in unravel(k, k.local, tile.outer)]
        if not extents:
            with each_register(k, tile.counts) as at, k.scope():
                places = (*threads, *map(Size.of, at))
                k.write(output, places, tile.at(at))
            return
        ends = [s.start + s.block * s.register - 1 for s in extents]
        full = k.declare("full", _inside(k, ends, extents))
        if width and _is_contiguous(output, extents):
            aligned = _is_aligned(k, output, tile.counts[-1], width)
            with k.branch(kc.all_of((full, aligned))):
                _write_vectors(
                    k, output, tile, partial(places_of, extents, threads), width
                )
            with k.otherwise():
                _write_guarded(k, output, tile, extents, places_of, threads)
            return
        with k.branch(full), each_register(k, tile.counts) as at, k.scope():
            places = places_of(extents, threads, [*map(Size.of, at)])
            k.write(output, places, tile.at(at))
        with k.otherwise():
            _write_guarded(k, output, tile, extents, places_of, threads)


PositionsOf = Callable[..., tuple[Size, ...]]
"""the indices of an element, from extents, threads and registers"""


def _write_guarded(
    k: GroupBuilder,
    output: Array,
    tile: RegisterTile,
    extents: Sequence[results.TileExtent],
    places_of: PositionsOf,
    threads: Sequence[Size],
) -> None:
    """The elements of a tile that may not be full."""
    with each_register(k, tile.counts) as at, k.scope():
        places = places_of(extents, threads, [*map(Size.of, at)])
        with k.branch(_inside(k, places, extents)):
            k.write(output, places, tile.at(at))


def _is_contiguous(output: Array, extents: Sequence[results.TileExtent]) -> bool:
    """Whether pieces of an interleaved tile are vectors of the result in memory."""
    element = output.memory.element
    contiguous = output.strides[-1] == ONE and not extents[-1].is_single
    return contiguous and element.name not in ("bool", "f16")


def _write_vectors(
    k: GroupBuilder,
    output: Array,
    tile: RegisterTile,
    places_of: Callable[[Sequence[Size]], tuple[Size, ...]],
    width: int,
) -> None:
    """A full tile, piece by piece: neighbouring threads write neighbouring vectors."""
    counts = (*tile.counts[:-1], tile.counts[-1] // width)
    type_ = kc.VectorType(tile.type.scalar, width)
    k.use(output.memory, written=True)
    with each_register(k, counts) as (*rows, piece), k.scope():
        outer, column = [*map(Size.of, rows)], Size.of(piece) * width
        lanes = [tile.at((*outer, column + lane)) for lane in range(width)]
        place = output.position(places_of((*outer, column)))
        vector = kc.Vector(tuple(lanes), type_)
        k.emit(kc.Store(output.memory, k.size_value(place), vector, aligned=True))


def _is_aligned(
    k: GroupBuilder, output: Array, columns: Size, width: int
) -> kc.Expression:
    """Whether pieces are aligned in the result: all that its position is a sum of is a
    multiple of their width."""
    return kc.all_of(
        (k.size_value(part) % width).equals(0)
        for part in dict.fromkeys((columns, output.offset, *output.strides[:-1]))
        if part.as_constant is None or part.as_constant % width
    )


def _interleaved_places(
    width: int,
    extents: Sequence[results.TileExtent],
    threads: Sequence[Size],
    registers: Sequence[Size],
) -> tuple[Size, ...]:
    """The indices in the result of an element of an interleaved tile."""
    indices = iter(zip(threads, registers, strict=True))
    return tuple(
        extent.start
        if extent.is_single
        else extent.start
        + interleaved_position(*next(indices), extent.block, extent.register, width)
        for extent in extents
    )


def _inside(
    k: GroupBuilder, places: Sequence[Size], extents: Sequence[results.TileExtent]
) -> kc.Expression:
    return kc.all_of(
        k.size_value(index) < k.size_value(extent.total)
        for index, extent in zip(places, extents, strict=True)
        if not extent.is_single
    )
