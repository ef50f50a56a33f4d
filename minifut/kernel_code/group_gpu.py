"""`SegMap` at the level of groups under the GPU schedule: a work-group per point.

    segmap group (gi < g, gj < h) {.. return regtile acc of (n by ty by ry, ..)}

A group has as many work-items as the space whose arrays lie in registers, else as many
as help its largest space of threads, up to a tuning parameter. What it does is in
`group_code`, with `group_builder`; here are its size, its local memory, which is
checked before the launch, and its results:

    returns x       a scalar by one thread, an array by all together
    tile, regtile   all threads what they have of it, where that lies inside the total
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minifut.ir import kernels
from minifut.ir.core import Param
from minifut.ir.kernels import Parameter, SegMap
from minifut.ir.sizes import ONE, Size, maximum, product
from minifut.ir.traverse import bound_names, walk
from minifut.ir.types import ArrayType
from minifut.kernel_code import nodes as kc
from minifut.kernel_code import segmap
from minifut.kernel_code.group_builder import GroupBuilder
from minifut.kernel_code.group_registers import InRegisters, in_registers
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.nest_cpu import unravel
from minifut.kernel_code.register_tiles import Tile, each_register

if TYPE_CHECKING:
    from minifut.kernel_code.lower_host import HostBuilder

GROUP_SIZE = Parameter(
    "gpu.intra_group_size", "num_threads", (("cpu", 256), ("gpu", 256)), (1, 4096)
)
STATIC_BYTES = 16
"""local memory that a kernel has besides its arrays: the cell for failures"""


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegMap) -> None:
    """Allocate the results, check that groups fit, and launch one kernel."""
    body, space = operation.body, operation.space

    def known_when_built(sizes: tuple[Size, ...]) -> bool:
        names = {name for size in sizes for name in host.size(size).names()}
        return host.build_constants.keys() >= names

    registers = in_registers(body, known_when_built)
    group = _group_size(host, operation, registers)
    outputs = [
        output_of(host, bound, result, space)
        for bound, result in zip(pattern, body.result, strict=True)
    ]
    sizes = host.sizes(space.sizes)
    groups = host.let_size(product(sizes), "groups")
    base = pattern[0].name.base if pattern else "check"
    k = GroupBuilder(host, f"{base}_groups", group, registers)
    k.thread = (k.declare("thread", k.identity("get_global_id")), groups * group)
    number = k.declare("group", k.identity("get_group_id"))
    at = tuple(k.as_size(index) for index in unravel(k, number, sizes))
    for name, index in zip(space.indices, at, strict=True):
        k.bind(name, k.size_value(index))
    rows = [
        (result.value, output.row(at))
        for result, output in zip(body.result, outputs, strict=True)
        if isinstance(result, kernels.Returns) and output.rank > len(at)
    ]
    k.aim(body, tuple(rows))
    k.statements_of(body.statements)
    for result, output in zip(body.result, outputs, strict=True):
        _give_back(k, result, output, at)
    _check(host, k, group)
    host.launch(k, groups * group, group)
    for bound, output in zip(pattern, outputs, strict=True):
        host.bind(bound, output)


def output_of(
    host: HostBuilder,
    bound: Param,
    result: kernels.KernelResult,
    space: kernels.SegSpace,
) -> Array:
    """The memory of a result."""
    if isinstance(result, kernels.Returns | kernels.WriteReturns):
        return segmap.output_of(host, bound, result, space)
    assert isinstance(bound.type, ArrayType)
    return host.allocate(bound.type.element, host.shape(bound.type), bound.name.base)


def _group_size(host: HostBuilder, operation: SegMap, registers: InRegisters) -> Size:
    if registers.group is not None:
        return host.size(registers.group)
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
    return Size.of(
        host.scalar(kc.GroupSize(maximum(*wanted), most), kc.LONG.scalar, "group")
    )


_THREADED = (SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


def _check(host: HostBuilder, k: GroupBuilder, group: Size) -> None:
    """What the device cannot run must not be launched."""
    nbytes = Size.constant(STATIC_BYTES)
    for parameter in k.parameters.values():
        if isinstance(parameter, kc.LocalParameter):
            nbytes = nbytes + parameter.count * local_bytes(parameter.memory)
    for statement in k.prologue:
        if isinstance(statement, kc.DeclareArray) and statement.memory.space == "local":
            nbytes = nbytes + statement.count * local_bytes(statement.memory)
    used = tuple((c.parameter.name, c.name) for c in k.constants.values())
    host.emit(kc.CheckGroup(group, nbytes, used))


def local_bytes(memory: kc.Memory) -> int:
    """What an element takes in local memory, where f16 is a float."""
    return 4 if memory.element.name == "f16" else memory.element.bytes


# --- results ------------------------------------------------------------------------


def _give_back(
    k: GroupBuilder,
    result: kernels.KernelResult,
    output: Array,
    at: tuple[Size, ...],
) -> None:
    match result:
        case kernels.Returns(value):
            given = k.atom(value)
            if isinstance(given, Tile):
                _write_spread(k, output.row(at), given, (), (), ())
            else:
                k.write(output, at, given)
        case kernels.WriteReturns(_, _, writes):
            for where, atom in writes:
                segmap.write_if_inside(k, output, where, atom)
        case kernels.TileReturns(dimensions, tile):
            totals = [k.resolve(total) for total, _ in dimensions]
            sizes = [k.resolve(size) for _, size in dimensions]
            _write_tile(k, output, k.atom(tile), at, totals, sizes, [ONE] * len(sizes))
        case kernels.RegTileReturns(blocked, tile):
            totals = [k.resolve(total) for total, _, _ in blocked]
            blocks = [k.resolve(block) for _, block, _ in blocked]
            registers = [k.resolve(size) for _, _, size in blocked]
            _write_tile(k, output, k.atom(tile), at, totals, blocks, registers)


def _write_tile(
    k: GroupBuilder,
    output: Array,
    tile: object,
    at: Sequence[Size],
    totals: Sequence[Size],
    blocks: Sequence[Size],
    registers: Sequence[Size],
) -> None:
    """Element (i, r) of a dimension is element i * register size + r of the stretch of
    the group. Whether all of a group's lies inside is asked once."""
    starts = [
        index * block * register
        for index, block, register in zip(at, blocks, registers, strict=True)
    ]
    if isinstance(tile, Tile):
        _write_spread(k, output, tile, starts, totals, registers)
        return
    assert isinstance(tile, Array)
    rank = len(totals)
    shape = tile.shape

    def visit(where: tuple[Size, ...]) -> None:
        inner = where[rank:] or (Size.constant(0),) * rank
        place = [
            start + i * register + r
            for start, i, register, r in zip(
                starts, where[:rank], registers, inner, strict=True
            )
        ]
        with k.branch(_inside(k, place, totals)):
            k.write(output, tuple(place), k.read(tile, where))

    k.each(shape, visit)


