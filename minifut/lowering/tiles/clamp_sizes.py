"""Clamping of tile sizes to the results, and load balance of blocks.

    n = 1024, a block of 42 x 6 rows:      252 252 252 252 16     the last group idles
                                           →   210 210 210 210 184
    p = 16, register tiles of 32 columns:  half of each vector is wasted
                                           →   register tiles of 16 columns
    n = 8, register tiles of 6 rows:       6 2, as long as 6 6    →   4 4

A block size that is a tuning parameter of its own may be any number up to its value:
the program is right for all of them. So the host lowers it when the total is known, and
makes the number of groups a multiple of the cores. Sizes of register tiles are
constants of the kernel: there is a build for the parameter's value, and one for each
half of it that a launch has wanted. Rows are in no vector, so that few rows are
divided into equal parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir import core, kernels
from minifut.ir.core import Atom
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, product
from minifut.ir.traverse import substitute
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import LOCALITY
from minifut.names import Name
from minifut.rewrite.rule import Declined, Remark, rule

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder

TileDimensions = tuple[tuple[Size, Size, Size], ...]
"""of a tiled result: total, block, register"""


def _remark(operation: kernels.SegMap, host: HostBuilder) -> Remark:
    sizes = [size for _, *own in _dimensions(operation) for size in own]
    names = [
        s.as_name for s, a in zip(sizes, _adjustable(host, sizes), strict=True) if a
    ]
    constants = host.build.parameters
    parameters = tuple(constants[name] for name in names if name is not None)
    return Remark(("clamped to the results, balanced over cores",), parameters)


@rule(paper=LOCALITY, remark=_remark)
def clamp_tile_sizes(
    operation: kernels.SegMap, host: HostBuilder
) -> tuple[kernels.SegMap, frozenset[Name]] | Declined | None:
    """Clamp tile sizes to the results of each launch, and balance blocks over cores.

    Gives the operation with the sizes that the host computes, and their names.

    before:
        like before of keep_tiles_in_registers, with
        let c => let b: i64 = get_parameter("main.sums.block" "tile_size"
        => ("cpu" = 2, "gpu" = 2) bounds 1 64)
        => let r: i64 = get_parameter("main.sums.register" "reg_tile_size"
        => ("cpu" = 16, "gpu" = 4) bounds 1 64)
        => let c
        p, 64 => p, b * r
        [4][16]f32 => [b][r]f32
        [16]f32 => [r]f32
        x < 4 => x < b
        j < 16 => j < r
        j_1 < 16 => j_1 < r
        p by 4 by 16 => p by b by r
    after:
        long b,
        ..
        long remaining = -b * i * REGISTER + p;
        ..
        long threads = min((long)(b), (long)(ceil_div_size(remaining, REGISTER)));
    declines: no size of a block is a parameter of its own
        like before of keep_tiles_in_registers, with
        64 => 4 * 16
    """
    if not any(isinstance(r, kernels.RegTileReturns) for r in operation.body.result):
        return None
    dimensions = _dimensions(operation)
    if not dimensions:
        return Declined("there is not one group for each block of all results")
    if not any(_adjustable(host, [block for _, block, _ in dimensions])):
        return Declined("no size of a block is a parameter of its own")
    operation = substitute(operation, _clamped_registers(host, dimensions))
    dimensions = _dimensions(operation)
    names = [block.as_name for _, block, _ in dimensions]
    adjustable = _adjustable(host, [block for _, block, _ in dimensions])
    mapping: dict[Name, Atom] = {}
    groups = [
        host.let_size(host.size(ceil_div(total, block * register)), "groups")
        for total, block, register in dimensions
    ]
    first = adjustable.index(True)
    groups[first] = _balanced(host, groups, first)
    for (total, _, register), name, count, wanted in zip(
        dimensions, names, groups, adjustable, strict=True
    ):
        if name is None or not wanted:
            continue
        threads = ceil_div(host.size(total), host.size(register))
        even = maximum(ONE, ceil_div(threads, maximum(ONE, count)))
        mapping[name] = host.scalar(core.SizeExp(even), I64, name.base)
    made = frozenset(name for name in mapping.values() if isinstance(name, Name))
    return substitute(operation, mapping), made


def _dimensions(operation: kernels.SegMap) -> TileDimensions:
    """Those of its results, if all are equal and there is a group for each block of
    them; else none."""
    blocked = [
        result
        for result in operation.body.result
        if isinstance(result, kernels.RegTileReturns)
    ]
    if not blocked or len(blocked) != len(operation.body.result):
        return ()
    dimensions = blocked[0].dimensions
    expected = tuple(
        ceil_div(total, block * register) for total, block, register in dimensions
    )
    return dimensions if operation.space.sizes == expected else ()


def _adjustable(host: HostBuilder, sizes: list[Size]) -> list[bool]:
    """Which of the sizes are a tuning parameter that no other size is."""
    names = [size.as_name for size in sizes]
    return [
        name is not None and name in host.build.parameters and names.count(name) == 1
        for name in names
    ]


def _clamped_registers(
    host: HostBuilder, dimensions: TileDimensions
) -> dict[Name, Atom]:
    """Sizes of register tiles clamped to the totals, the last to a half and so on of
    the parameter's value, for its vectors; others to equal parts of the total."""
    registers = [register for _, _, register in dimensions]
    mapping: dict[Name, Atom] = {}
    for (total, _, register), wanted in zip(
        dimensions, _adjustable(host, registers), strict=True
    ):
        name = register.as_name
        if name is None or not wanted:
            continue
        parameter = host.build.parameters[name]
        whole = host.size(total)
        clamp = kc.Covering if register is registers[-1] else kc.EqualParts
        clamped = clamp(whole, register)
        mapping[name] = host.choose_build_constant(clamped, parameter, name.base)
    return mapping


def _balanced(host: HostBuilder, groups: list[Size], at: int) -> Size:
    """The number of groups along a dimension that gives each core the same number."""
    others = maximum(ONE, product(tuple(groups[:at] + groups[at + 1 :])))
    cores = host.cores()
    whole = ceil_div(product(tuple(groups)), cores) * cores
    return host.let_size(ceil_div(whole, others), "groups")
