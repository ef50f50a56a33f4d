"""Guards of tiled versions: tiled if profitable and fitting, split if points are few.

    tiled  = at_least(n * p * min(m, 256), main.map_map_redomap.tiled)
    split  = at_least(m / <groups>, main.map_map_redomap.split)
    narrow = at_least((n - 1) * (p - 1) * m, main.map_map_redomap.narrow)
    fits   = <bytes of all tiles> <= device.local_memory
    c = if (tiled || narrow && (split || 8 <= <groups>)) && fits
        then if split then <split> else <tiled> else <untiled>

`tiled` compares the steps that share a tile, those of one block of the common
dimension: a tile is copied whole, however few points use it, so what matters is how
many do, and not how long they go on (of fewer than 8 it is none). `split` compares how
many steps there are for each group that would be busy. At most two tiled versions stand
beside a kernel.

Results with few points gain from tiles as well if the common dimension is long enough
to be split, or if there are several such results: then each element that is read is
used for all of a row or column, where other versions read it again for each point.
`narrow` compares the steps that gain from
that, nought for rows and columns alone and for results that are not narrow.

Measured with matrix products on PoCL, two cores: of 2^20 and 2^25 steps from 32 x 32
results on, tiled was the fastest by 1.2 to 5 times; it breaks even at 64 x 64 x 64.
Split, 2 x 2 to 16 x 16 results break even at 2^15 to 2^18 steps that gain: at 2^17
2 x 2 gain 1.6 times, 4 x 4 twice, and 3 x 3, which no vectors suit, lose a tenth; at
2^24 all are 3.5 to 15 times as fast. Outer products were faster untiled, those of 4
steps by 1.1 and of a single one by 1.7 times.
"""

from __future__ import annotations

from minifut.analysis.residency.accumulators import accumulator_chains
from minifut.ir import builder, kernels, search
from minifut.ir.core import Atom, Body, SizeExp, Stm
from minifut.ir.node import immutable
from minifut.ir.scope import Scope
from minifut.ir.sizes import ONE, ZERO, Size, maximum, product
from minifut.ir.traverse import substitute, walk
from minifut.ir.types import ArrayType
from minifut.names import Name, NameSource
from minifut.passes.tiling.parameters import PAD

STRETCH = 256
FEWEST = 16
"""steps that share much: products of fewer are outer products, whose
results take all the time"""
COLUMNS = 16
"""results of a row that fill a vector; threads take 3 times as long for fewer, of any
number of steps"""
CPU_WORK = 1 << 18
GPU_WORK = 1 << 18
CPU_SPLIT = 1 << 13
GPU_SPLIT = 1 << 7
CPU_NARROW = 1 << 17
NARROW = CPU_WORK // STRETCH
"""points from which on a result is not narrow"""
MANY = 8
"""groups that keep a CPU busy without a split"""
GUARDS = "tiles of the operands in local memory, of the results in registers"
SPLIT_GUARDS = "the common dimension split into parts that are reduced in parallel"
NARROW_GUARDS = "the same for results of few elements"


@immutable
class Tiled:
    """A derived version: host statements with the parameters, then the kernels, and the
    steps (`work`) that share a tile. `shares` is false if something is read only once:
    then reading dominates, and tiles do not pay. Nor do they on a CPU if only one
    dimension is tiled (`rank`): its caches share as well."""

    parameters: tuple[Stm, ...]
    body: Body
    work: Size
    shares: bool
    rank: int


@immutable
class Split:
    """A derived version with the common dimension in parts: its host statements, how
    long that dimension is, and the sizes of the tiled ones."""

    body: Body
    common: Size
    points: tuple[Size, ...]


def divide(body: Body, work: Size, shares: bool, rank: int) -> Tiled:
    """A derived version from its statements."""
    parameters = [s for s in body.statements if isinstance(s.exp, kernels.GetParameter)]
    rest = [s for s in body.statements if not isinstance(s.exp, kernels.GetParameter)]
    return Tiled(tuple(parameters), Body(tuple(rest), body.result), work, shares, rank)


@immutable
class Guards:
    """Host statements with the tests of versions, and their outcomes: whether to run
    a tiled one, and whether that is the split one (None: there is none)."""

    statements: tuple[Stm, ...]
    tiled: Atom
    split: Atom | None


