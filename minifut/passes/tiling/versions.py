"""Which version runs: tiled if that pays and fits, split if points are few.

    tiled = at_least(n * p * min(m, 256), main.map_map_redomap.tiled)
    fits  = <bytes of all tiles> <= device.local_memory
    c = if tiled && fits then if long then <split> else <tiled> else <untiled>

`tiled` compares the steps that share a tile, those of one stretch of the common
dimension: a tile is copied whole, however few points use it, so what matters is how
many do, and not how long they go on (of fewer than 8 it is none). `split` compares how
many steps there are for each group that would be busy. At most two tiled versions stand
beside a kernel.

Measured with matrix products of 2^20 and 2^25 steps (PoCL, two cores): from 32 x 32
results on, tiled was the fastest by 1.2 to 5 times; of 16 x 16 results and fewer it was
2 to 160 times slower than the best. It breaks even at 64 x 64 x 64. Outer products were
faster untiled, those of 4 steps by 1.1 and of a single one by 1.7 times.
"""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, ScalarOp, SizeExp, Stm
from minifut.ir.kernels import (
    LOCAL_MEMORY,
    NEVER,
    AtLeast,
    CollectiveCopy,
    GetParameter,
    Parameter,
    RegTileReturns,
    SegMap,
    TileReturns,
)
from minifut.ir.scalars import operator
from minifut.ir.scope import Scope
from minifut.ir.sizes import ONE, ZERO, Size, maximum, product
from minifut.ir.traverse import substitute, walk
from minifut.ir.types import BOOL, I64, ArrayType
from minifut.names import Name, NameSource
from minifut.passes.tiling.parameters import PAD

STRETCH = 256
FEWEST = 8
"""steps that share anything to speak of: products of fewer are outer products, whose
results take all the time"""
CPU_WORK = 1 << 18
GPU_WORK = 1 << 18
CPU_SPLIT = 1 << 13
GPU_SPLIT = 1 << 7
GUARDS = "tiles of the operands in local memory, of the results in registers"
SPLIT_GUARDS = "the common dimension split into parts that are reduced side by side"


@dataclass(frozen=True, slots=True)
class Tiled:
    """A derived version: host statements with the parameters, then the kernels, and the
    steps (`work`) that share a tile. `shares` is false if something
    is read only once: then reading dominates, and tiles do not pay. Nor do they on a
    CPU if only one dimension is tiled (`rank`): its caches share as well."""

    parameters: tuple[Stm, ...]
    body: Body
    work: Size
    shares: bool
    rank: int


def divide(body: Body, work: Size, shares: bool, rank: int) -> Tiled:
    """A derived version from its statements."""
    parameters = [s for s in body.statements if isinstance(s.exp, GetParameter)]
    rest = [s for s in body.statements if not isinstance(s.exp, GetParameter)]
    return Tiled(tuple(parameters), Body(tuple(rest), body.result), work, shares, rank)


def tiled_guard(
    names: NameSource, scope: Scope, nest: str, tiled: Tiled
) -> tuple[tuple[Stm, ...], Atom]:
    """Host statements with the test whether to run the tiled version."""
    build = Builder(names, scope)
    build.extend(tiled.parameters)
    work = (CPU_WORK if tiled.rank > 1 else NEVER, GPU_WORK)
    if not tiled.shares:
        work = (NEVER, NEVER)
    threshold = _threshold(f"{nest}.tiled", work, GUARDS)
    enough = build.let(AtLeast(tiled.work, threshold), "tiled")
    limit = build.let(GetParameter(LOCAL_MEMORY), "limit")
    needs = build.let(SizeExp(local_bytes(tiled.body)), "bytes")
    fits = build.let(ScalarOp(operator("le", I64), (needs, limit)), "fits")
    both = build.let(ScalarOp(operator("and", BOOL), (enough, fits)), "both")
    return tuple(build.statements), both


def split_guard(
    names: NameSource, scope: Scope, nest: str, common: Size, tiled: Tiled
) -> tuple[tuple[Stm, ...], Atom]:
    """The same for the split version: the steps that each group would do."""
    build = Builder(names, scope)
    groups = ONE
    for node in walk(tiled.body):
        if isinstance(node, SegMap):
            groups = product(node.space.sizes)
            break
    threshold = _threshold(f"{nest}.split", (CPU_SPLIT, GPU_SPLIT), SPLIT_GUARDS)
    each = common // maximum(ONE, groups)
    split = build.let(AtLeast(each, threshold), "split")
    return tuple(build.statements), split


def share_parameters(body: Body, known: tuple[Stm, ...]) -> Body:
    """The body with parameters that another version has got already taken from it: of
    one name there is one parameter."""
    there = {
        s.exp.parameter.name: s.pattern[0].name
        for s in known
        if isinstance(s.exp, GetParameter)
    }
    kept: list[Stm] = []
    same: dict[Name, Atom] = {}
    for statement in body.statements:
        exp = statement.exp
        if isinstance(exp, GetParameter) and exp.parameter.name in there:
            same[statement.pattern[0].name] = there[exp.parameter.name]
        else:
            kept.append(statement)
    return substitute(Body(tuple(kept), body.result), same)


def _threshold(name: str, defaults: tuple[int, int], guards: str) -> Parameter:
    cpu, gpu = defaults
    return Parameter(
        name, "threshold", (("cpu", cpu), ("gpu", gpu)), (0, NEVER), guards
    )


def local_bytes(body: Body) -> Size:
    """The bytes that a group needs at most: its copies, with what a CPU leaves between
    rows, and arrays over its threads that outlive a loop and are not returned."""
    groups = [
        _bytes_of_group(node)
        for node in walk(body)
        if isinstance(node, SegMap) and node.level.kind == "group"
    ]
    return maximum(*groups) if groups else ZERO


def _bytes_of_group(group: SegMap) -> Size:
    returned = {
        r.tile
        for r in group.body.result
        if isinstance(r, (TileReturns, RegTileReturns))
    }
    total = ZERO
    for node in walk(group.body):
        if isinstance(node, Stm) and isinstance(node.exp, CollectiveCopy):
            type_ = node.pattern[0].type
            assert isinstance(type_, ArrayType)
            rows = product(type_.shape[:-1])
            elements = rows * (type_.shape[-1] + (PAD if type_.rank > 1 else 0))
            total = total + elements * type_.element.bytes
    for statement in group.body.statements:
        if "blocks" in statement.attributes:
            for bound in statement.pattern:
                if bound.name not in returned and isinstance(bound.type, ArrayType):
                    elements = product(bound.type.shape)
                    total = total + elements * bound.type.element.bytes
    return total
