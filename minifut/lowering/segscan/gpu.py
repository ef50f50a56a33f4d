"""Segmented inclusive scans under the GPU schedule.

    segscan grid (i < n, j < m) {add, 0} { x }  :  [n][m]t

    one pass        each group scans a tile and looks back, where
                    segments are split and groups of the device wait for each other
    first kernel    else: each task (`gpu.work_distribution`) is scanned by its lanes,
                    tile by tile: every lane folds consecutive elements in local
                    memory, the lanes scan those partial results, a carry goes from tile
                    to tile
    second kernel   only if segments were split into chunks: each chunk but the first
                    folds the carries before it and combines its elements with that

In the last two no group waits for another one, so that any device runs them. Operators
on arrays are left to `segscan.cpu`.

The one pass is a scan with decoupled look-back:

    number = tiles begun before                  tiles begin in order
    fold the tile, publish its aggregate
    before = prefix(blocks before) op aggregates of the tiles before in its block
    publish `before op aggregate` as prefix, if the tile is the last of its block
    scan the tile from `before` on

Each element is read and written once: 2 n of traffic instead of 4 n. A block has as
many tiles as a group has lanes, each of which waits for an aggregate; lane 0 waits for
the prefix. All of a block is combined at once, so that there are as many waits in a row
as blocks. What is combined with what does not depend on time: floats too have the same
bits in each run.

A group waits for groups that took lower numbers, which run already. Needed is that
running groups go on running, which OpenCL does not guarantee: NVIDIA's and AMD's
devices do so, CPUs where a thread executes a group to its end.

A word of 64 bits has a part of 32 bits of a value in its low half, and 1 in its high
half when it is there: what is published needs no fence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minifut.ir.core import Param
from minifut.ir.kernels import Parameter, SegScan
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, minimum
from minifut.ir.soacs import operand_count
from minifut.ir.types import I64, U64, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.atomic_cells import from_word, to_word, word_of
from minifut.lowering.gpu.lane_groups import (
    LaneGroup,
    StagedTile,
    lane_group,
    staged_tile,
    tiles,
)
from minifut.lowering.gpu.work_distribution import (
    ElementValues,
    SegmentTask,
    SharedOperands,
    WorkDistribution,
    bind_segment,
    combine,
    count_segments,
    distribute,
    each_task,
    fold_group,
    later_chunks,
    launch,
    outer_indices,
    parallel_region,
    staged_elements,
)
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import works_on_scalars
from minifut.lowering.segred.gpu import allocate_mapped, body_at, is_light
from minifut.lowering.segscan import cpu as segscan_cpu
from minifut.lowering.threads.builder import KernelBuilder


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegScan) -> None:
    """Scan every segment; bind the results."""
    if not all(map(works_on_scalars, operation.operators)):
        segscan_cpu.lower(host, pattern, operation)
        return
    count = operand_count(operation.operators)
    types = [element_of(t) for t in operation.types[:count]]
    group = fold_group(host, types, 3)
    segments, length = count_segments(host, operation.space)
    cut = distribute(host, segments, length, group)
    shape = host.sizes(operation.space.sizes)
    several = host.let_size(minimum(cut.chunks - 1, ONE), "several")
    one_pass = host.let_size(several * host.parameter(LOOK_BACK), "one_pass")
    results, carries = [], []
    for type_, bound in zip(types, pattern, strict=False):
        results.append(host.allocate_result(bound, type_, shape))
        base = f"{bound.name.base}_carry"
        carry_count = cut.tasks * (several - one_pass)
        carries.append(host.allocate(type_, (carry_count,), base))
    mapped = allocate_mapped(host, pattern, operation)
    look_back_scan(host, operation, cut, types, (results, mapped), one_pass)
    groups = host.let_size(cut.groups * (ONE - one_pass), "groups")
    cut = replace(cut, groups=groups)
    _first(host, operation, cut, types, results, mapped, carries)
    _second(host, operation, cut, types, results, carries)
    host.bind_all(pattern, (*results, *mapped))


def _first(
    host: HostBuilder,
    operation: SegScan,
    cut: WorkDistribution,
    types: list[ScalarType],
    results: list[Array],
    mapped: list[Array],
    carries: list[Array],
) -> None:
    k = host.kernel("scan")
    with each_task(k, cut) as task:
        outer = bind_segment(k, operation.space, task.segment)
        point = body_at(k, operation, outer, mapped)
        lanes = lane_group(k, operation.operators, types, task, cut.group)
        carry = lanes.neutral("carry")
        with tiles(lanes) as tile:
            tile.fill(point, is_light(operation.body))
            scan_tile(lanes, tile, carry)
            tile.write(results, outer)
        last = task.active & task.lane.equals(0)
        with k.branch(last & (k.size_value(cut.chunks) > 1)):
            for array, value in zip(carries, carry, strict=True):
                k.write(array, (task.task,), value)
    launch(host, k, cut)


def scan_tile(lanes: LaneGroup, tile: StagedTile, carry: list[kc.Variable]) -> None:
    """Scan the elements of a tile in place, starting from `carry`; then a barrier, and
    `carry` is the last prefix of the tile."""
    k, task = lanes.k, lanes.task
    prefixes = tile.prefixes()
    before = [k.declare("before", value) for value in carry]
    with parallel_region(k):
        with k.branch(task.lane > 0):
            lanes.combine_right(before, prefixes.before)
        tile.scan(before)
        lanes.combine_right(carry, prefixes.total)


def _second(
    host: HostBuilder,
    operation: SegScan,
    cut: WorkDistribution,
    types: list[ScalarType],
    results: list[Array],
    carries: list[Array],
) -> None:
    k = host.kernel("scan_carry")
    over = later_chunks(host, cut)
    with each_task(k, over) as task:
        outer = outer_indices(k, operation.space, task.segment)
        chunks = k.size_value(cut.chunks)
        later = k.size_value(over.chunks)
        number = k.declare("number", task.task - task.segment * later + 1)
        row = k.declare("row", task.segment * chunks)
        lanes = lane_group(k, operation.operators, types, task, cut.group)
        carry = _fold_before(lanes, carries, row, number)
        first = k.declare("start", number * task.chunk)
        full = kc.Call("min", (first + task.chunk, k.size_value(cut.length)), kc.LONG)
        end = k.declare("end", kc.Select(task.active, full, first, kc.LONG))
        own = first + task.lane
        loop = k.loop("at", end, own, task.lanes, extent=task.chunk)
        with parallel_region(k), loop as at:
            old = [k.declare("old", k.read(r, (*outer, at))) for r in results]
            new = combine(k, operation.operators, carry, old)
            for result, value in zip(results, new, strict=True):
                k.write(result, (*outer, at), value)
    launch(host, k, over)


def _fold_before(
    lanes: LaneGroup, carries: list[Array], row: kc.Expression, number: kc.Expression
) -> ElementValues:
    """The carries of the chunks before `number`, folded."""
    k, task = lanes.k, lanes.task
    own = lanes.neutral("own")
    share = k.declare("share", (number + task.lanes - 1) // task.lanes)
    begin = k.declare("begin", task.lane * share)
    stop = kc.Call("min", (begin + share, number), kc.LONG)
    end = k.declare("stop", kc.Select(task.active, stop, begin, kc.LONG))
    with parallel_region(k), k.loop("at", end, begin, extent=share) as at:
        place = row + at
        lanes.combine_right(own, [k.read(array, (place,)) for array in carries])
    return lanes.tree(own, everywhere=True)


WAITING = ("sm_80", "sm_86", "sm_90", "cdna", "rdna")
"""families of devices whose groups go on running while others wait for them"""
LOOK_BACK = Parameter(
    "gpu.scan.look_back",
    "choice",
    (("cpu", 0), ("gpu", 0), *((family, 1) for family in WAITING)),
    (0, 1),
)
"""1 to scan split segments in one pass, 0 in two"""
WORD = kc.VectorType(U64)
PRESENT = 1 << 32
"""in a word with a part of a value"""


@immutable
class Published:
    """Values of types in words of global memory: the counter of tiles, the aggregate of
    each of `count` tiles, then the prefix up to it."""

    k: KernelBuilder
    words: kc.Memory
    types: Sequence[ScalarType]
    count: Size

    def publish(self, place: kc.Expression, values: Sequence[kc.Expression]) -> None:
        """Let others see the values of a place."""
        at = self._first_word(place)
        for value, type_ in zip(values, self.types, strict=True):
            bits = kc.Cast(to_word(value, type_), WORD)
            for shift in range(0, word_of(type_).bits, 32):
                part = (bits >> shift if shift else bits) & (PRESENT - 1)
                self.k.atomic("atomic_xchg", self.words, at, part | PRESENT)
                at = at + 1

    def wait(self, place: kc.Expression) -> ElementValues:
        """The values of a place, as soon as they are there."""
        at, k = self._first_word(place), self.k
        values = []
        for type_ in self.types:
            parts = []
            for _ in range(0, word_of(type_).bits, 32):
                word = k.declare("word", kc.Literal(0, WORD))
                with k.while_loop(word < PRESENT):
                    nothing = kc.Literal(0, WORD)
                    k.assign(word, k.atomic("atomic_add", self.words, at, nothing))
                parts.append(word)
                at = at + 1
            low = parts[0] & (PRESENT - 1)
            bits: kc.Expression = kc.Cast(low, kc.VectorType(word_of(type_)))
            if len(parts) > 1:
                bits = (parts[1] << 32) | low
            values.append(k.declare("published", from_word(bits, type_)))
        return tuple(values)

    def prefix(self, number: kc.Expression) -> kc.Expression:
        """The place of the prefix up to a tile; that of its aggregate is its number."""
        return number + self.k.size_value(self.count)

    def _first_word(self, place: kc.Expression) -> kc.Expression:
        return self.k.declare("at", place * words_of(self.types) + 1)


def words_of(types: Sequence[ScalarType]) -> int:
    """How many words the values of these types take."""
    return sum(word_of(type_).bits // 32 for type_ in types)


def look_back_scan(
    host: HostBuilder,
    operation: SegScan,
    cut: WorkDistribution,
    types: list[ScalarType],
    arrays: tuple[list[Array], list[Array]],
    wanted: Size,
) -> None:
    """Scan in one pass if `wanted` is 1, else (0) do nothing; `arrays` are the results
    and what the body returns besides."""
    results, mapped = arrays
    per = staged_elements(host, types, cut.group)
    size = host.let_size(cut.group * per, "tile")
    tiles = host.let_size(ceil_div(cut.length, size), "tiles")
    count = host.let_size(cut.segments * tiles * wanted, "count")
    words = (2 * count * words_of(types) + 1) * wanted
    words_array = host.allocate(U64, (words,), "published")
    nothing = kc.Literal(0, WORD)
    host.each("begin_scan", (words,), lambda k, at: k.write(words_array, at, nothing))
    k = host.kernel("scan_look_back")
    grid = count * cut.group
    k.thread = (k.declare("thread", k.identity("get_global_id")), grid)
    local = k.declare("local", k.identity("get_local_id"))
    published = Published(k, words_array.memory, types, count)
    number = _next_tile(published, local)
    segment = k.declare("segment", number // k.size_value(tiles))
    tile_number = k.declare("tile", number - segment * k.size_value(tiles))
    chunk = k.size_value(size)
    start = k.declare("start", tile_number * chunk)
    least = kc.Call("min", (start + chunk, k.size_value(cut.length)), kc.LONG)
    end, active = k.declare("end", least), kc.Literal(True, kc.TRUTH)
    task = SegmentTask(
        local, k.width, local, number, active, segment, start, end, chunk
    )
    outer = bind_segment(k, operation.space, segment)
    lanes = lane_group(k, operation.operators, types, task, cut.group)
    staged = SharedOperands(k, types, size, "staged")
    zero = kc.Literal(0, kc.LONG)
    tile = staged_tile(lanes, staged, start, zero, k.size_value(per))
    tile.fill(body_at(k, operation, outer, mapped), is_light(operation.body))
    in_tile = tile.prefixes()
    is_first = k.declare("is_first", local.equals(0))
    with k.branch(is_first):
        published.publish(number, in_tile.total)
    before = _look_back(lanes, published, tile_number, in_tile.total)
    with parallel_region(k):
        lanes.combine_right(before, in_tile.before)
        tile.scan(before)
    tile.write(results, outer)
    host.launch(k, grid, cut.group, fresh=True)


def _next_tile(published: Published, local: kc.Expression) -> kc.Expression:
    """The number of tiles that groups took before this one."""
    k = published.k
    taken = k.local_memory(I64, Size.constant(1), "taken")
    counter, one = kc.Literal(0, kc.LONG), kc.Literal(1, WORD)
    with k.branch(local.equals(0)):
        old = k.atomic("atomic_add", published.words, counter, one)
        k.store(taken, 0, kc.Cast(old, kc.LONG))
    # no more than there are groups, which bounds the indices that are made of it
    groups = kc.Cast(k.identity("get_num_groups"), WORD)
    number = kc.Call("min", (kc.Cast(k.load(taken, 0), WORD), groups), WORD)
    return k.declare("number", kc.Cast(number, kc.LONG))


def _look_back(
    lanes: LaneGroup,
    published: Published,
    tile: kc.Expression,
    aggregate: Sequence[kc.Expression],
) -> list[kc.Variable]:
    """The prefix before a tile, in all lanes; that with its aggregate is published
    where the next block needs it."""
    k, task = lanes.k, lanes.task
    own, earlier = lanes.neutral("own"), lanes.neutral("earlier")
    in_block = k.declare("in_block", tile % k.width)
    first = k.declare("first", task.task - in_block)
    block = SharedOperands(k, lanes.types, ONE, "block")
    zero = kc.Literal(0, kc.LONG)
    with k.branch(task.local < in_block):
        k.assign_all(own, published.wait(first + task.local))
    with k.branch(task.local.equals(0)):
        with k.branch(tile >= k.width):
            k.assign_all(earlier, published.wait(published.prefix(first - 1)))
        block.put(zero, earlier)
    tiles = lanes.prefixes(own).total
    before = [k.declare("before", value) for value in block.get(zero)]
    prefix = lanes.neutral("prefix")
    with parallel_region(k):
        lanes.combine_right(before, tiles)
        k.assign_all(prefix, before)
        lanes.combine_right(prefix, aggregate)
    is_last = k.declare("is_last", in_block.equals(k.width - 1))
    with k.branch(is_last & task.local.equals(0)):
        published.publish(published.prefix(task.task), prefix)
    return before
