"""The pipelines, as lists with the reasons for their order.

`run_pipeline(program, names)` takes a program of Soacs to one of Kernels, ready for
lowering. `run_pass` runs one pass by its name, for looking at it alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.errors import UsageError
from minifut.ir.core import Program
from minifut.ir.dialect import DIFFERENTIABLE, KERNELS, SOACS
from minifut.names import NameSource
from minifut.passes.accumulations.driver import accumulate
from minifut.passes.check_loops_first import check_loops_first
from minifut.passes.choose_by_shifts import choose_by_shifts
from minifut.passes.choose_updates import choose_updates
from minifut.passes.compare_unsigned import compare_unsigned
from minifut.passes.differentiate.driver import differentiate
from minifut.passes.drop_covered_fills import drop_covered_fills
from minifut.passes.flatten.driver import flatten, flatten_fully, flatten_moderately
from minifut.passes.fold_rows_of_views import fold_rows_of_views
from minifut.passes.fold_scans import fold_scans
from minifut.passes.fuse_scans import fuse_scans
from minifut.passes.fusion.driver import fuse
from minifut.passes.inline import inline
from minifut.passes.interchange_loops import interchange_loops
from minifut.passes.join_loops import join_loops
from minifut.passes.layout.driver import lay_out_for_cpu, lay_out_for_gpu
from minifut.passes.layout.unswitch import unswitch_for_cpu, unswitch_for_gpu
from minifut.passes.partial_inline import partial_inline
from minifut.passes.pipeline import (
    Pass,
    PassFunction,
    PipelineOptions,
    run_step,
    run_steps,
)
from minifut.passes.place_parts import place_parts
from minifut.passes.place_results import place_results
from minifut.passes.read_through import read_through
from minifut.passes.recursion import loop_over_recursion
from minifut.passes.remove_checks.driver import remove_checks
from minifut.passes.sequentialise import sequentialise
from minifut.passes.short_circuit.driver import short_circuit
from minifut.passes.simplify.driver import simplify
from minifut.passes.speculate.driver import speculate
from minifut.passes.split.driver import split_index_sets
from minifut.passes.tile_steps import tile_steps
from minifut.passes.tiling.driver import tile
from minifut.passes.unroll_short import unroll_short
from minifut.suggestions import nearest


def _on_soacs(name: str, function: PassFunction) -> Pass:
    return Pass(name, function, SOACS, SOACS)


def _on_kernels(name: str, function: PassFunction, summary: str = "") -> Pass:
    return Pass(name, function, KERNELS, KERNELS, summary)


DIFFERENTIATE = Pass("differentiate", differentiate, DIFFERENTIABLE, SOACS)
INLINE = _on_soacs("inline", inline)
LOOP_OVER_RECURSION = _on_soacs("loop-over-recursion", loop_over_recursion)
SIMPLIFY = _on_soacs("simplify", simplify)
REMOVE_CHECKS = _on_soacs("remove-checks", remove_checks)
FOLD_SCANS = _on_soacs("fold-scans", fold_scans)
FUSE = _on_soacs("fuse", fuse)
PARTIAL_INLINE = _on_soacs("partial-inline", partial_inline)
INTERCHANGE_LOOPS = _on_soacs("interchange-loops", interchange_loops)
UNROLL_SHORT = _on_soacs("unroll-short", unroll_short)
CHOOSE_UPDATES = _on_soacs("choose-updates", choose_updates)
CHOOSE_BY_SHIFTS = _on_soacs("choose-by-shifts", choose_by_shifts)
READ_THROUGH = _on_soacs("read-through", read_through)
SIMPLIFY_KERNELS = _on_kernels(
    "simplify-kernels", simplify, "simplify segmented operations"
)
SPLIT = _on_soacs("split", split_index_sets)
SPECULATE = _on_soacs("speculate", speculate)
ACCUMULATE = _on_soacs("accumulate", accumulate)
FOLD_ROWS_OF_VIEWS = _on_soacs("fold-rows-of-views", fold_rows_of_views)
FLATTEN = Pass("flatten", flatten, SOACS, KERNELS)
FLATTEN_MODERATELY = Pass("flatten-moderately", flatten_moderately, SOACS, KERNELS)
FLATTEN_FULLY = Pass("flatten-fully", flatten_fully, SOACS, KERNELS)
TILE = _on_kernels("tile", tile)
DROP_COVERED_FILLS = _on_kernels("drop-covered-fills", drop_covered_fills)
PLACE_PARTS = _on_kernels("place-parts", place_parts)
PLACE_RESULTS = _on_kernels("place-results", place_results)
SEQUENTIALISE = _on_kernels("sequentialise", sequentialise)
JOIN_LOOPS = _on_kernels("join-loops", join_loops)
SHORT_CIRCUIT = _on_kernels("short-circuit", short_circuit)
COMPARE_UNSIGNED = _on_kernels("compare-unsigned", compare_unsigned)
CHECK_LOOPS_FIRST = _on_kernels("check-loops-first", check_loops_first)
UNSWITCH_CPU = _on_kernels(
    "unswitch-cpu",
    unswitch_for_cpu,
    "copy loops for the versions that a CPU's default parameters choose",
)
UNSWITCH_GPU = _on_kernels(
    "unswitch-gpu",
    unswitch_for_gpu,
    "copy loops for the versions that a GPU's default parameters choose",
)
FUSE_SCANS = _on_kernels("fuse-scans", fuse_scans)
TILE_STEPS = _on_kernels("tile-steps", tile_steps)
LAYOUT_CPU = _on_kernels(
    "layout-cpu", lay_out_for_cpu, "lay arrays out as kernels of a CPU access them"
)
LAYOUT_GPU = _on_kernels(
    "layout-gpu",
    lay_out_for_gpu,
    "lay arrays out so that neighbouring threads of a GPU access neighbours in memory",
)

DEFAULT: tuple[Pass, ...] = (
    # before everything else, so that the rest applies to derivatives like to all code
    DIFFERENTIATE,
    # first, since all that is called inside a SOAC is for kernels from then on
    LOOP_OVER_RECURSION,
    # early, so that what follows sees producers and consumers in one body
    INLINE,
    # so that sizes are equal where they can be, and checks are outside of nests
    SIMPLIFY,
    # before fusion, which moves nothing across a check
    REMOVE_CHECKS,
    # what is reduced can be fused with more
    FOLD_SCANS,
    FUSE,
    # when the last map of a function is all that makes its result
    PARTIAL_INLINE,
    # when a step is one map; what makes the state is fused with the map of loops
    INTERCHANGE_LOOPS,
    # when producers and consumers are one, and what they read is seen
    UNROLL_SHORT,
    # fusion leaves doubled inputs, and results that only the fused consumer needed
    SIMPLIFY,
    # when loops are written out, so that places are known
    CHOOSE_UPDATES,
    # when known numbers have chosen; scalar code is all that splitting leaves then
    CHOOSE_BY_SHIFTS,
    # when readers that fold few elements have become reads of single ones
    READ_THROUGH,
    # when producers have been fused into the maps that update
    ACCUMULATE,
    # before flattening, so that tiles and vectors see interiors without conditions
    SPLIT,
    # after splitting, which needs no branch at all inside
    SPECULATE,
    # when what folds is fused; in spaces of flat elements, rows would be copied in each
    FOLD_ROWS_OF_VIEWS,
    FLATTEN,
    # rows of rows become one index; what only flattening read is removed
    SIMPLIFY_KERNELS,
    # while the reductions in threads are still seen as such
    TILE,
    # when scatters are fused with all that they write
    DROP_COVERED_FILLS,
    # before branches that make parts
    PLACE_PARTS,
    # after all versions were made
    PLACE_RESULTS,
    # what flattening left inside threads
    SEQUENTIALISE,
    # loops have parameters that never change, and reads of what was just computed
    SIMPLIFY_KERNELS,
    # when equal numbers of rounds have one name
    JOIN_LOOPS,
    # when reads through views have become reads of the arrays
    SHORT_CIRCUIT,
    # when nothing requires facts any more, which do not see through conversions
    COMPARE_UNSIGNED,
)

FUSED: tuple[Pass, ...] = DEFAULT[: DEFAULT.index(ACCUMULATE)]
"""up to SOACs that are fused and simplified"""

MODERATE: tuple[Pass, ...] = tuple(
    FLATTEN_MODERATELY if step is FLATTEN else step for step in DEFAULT
)
FULL: tuple[Pass, ...] = tuple(
    FLATTEN_FULLY if step is FLATTEN else step for step in DEFAULT
)

FOR_SCHEDULE: dict[str, tuple[Pass, ...]] = {
    # last, since what is good for one schedule is bad for the other; loops first, since
    # all versions of a place must return results in the same layout
    "cpu": (CHECK_LOOPS_FIRST, UNSWITCH_CPU, LAYOUT_CPU, FUSE_SCANS, TILE_STEPS),
    "gpu": (UNSWITCH_GPU, LAYOUT_GPU),
}
"""what follows the pipeline, for each schedule apart"""

ALL_PASSES: tuple[Pass, ...] = tuple(
    dict.fromkeys(
        (*DEFAULT, *MODERATE, *FULL, *FOR_SCHEDULE["cpu"], *FOR_SCHEDULE["gpu"])
    )
)


def run_pipeline(
    program: Program,
    names: NameSource,
    *,
    options: PipelineOptions | None = None,
    steps: Sequence[Pass] = DEFAULT,
) -> Program:
    """Soacs in, Kernels out (or what there is after `options.stop_after`)."""
    if options is not None and options.stop_after is not None:
        find_pass(options.stop_after)
    made: Program = run_steps(steps, program, names, options)
    return made


def run_pass(name: str, program: Program, names: NameSource | None = None) -> Program:
    """The program after the one pass of that name."""
    if names is None:
        from minifut.ir.parser import names_after

        names = names_after(program)
    made: Program = run_step(find_pass(name), program, names, PipelineOptions())
    return made


def find_pass(name: str, known: Sequence[Pass] = ALL_PASSES) -> Pass:
    """The pass of that name; a UsageError with the list if there is none."""
    for candidate in known:
        if candidate.name == name:
            return candidate
    names = [p.name for p in known]
    near = nearest(name, names) or f"the passes are {', '.join(names)}"
    raise UsageError(f"there is no pass '{name}'; {near}")


__all__ = [
    "ALL_PASSES",
    "DEFAULT",
    "FUSED",
    "PipelineOptions",
    "find_pass",
    "run_pass",
    "run_pipeline",
]
