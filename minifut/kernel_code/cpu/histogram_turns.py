"""Parts of a chunk take turns in a histogram, each with a copy of the bins of its own.

    for (i < part)                          for (strip = 0; strip < part; strip += 16)
        for (turn < 4)                          PREFETCH(is + .. + strip + 256)    (4)
            if (is[..] inside)        →         inside = all of 64 tests
                copy[turn][is[..]] += 1         if (inside) for (i ..) for (turn < 4)
                                                    copy[turn][is[..]] += 1

Elements close together often hit the same bin; with a copy for each part, no update
waits for the store of the one before (`take_turns`). Then a core can do one update in
each of its cycles, and tests are what it has no time for: so strips of elements are
tested in vectors before, which almost always find them all inside (`test_strips`). The
stores also keep it from looking far ahead, so what comes is asked for in time.

Measured on PoCL with 2^24 keys for 256 bins: 0.90 of the time with tests in strips and
prefetches (0.99 without the latter), 0.78 with a name for each copy besides; a buffer
for bins that were computed in vectors took 1.2 to 1.8 times as long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from minifut.ir.kernels import SegHist
from minifut.ir.sizes import ONE, ZERO, Size, maximum, minimum
from minifut.kernel_code.cpu.prefetch import stream_prefetches
from minifut.kernel_code.histograms import (
    Bins,
    Histogram,
    Point,
    Range,
    absorb,
    points,
)
from minifut.kernel_code.lanes.calls import calls_functions
from minifut.kernel_code.operators import is_light
from minifut.kernel_code.rule import Told, lowering_rule
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc
from minifut.rewrite.rule import Declined

if TYPE_CHECKING:
    from minifut.kernel_code.host.builder import HostBuilder

TURNS = 4
"""copies of a chunk, whose parts take turns"""
CELLS_IN_TURN = 2048
"""so many cells at most are copied for each turn"""
STRIP = 16
"""elements of each part that are tested together"""


@lowering_rule(
    tell=lambda *_: Told(
        (f"{TURNS} copies for each chunk, up to {CELLS_IN_TURN} cells",)
    )
)
def take_turns(histogram: Histogram, host: HostBuilder) -> Size | Declined:
    """Let parts of a chunk take turns, each with a copy of its own: elements close
    together do not wait for each other.

    before:
        given (n: i64, to: [5]i32, is: [n]i64)
        let h: [5]i32 = seghist grid (i < n)
            bins([5], (to), (0i32), \\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, []) -> (i64, i32) {
          let at: i64 = is[i]
          return returns at, returns 1i32
        }
    after:
        to_1[bin_4] = new;
        int old_1 = to_2[bin_5];
        int c_1 = (int)((uint)old_1 + (uint)1);
        int new_1 = c_1;
        to_2[bin_5] = new_1;
    declines: the body has loops, checks or arrays
        given (n: i64, to: [5]i32, is: [n]i64)
        let h: [5]i32 = seghist grid (i < n)
            bins([5], (to), (0i32), \\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, []) -> (i64, i32) {
          let at: i64 = is[i]
          let x: i32 = loop (x_1: i32 = 1i32) for j: i64 < at do {
            let y: i32 = add_i32(x_1, x_1)
            return y
          }
          return returns at, returns x
        }
    """
    if not is_light(histogram.operation.body):
        return Declined("the body has loops, checks or arrays")
    known = histogram.cells.as_constant
    if known is not None and known > CELLS_IN_TURN:
        return Declined(f"{known} cells are too many to be copied for each turn")
    cells = maximum(ONE, histogram.cells)
    few = minimum(ONE, Size.constant(CELLS_IN_TURN) // cells)
    return host.let_size(ONE + few * (TURNS - 1), "turns")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Elements that a work-item goes through: those from `first` on, `many` of them,
    into a copy of all bins for each turn."""

    operation: SegHist
    copies: list[list[Bins]]
    ranges: list[Range] | None
    first: kc.Expression
    many: kc.Expression

    def part(self, turn: int, length: kc.Expression, at: kc.Operand) -> kc.Expression:
        """The element at a place in the part of a turn."""
        return self.first + length * turn + at