def _write_spread(
    k: GroupBuilder,
    output: Array,
    tile: Tile,
    starts: Sequence[Size],
    totals: Sequence[Size],
    registers: Sequence[Size],
) -> None:
    """Each thread writes its registers."""
    with k.phase():
        mine = unravel(k, k.local, tile.outer)
        thread = [k.as_size(index) for index in mine]
        if not totals:
            _write_registers(k, output, tile, [*thread], [], guarded=False)
            return
        first = [
            start + i * register
            for start, i, register in zip(starts, thread, registers, strict=True)
        ]
        ends = [
            start + block * register - 1
            for start, block, register in zip(
                starts, tile.outer, registers, strict=True
            )
        ]
        full = k.declare("full", _inside(k, ends, totals))
        with k.branch(full):
            _write_registers(k, output, tile, first, totals, guarded=False)
        with k.otherwise():
            _write_registers(k, output, tile, first, totals, guarded=True)


def _write_registers(
    k: GroupBuilder,
    output: Array,
    tile: Tile,
    first: list[Size],
    totals: Sequence[Size],
    *,
    guarded: bool,
) -> None:
    with each_register(k, tile.counts) as at, k.scope():
        own = [Size.of(name) for name in at]
        if totals:
            offsets = own or [Size.constant(0)] * len(first)
            place = [f + r for f, r in zip(first, offsets, strict=True)]
        else:
            place = [*first, *own]
        if guarded:
            with k.branch(_inside(k, place, totals)):
                k.write(output, tuple(place), tile.at(at))
        else:
            k.write(output, tuple(place), tile.at(at))


def _inside(
    k: GroupBuilder, place: Sequence[Size], totals: Sequence[Size]
) -> kc.Expression:
    inside: kc.Expression = kc.Literal(True, kc.TRUTH)
    for index, total in zip(place, totals, strict=True):
        below = k.size_value(index) < k.size_value(total)
        inside = kc.Binary("&&", inside, below, kc.TRUTH)
    return inside
