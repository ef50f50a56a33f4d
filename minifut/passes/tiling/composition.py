"""The order of the rules: from a kernel to one in tiles, step by step.

Each step is a strategy over the statements that have taken the kernel's place so far;
after any number of steps there is a program that runs (slowly, until the last).

    recognise           which dimensions
    strip-mine          grid to groups and threads; threads to registers; the reduction
                        to a loop, the loop to one over blocks
    distribute,         registers, then threads: around the loops over blocks, then into
    interchange         them; registers into the loop over steps as well
    copy tiles          what threads share, once for each block
    load registers      what does not change from step to step, once before the steps
"""

from __future__ import annotations

from typing import Any

from minifut.ir.core import Body, Stm
from minifut.ir.kernels import REGISTER, THREAD, Level, SegMap
from minifut.passes.simplify.driver import simplify_body
from minifut.passes.tiling.copy_tile import copy_tile
from minifut.passes.tiling.distribute_nest import (
    distribute_nest,
    hoist_from_nest,
    interchange_nest_with_loop,
)
from minifut.passes.tiling.interchange_dimensions import interchange_dimensions
from minifut.passes.tiling.load_registers import load_registers
from minifut.passes.tiling.merge_dimensions import merge_dimensions
from minifut.passes.tiling.recognise import recognise_tiling
from minifut.passes.tiling.split_reduction import split_reduction
from minifut.passes.tiling.strip_mine_grid import strip_mine_grid, strip_mine_threads
from minifut.passes.tiling.strip_mine_loop import sequentialise_redomap, strip_mine_loop
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Outcome, Rule
from minifut.rewrite.strategy import (
    Rewriting,
    Strategy,
    once,
    sequence,
    top_down,
    until_fixpoint,
)


def tidy(node: Any, rewriting: Rewriting) -> Any:
    """Not a rule of its own: copies are followed, and what is not needed is removed."""
    assert isinstance(node, Body)
    return simplify_body(node, rewriting.names, rewriting.scope)


def at(level: Level, rule: Rule) -> Rule:
    """The rule on nests of this level only."""

    def restricted(statement: Stm, context: StatementContext) -> Outcome:
        if statement.exp_of(SegMap).level == level:
            moved: Outcome = rule(statement, context)
            return moved
        return None

    return Rule(rule.name, restricted, rule.label, rule.paper, of=SegMap)


def around_loops(level: Level) -> Strategy:
    """Distribute and interchange nests of one level until none is left to move."""
    move = (distribute_nest, interchange_nest_with_loop)
    return until_fixpoint(
        sequence(
            top_down(hoist_from_nest), top_down(*[at(level, rule) for rule in move])
        )
    )


STRIP_MINING: tuple[Strategy, ...] = (once(strip_mine_grid), once(strip_mine_threads))
AFTER: tuple[Strategy, ...] = (
    top_down(sequentialise_redomap),
    top_down(strip_mine_loop),
    around_loops(REGISTER),
    around_loops(THREAD),
    tidy,
    until_fixpoint(top_down(copy_tile)),
    tidy,
    until_fixpoint(top_down(load_registers)),
    tidy,
)

BLOCK_AND_REGISTER = (*STRIP_MINING, *AFTER)
BLOCK = (STRIP_MINING[0], *AFTER)
"""without register tiles"""

RECOGNISE: tuple[Strategy, ...] = (
    until_fixpoint(top_down(merge_dimensions)),
    once(interchange_dimensions),
    once(recognise_tiling),
)
SPLIT: tuple[Strategy, ...] = (once(split_reduction),)
