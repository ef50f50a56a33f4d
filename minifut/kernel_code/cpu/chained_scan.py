"""Scans of long segments in one pass over memory, on all cores.

Segments are cut into chunks that stay in a core's second-level cache. Groups, one for
each core, take chunks in order from a counter:

    fold the chunk: its total                         reads memory
    before = all totals before, in order              look back
    scan the chunk on from there                      reads the cache, writes memory

A total, once known, is published; so is the result up to the end of a chunk, and then
nobody looks further back. A total that is still missing is *made*, not waited for: no
group ever depends on the progress of another, so nothing can hang, whatever else runs
on the cores, whichever groups the device holds back, and if a group ends early.
Whoever makes a total makes the same one, to the last bit.

Source: Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back"
(2016); without its need for progress.
"""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.sizes import Size, minimum
from minifut.ir.types import U32, ScalarType, element_of
from minifut.kernel_code.atomic_cells import to_word, word_of
from minifut.kernel_code.cpu.reduction import Reduction
from minifut.kernel_code.cpu.segred import published, reduce_range
from minifut.kernel_code.cpu.stretch_scan import scan_stretch
from minifut.kernel_code.cpu.units import Odometer, Units, bounds
from minifut.kernel_code.cpu.vector_operators import replace_state, scalar_places
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.operators import State
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc

TOTAL, PREFIX = 1, 2
"""what is known of a chunk: its total; the result at its end"""
WORD = kc.VectorType(U32)


@dataclass(slots=True)
class Published:
    """Words in global memory that groups tell each other with, by atomics only."""

    known: kc.Memory
    """a counter, then for each unit what is known of it"""
    totals: list[kc.Memory]
    prefixes: list[kc.Memory]
    types: list[ScalarType]

    def knows(self, k: KernelBuilder, unit: kc.Expression, what: int) -> kc.Expression:
        """A number that is not 0 if so much is known of a unit."""
        nothing = kc.Literal(0, WORD)
        seen = k.atomic("atomic_or", self.known, unit + 1, nothing, base="seen")
        return seen & what

    def read(
        self, k: KernelBuilder, memories: list[kc.Memory], unit: kc.Expression
    ) -> list[kc.Expression]:
        """What is known of a unit."""
        places = zip(memories, self.types, strict=True)
        return [published(k, memory, type_, unit) for memory, type_ in places]

    def publish(
        self,
        k: KernelBuilder,
        memories: list[kc.Memory],
        place: tuple[kc.Expression, int],
        state: State,
    ) -> None:
        """Tell a total or prefix of a unit: first the words, then that they stand."""
        unit, what = place
        for memory, value, type_ in zip(
            memories, scalar_places(state), self.types, strict=True
        ):
            k.atomic("atomic_xchg", memory, unit, to_word(value, type_))
        k.atomic("atomic_or", self.known, unit + 1, kc.Literal(what, WORD))


def chained(
    host: HostBuilder,
    reductions: tuple[Reduction, Reduction],
    units: Units,
    scanned: list[Array],
    total: Size,
) -> None:
    """Scan segments of several chunks; nothing runs where each is one chunk. Given are
    the operation, and the same without mapped results."""
    reduction, _ = reductions
    count = units.count * units.several

    def words(base: str) -> list[kc.Memory]:
        return [
            host.allocate(word_of(element_of(t)), (count,), base).memory
            for t in reduction.types
        ]

    known = host.allocate(U32, ((units.count + 1) * units.several,), "known")
    zero = kc.Literal(0, WORD)
    host.each("begin_scan", known.shape, lambda k, at: k.write(known, at, zero))
    types = [element_of(t) for t in reduction.types]
    published = Published(known.memory, words("total"), words("prefix"), types)
    k = host.kernel("scan")
    groups = host.let_size(minimum(host.cores(), units.count), "groups")
    k.thread = (k.named(k.identity("get_global_id"), "group"), groups)
    counter = kc.Literal(0, kc.LONG)
    again = k.declare("again", kc.Literal(True, kc.TRUTH))
    with k.while_loop(again):
        taken = k.atomic("atomic_add", published.known, counter, kc.Literal(1, WORD))
        unit = k.declare("unit", kc.Cast(taken, kc.LONG))
        k.assign(again, unit < k.size_value(units.count))
        with k.branch(again):
            _scan_unit(k, reductions, units, (unit, published), scanned, total)
    host.launch(k, groups * units.several, 1)


