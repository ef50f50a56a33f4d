"""From a source text to its tiled kernel, with programs around what stands so far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Body, If, Program, Stm
from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.kernels import GetParameter, SegMap
from minifut.ir.node import replace
from minifut.ir.parser import names_after
from minifut.ir.scope import scope_of
from minifut.ir.traverse import walk
from minifut.ir.verify import verify
from minifut.passes.pipelines import PipelineOptions, run_pipeline
from minifut.passes.tiling.composition import BLOCK_AND_REGISTER, RECOGNISE
from minifut.passes.tiling.driver import tile
from minifut.passes.tiling.marks import Mark, marked
from minifut.passes.tiling.nest import redomaps_of
from minifut.rewrite.strategy import Rewriting, Strategy
from minifut.rewrite.trace import Trace

SMALL = ((2, 2, 3, 2, 3), (1, 3, 2, 4, 1), (3, 1, 8, 1, 4))
"""threads in rows and columns, steps of a block, elements of a thread"""
NAMES = (
    "block_rows",
    "block_columns",
    "block_depth",
    "register_rows",
    "register_columns",
)


@cache
def to_core(text: str) -> Program:
    return stages.to_core(stages.check(Source("test.fut", text)))


@cache
def to_kernels(text: str) -> Program:
    """The program as tiling finds it."""
    core = to_core(text)
    options = PipelineOptions(stop_after="simplify-kernels")
    return run_pipeline(core, names_after(core), options=options)


@cache
def tiled(text: str) -> Program:
    """The program after the pass, verified."""
    before = to_kernels(text)
    after = tile(before, names_after(before))
    verify(after, KERNELS)
    return after


def kernel_alone(program: Program) -> tuple[Program, Stm]:
    """The program with the kernel that tiling is about in place of its choices."""
    (function,) = program.functions
    found = [
        node
        for node in walk(program)
        if isinstance(node, Stm)
        and isinstance(node.exp, SegMap)
        and redomaps_of(node.exp)
    ]
    kept = [s for s in function.body.statements if not isinstance(s.exp, If)]
    body = Body((*kept, found[0]), tuple(p.name for p in found[0].pattern))
    return replace(program, functions=(replace(function, body=body),)), found[0]


def prefixes(
    text: str,
    nest: str,
    steps: Sequence[Strategy] = (*RECOGNISE, *BLOCK_AND_REGISTER),
    trace: Trace | None = None,
) -> list[Program]:
    """The program after each number of steps."""
    program, kernel = kernel_alone(to_kernels(text))
    (function,) = program.functions
    names = names_after(program)
    rewriting = Rewriting(names, scope_of(program), trace or Trace())
    results = tuple(p.name for p in kernel.pattern)
    above = function.body.statements[:-1]
    body = Body((marked(kernel, Mark(nest)),), results)
    made = []
    for step in steps:
        body = step(body, rewriting)
        whole = Body((*above, *body.statements), body.result)
        made.append(replace(program, functions=(replace(function, body=whole),)))
    return made


def parameters(nest: str, sizes: Sequence[int], **others: int) -> dict[str, int]:
    """Values by full name."""
    named = dict(zip(NAMES, sizes, strict=True)) | others
    return {f"{nest}.{name}": value for name, value in named.items()}


def tile_parameters(program: Program) -> list[str]:
    return [
        node.parameter.name for node in walk(program) if isinstance(node, GetParameter)
    ]


def run_with(program: Program, given: list[Any], values: dict[str, int]) -> Any:
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in given]
    return run(program, "main", copies, values)