def guards_of(
    names: NameSource, scope: Scope, nest: str, tiled: Tiled, split: Split | None
) -> Guards:
    """The tests for a tiled version, and for the split one beside it."""
    build = builder.Builder(names, scope)
    build.extend(tiled.parameters)
    work = (CPU_WORK if tiled.rank > 1 else kernels.NEVER, GPU_WORK)
    if not tiled.shares:
        work = (kernels.NEVER, kernels.NEVER)
    threshold = _threshold(f"{nest}.tiled", work, GUARDS)
    enough: Atom = build.let(kernels.AtLeast(tiled.work, threshold), "tiled")
    long: Atom | None = None
    if split is not None:
        threshold = _threshold(f"{nest}.split", (CPU_SPLIT, GPU_SPLIT), SPLIT_GUARDS)
        groups = _groups(tiled)
        each = split.common // maximum(ONE, groups)
        long = build.let(kernels.AtLeast(each, threshold), "split")
        threshold = _threshold(
            f"{nest}.narrow", (CPU_NARROW, kernels.NEVER), NARROW_GUARDS
        )
        gains = build.let(kernels.AtLeast(_gaining(split), threshold), "narrow")
        many = build.op("le", builder.i64(MANY), build.size_atom(groups), base="many")
        busy = build.op("or", long, many, base="busy")
        narrow = build.op("and", gains, busy, base="narrow")
        enough = build.op("or", enough, narrow, base="enough")
    limit = build.let(kernels.GetParameter(kernels.LOCAL_MEMORY), "limit")
    needs = build.let(SizeExp(local_bytes(tiled.body)), "bytes")
    fits = build.op("le", needs, limit, base="fits")
    both = build.op("and", enough, fits, base="both")
    return Guards(tuple(build.statements), both, long)


def _groups(tiled: Tiled) -> Size:
    """How many groups there are without splitting."""
    for node in walk(tiled.body):
        if isinstance(node, kernels.SegMap):
            return product(node.space.sizes)
    return ONE


def _gaining(split: Split) -> Size:
    """The steps whose operands others use as well, if the result is narrow."""
    few = maximum(ZERO, ONE - product(split.points) // NARROW)
    return few * product(tuple(size - 1 for size in split.points)) * split.common


def share_parameters(body: Body, known: tuple[Stm, ...]) -> Body:
    """The body with parameters that another version has got already taken from it: of
    one name there is one parameter."""
    there = {
        s.exp.parameter.name: s.pattern[0].name
        for s in known
        if isinstance(s.exp, kernels.GetParameter)
    }
    kept: list[Stm] = []
    same: dict[Name, Atom] = {}
    for statement in body.statements:
        exp = statement.exp
        if isinstance(exp, kernels.GetParameter) and exp.parameter.name in there:
            same[statement.pattern[0].name] = there[exp.parameter.name]
        else:
            kept.append(statement)
    return substitute(Body(tuple(kept), body.result), same)


def _threshold(name: str, defaults: tuple[int, int], guards: str) -> kernels.Parameter:
    cpu, gpu = defaults
    return kernels.Parameter(
        name, "threshold", (("cpu", cpu), ("gpu", gpu)), (0, kernels.NEVER), guards
    )


def local_bytes(body: Body) -> Size:
    """The bytes that a group needs at most: its copies, with what a CPU leaves between
    rows, and arrays over its threads that outlive a loop and have no other place."""
    groups = [
        _bytes_of_group(node)
        for node in search.nodes_of(kernels.SegMap, body)
        if node.level.kind == "group"
    ]
    return maximum(*groups) if groups else ZERO


def _bytes_of_group(group: kernels.SegMap) -> Size:
    elsewhere = {
        r.tile
        for r in group.body.result
        if isinstance(r, (kernels.TileReturns, kernels.RegTileReturns))
    }
    for each in accumulator_chains(group.body):
        elsewhere |= each.names
    total = ZERO
    for node in walk(group.body):
        if isinstance(node, Stm) and isinstance(node.exp, kernels.CollectiveCopy):
            type_ = node.pattern[0].type
            assert isinstance(type_, ArrayType)
            rows = product(type_.shape[:-1])
            elements = rows * (type_.shape[-1] + (PAD if type_.rank > 1 else 0))
            total = total + elements * type_.element.bytes
    for statement in group.body.statements:
        if "blocks" in statement.attributes:
            for bound in statement.pattern:
                if bound.name not in elsewhere and isinstance(bound.type, ArrayType):
                    elements = product(bound.type.shape)
                    total = total + elements * bound.type.element.bytes
    return total
