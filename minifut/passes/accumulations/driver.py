"""Accumulations: turn updates of accumulators into what can be done better.

Inside out, each `WithAcc` is tried as a map over all elements, a reduction, or a
histogram; one with several updates is taken apart first. What fires is simplified and
fused with its neighbours and tried again, since a sum for every index is often a map of
sums. When nothing fires, what is computed for updates is distributed: its values are
stored, so that inner updates have been fused with what makes them before. What no rule
takes stays: kernels update memory (`lowering.accumulators`). Small arrays that folds
and histograms combine become scalars (`combine_scalars`).
"""

from __future__ import annotations

from typing import Any

from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Loop, Program, Stm
from minifut.ir.derivatives import RETURN_SWEEP
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.search import contains
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Reduce, Scan, Scatter
from minifut.ir.traverse import children, map_children, walk
from minifut.names import NameSource
from minifut.passes.accumulations import concatenations
from minifut.passes.accumulations.branches import update_after_branch
from minifut.passes.accumulations.distribute import distribute_updates
from minifut.passes.accumulations.elements import update_every_element
from minifut.passes.accumulations.factors import sum_before_product
from minifut.passes.accumulations.histograms import gather_in_histogram
from minifut.passes.accumulations.loops import map_of_update_loop
from minifut.passes.accumulations.reductions import reduce_updates
from minifut.passes.accumulations.rounds import sum_after_loop
from minifut.passes.accumulations.rows import update_elements_of_rows
from minifut.passes.accumulations.scalars import combine_scalars
from minifut.passes.accumulations.separate import separate_updates
from minifut.passes.accumulations.shifts import gather_shifted_updates
from minifut.passes.flatten.interchange_operator import is_scalar_operator
from minifut.passes.fusion.driver import fuse
from minifut.passes.remove_checks.driver import remove_checks
from minifut.passes.simplify.driver import simplify
from minifut.rewrite.strategy import Rewriting, bottom_up
from minifut.rewrite.trace import Trace

ROUNDS = 12
RULES = bottom_up(
    update_after_branch,
    map_of_update_loop,
    update_elements_of_rows,
    sum_before_product,
    separate_updates,
    update_every_element,
    gather_shifted_updates,
    reduce_updates,
    gather_in_histogram,
    concatenations.split_histogram_of_concat,
    concatenations.split_scatter_of_concat,
    combine_scalars,
)
DISTRIBUTION = bottom_up(distribute_updates)
SUMS = bottom_up(sum_after_loop, closed=(*SOAC_EXPRESSIONS, WithAcc))


def accumulate(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Make maps, reductions and histograms of updates of accumulators."""
    before = program
    for _ in range(ROUNDS):
        if not contains(program, WithAcc | Hist | Scatter) and not _folds_arrays(
            program
        ):
            break
        rewriting = Rewriting(names, scope_of(program), trace or Trace())
        after = RULES(program, rewriting)
        if after is program:
            after = DISTRIBUTION(program, rewriting)
        if after is program:
            break
        program = simplify(fuse(simplify(after, names), names, trace), names)
    if _marked(program):
        summed = SUMS(program, Rewriting(names, scope_of(program), trace or Trace()))
        if summed is not program:
            summed = simplify(fuse(simplify(summed, names), names, trace), names)
        program = _unmarked(summed)
    if program is before:
        return program
    # gathered values follow conditions that those of their place decide
    return simplify(remove_checks(program, names, trace), names)


def _marked(node: Any) -> bool:
    """Whether there is a loop of a return sweep."""
    if isinstance(node, Stm) and RETURN_SWEEP in node.attributes:
        return True
    return contains(node, Loop) and any(map(_marked, children(node)))


def _unmarked(node: Any) -> Any:
    """What is left of loops of return sweeps is like all others."""
    node = map_children(node, _unmarked)
    if isinstance(node, Stm) and RETURN_SWEEP in node.attributes:
        kept = tuple(a for a in node.attributes if a != RETURN_SWEEP)
        return replace(node, attributes=kept)
    return node


def _folds_arrays(program: Program) -> bool:
    return any(
        isinstance(node, Scan | Reduce) and not is_scalar_operator(node.operator)
        for node in walk(program)
    )