def go_in_turns(chunk: Chunk, k: KernelBuilder) -> kc.Expression:
    """Emit the loop in which parts take turns; gives where to go on from."""
    rest = test_strips(chunk, k)
    if isinstance(rest, kc.Expression):
        return rest
    length = k.declare("part", chunk.many // TURNS)
    with k.loop("i", length) as i:
        found = _points(k, chunk, length, i)
        with k.branch(_all_inside(found)):
            _absorb_all(k, found)
        with k.otherwise():
            _absorb_inside(k, found)
    return chunk.first + length * TURNS


@lowering_rule(tell=lambda *_: Told((f"{STRIP} elements of each part at once",)))
def test_strips(chunk: Chunk, k: KernelBuilder) -> kc.Expression | Declined:
    """Test whether strips of elements hit bins that there are, before any update.

    before:
        given (n: i64, to: [5]i32, is: [n]i64)
        let h: [5]i32 = seghist grid (i < n)
            bins([5], (to), (0i32), \\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, []) -> (i64, i32) {
          let at: i64 = is[i]
          return returns at, returns 1i32
        }
    after:
        for (long strip = 0L; strip < part; strip += 16L) {
            long i_1 = (first + (part * 0L)) + strip;
            PREFETCH(is + (i_1 + 128));
        ..
            int inside = 1;
            PARALLEL
            for (long i_5 = strip; i_5 < (strip + 16L); i_5++) {
        ..
            if (inside == 1) {
    declines: the body calls functions, which are better called once
        given (n: i64, to: [5]i32, xs: [n]f64)
        let h: [5]i32 = seghist grid (i < n)
            bins([5], (to), (0i32), \\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, []) -> (i64, i32) {
          let x: f64 = xs[i]
          let y: f64 = exp_f64(x)
          let at: i64 = convert_f64_i64(y)
          return returns at, returns 1i32
        }
    """
    if calls_functions(chunk.operation.body):
        return Declined("the body calls functions, which are better called once")
    length = k.declare("part", chunk.many // (TURNS * STRIP) * STRIP)
    with k.loop("strip", length, step=STRIP) as strip:
        for turn in range(TURNS):
            _prefetch(k, chunk, chunk.part(turn, length, strip))
        inside = k.declare("inside", kc.Literal(1, kc.INT))
        with k.loop("i", strip + STRIP, strip, parallel=True) as i:
            tests = _all_inside(_points(k, chunk, length, i))
            both = kc.Binary("&", inside, kc.Cast(tests, kc.INT), kc.INT)
            k.assign(inside, both)
        whole = inside.equals(1)
        with k.branch(whole), k.loop("i", strip + STRIP, strip) as i:
            _absorb_all(k, _points(k, chunk, length, i))
        with k.otherwise(), k.loop("i", strip + STRIP, strip) as i:
            _absorb_inside(k, _points(k, chunk, length, i))
    return chunk.first + length * TURNS


def _points(
    k: KernelBuilder, chunk: Chunk, length: kc.Expression, i: kc.Expression
) -> list[Point]:
    """Those of all parts at one place."""
    found = []
    for turn, bins in enumerate(chunk.copies):
        k.bind_index(chunk.operation.space.indices[-1], chunk.part(turn, length, i))
        found += points(k, chunk.operation, bins, chunk.ranges)
    return found


def _prefetch(k: KernelBuilder, chunk: Chunk, at: kc.Expression) -> None:
    """Prefetch what the body reads one element after the other."""
    with k.nested() as body:
        index = k.bind_index(chunk.operation.space.indices[-1], at)
        points(k, chunk.operation, chunk.copies[0], chunk.ranges)
    assert isinstance(index, kc.Variable)
    first, *rest = body
    k.statements += [first, *stream_prefetches(rest, index)]


def _all_inside(found: list[Point]) -> kc.Expression:
    """One jump to foresee instead of many."""
    tests = [point.inside for point in found]
    return reduce(lambda a, b: kc.Binary("&", a, b, kc.TRUTH), tests)


def _absorb_all(k: KernelBuilder, found: list[Point]) -> None:
    for point in found:
        _absorb_point(k, point, ())


def _absorb_inside(
    k: KernelBuilder, found: list[Point], at: tuple[Size, ...] = ()
) -> None:
    for point in found:
        with k.branch(point.inside):
            _absorb_point(k, point, at)


def _absorb_point(k: KernelBuilder, point: Point, at: tuple[Size, ...]) -> None:
    where = (*at, *[k.as_size(index, "bin") for index in point.at])
    places = [array.row(where) for array in point.bins.arrays]
    absorb(k, point.bins.operator, places, point.values)


def update(
    k: KernelBuilder,
    operation: SegHist,
    bins: list[Bins],
    at: tuple[Size, ...] = (),
    ranges: list[Range] | None = None,
) -> None:
    """One element: `at` chooses the segment of the arrays, `ranges` the bins that are
    taken (by default all)."""
    _absorb_inside(k, points(k, operation, bins, ranges), at)


def copy_of(k: KernelBuilder, bins: Bins, at: tuple[Size, ...]) -> Bins:
    """The bins of one copy and segment, by a name of their own."""
    arrays = []
    for array in bins.rows(at):
        part = k.part(array.memory, array.offset)
        arrays.append(replace(array, memory=part, offset=ZERO))
    return replace(bins, arrays=tuple(arrays))
