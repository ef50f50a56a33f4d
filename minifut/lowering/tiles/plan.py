"""The plan of a group with register tiles: all decisions before any code is emitted.

    segmap group (g) {                        accumulator zeros, sums_1, sums: result 0
      let zeros = segmap thread (x) {..}      defer sums_1 = 0.0 to iteration kk = 0
      let sums = loop (sums_1 = zeros) ..     copy bs: panels of rx of dimension 1
        let bs = collective_copy b[..]        threads acc: 16 or 8 or 1 lanes; ..
        .. segmap thread (x) { sums_1[x] .. }
      return regtile sums of .. }

An *accumulator* is an array of tiles that needs no memory of the group: each thread
keeps its tile in registers, and stores it to the result between loops over threads
(`analysis.residency`). Initial values that are one constant are not stored; the first
iteration of the loop starts from the constant instead (deferred initialisation). The
emitter (`tiles.threads`, `packing.emit`) follows the plan and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from minifut.analysis.residency.accumulators import AccumulatorChain
from minifut.ir.core import Constant, Stm
from minifut.ir.node import immutable
from minifut.ir.printer import Printer
from minifut.ir.sizes import Size
from minifut.lowering.packing.facts import Packing, Panels, Rows, Unpacked
from minifut.names import Name


@immutable
class CopyPlan:
    """The packing of a collective copy; of a dimension in `limits` only so many
    elements are copied."""

    packing: Packing
    limits: tuple[tuple[int, Size], ...] = ()


@immutable
class FirstIteration:
    """A loop parameter starts from a constant where `index` is 0."""

    index: Name
    start: Constant


@immutable
class ThreadPlan:
    """How threads with register nests run.

    `widths`: the numbers of lanes to emit code for, widest first, where they divide all
    `divided`. `guarded`: threads beyond the results do nothing. `prefetched`: the
    accumulators whose tile is prefetched before the steps of a reduction. `preloaded`:
    those whose tile is loaded before the nests that read its elements. `loaded`: arrays
    whose rows are loaded as tiles. `nan_free`: loop parameters that are never a NaN.
    """

    widths: tuple[int, ...]
    divided: tuple[Size, ...]
    guarded: bool
    prefetched: tuple[Name, ...]
    preloaded: tuple[Name, ...]
    loaded: frozenset[Name]
    nan_free: frozenset[Name]


NO_THREADS = ThreadPlan((), (), False, (), (), frozenset(), frozenset())


@immutable
class TilePlan:
    """The decisions for the body of a group. `definitions` are what names of sizes
    stand for; `registers` the arrays of threads in registers; `deferred` the
    statements of deferred initialisations; threads are keyed by their first result."""

    definitions: Mapping[Name, Size] = field(default_factory=dict)
    registers: frozenset[Name] = frozenset()
    accumulators: tuple[AccumulatorChain, ...] = ()
    deferred: Mapping[Name, Stm] = field(default_factory=dict)
    first_iterations: Mapping[Name, FirstIteration] = field(default_factory=dict)
    copies: Mapping[Name, CopyPlan] = field(default_factory=dict)
    threads: Mapping[Name, ThreadPlan] = field(default_factory=dict)


# --- the plan as text -----------------------------------------------------------------


def plan_lines(plan: TilePlan, printer: Printer) -> Iterator[str]:
    """A plan to read, a decision a line."""
    name, names = printer.name, _Names(printer)
    for each in plan.accumulators:
        chain = names(sorted(each.names, key=lambda name: name.tag))
        yield f"accumulator {chain}: result {each.result}"
    for parameter, first in plan.first_iterations.items():
        start = f"{name(parameter)} = {first.start.value}"
        yield f"defer {start} to iteration {name(first.index)} = 0"
    for copied, copy in plan.copies.items():
        bounds = (
            f"; up to {printer.size(s)} of dimension {at}" for at, s in copy.limits
        )
        packing = packing_text(copy.packing, printer)
        yield f"copy {name(copied)}: {packing}{''.join(bounds)}"
    for made, threads in plan.threads.items():
        yield f"threads {name(made)}: {'; '.join(_thread_parts(threads, names))}"


def packing_text(packing: Packing, printer: Printer) -> str:
    """A packing in words."""
    match packing:
        case Unpacked():
            return "read in place"
        case Panels(dimension, width, transposed):
            how = ", transposed" if transposed else ""
            return f"panels of {printer.size(width)} of dimension {dimension}{how}"
        case Rows(innermost, padded):
            return f"rows of dimension {innermost}{', padded' if padded else ''}"


@immutable
class _Names:
    printer: Printer

    def __call__(self, names: Iterable[Name]) -> str:
        return ", ".join(map(self.printer.name, names))


def _thread_parts(threads: ThreadPlan, names: _Names) -> Iterator[str]:
    yield f"{' or '.join(map(str, threads.widths))} lanes"
    if threads.guarded:
        yield "full-tile guard"
    for what, arrays in (
        ("prefetch", threads.prefetched),
        ("preload", threads.preloaded),
        ("load", sorted(threads.loaded, key=lambda name: name.tag)),
        ("never NaN", sorted(threads.nan_free, key=lambda name: name.tag)),
    ):
        if arrays:
            yield f"{what} {names(arrays)}"