def _scan_unit(
    k: KernelBuilder,
    reductions: tuple[Reduction, Reduction],
    units: Units,
    place: tuple[kc.Variable, Published],
    scanned: list[Array],
    total: Size,
) -> None:
    (reduction, totals), (unit, published) = reductions, place
    chunks = k.size_value(units.chunks)
    own = k.declare("own", unit % chunks)
    is_last = k.declare("is_last", own.equals(chunks - 1))
    before = _look_back(k, totals, units, (unit, own, is_last), published)
    with k.branch(kc.Call("!", (is_last,), kc.TRUTH)):
        end = State(k, reduction.operators)
        replace_state(k, end, scalar_places(before))
        end.combine(published.read(k, published.totals, unit))
        published.publish(k, published.prefixes, (unit, PREFIX), end)
    at = Odometer(k, (*units.segments, units.chunks), unit)
    first, last = bounds(k, units, at.indices[-1])
    stretch = (at.indices[:-1], first, last)
    scan_stretch(k, reduction, before, stretch, scanned, total)


def _look_back(
    k: KernelBuilder,
    reduction: Reduction,
    units: Units,
    place: tuple[kc.Variable, kc.Variable, kc.Variable],
    published: Published,
) -> State:
    """Make the total of a chunk known (the last chunk of a segment needs none); what
    its segment gives before it."""
    unit, own, is_last = place
    zero, one = kc.Literal(0, kc.LONG), kc.Literal(1, kc.LONG)
    lowest = k.declare("lowest", unit - own)
    missing = k.declare("missing", unit - kc.Select(is_last, one, zero, kc.LONG))
    at = k.declare("at", unit)
    before = State(k, reduction.operators)
    again = k.declare("again", kc.Literal(True, kc.TRUTH))
    with k.while_loop(again):
        with k.branch(published.knows(k, missing, TOTAL).equals(0)):
            indices = Odometer(k, (*units.segments, units.chunks), missing).indices
            ends = bounds(k, units, indices[-1])
            made = reduce_range(k, reduction, indices[:-1], ends)
            published.publish(k, published.totals, (missing, TOTAL), made)
        _last_prefix(k, published, before, at, (lowest, unit))
        k.assign(again, kc.Literal(False, kc.TRUTH))
        on = k.declare("on", at < unit)
        with k.while_loop(on):
            with k.branch(published.knows(k, at, TOTAL).equals(0)):
                k.assign(missing, at)
                k.assign(again, kc.Literal(True, kc.TRUTH))
                k.assign(on, kc.Literal(False, kc.TRUTH))
            with k.otherwise():
                before.combine(published.read(k, published.totals, at))
                k.assign(at, at + 1)
                k.assign(on, at < unit)
    return before


def _last_prefix(
    k: KernelBuilder,
    published: Published,
    before: State,
    at: kc.Variable,
    bounds_: tuple[kc.Expression, kc.Expression],
) -> None:
    """`before` becomes the last known result at the end of a chunk, neutral if there is
    none, and `at` the unit that it stands before."""
    lowest, unit = bounds_
    before.reset()
    k.assign(at, unit)
    on = k.declare("on", at > lowest)
    with k.while_loop(on):
        previous = k.declare("previous", at - 1)
        with k.branch(published.knows(k, previous, PREFIX).equals(0)):
            k.assign(at, previous)
            k.assign(on, at > lowest)
        with k.otherwise():
            replace_state(k, before, published.read(k, published.prefixes, previous))
            k.assign(on, kc.Literal(False, kc.TRUTH))
