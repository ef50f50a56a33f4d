"""Kernel code to test with: programs of this repository and examples of rules."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from minifut import lowering, stages
from minifut.ir.core import Program
from minifut.kernel_ir.program import KernelProgram
from minifut.lowering.pipelines import to_kernel_code
from minifut.rewrite.rule import REGISTRY
from tests.rewrite.examples import examples_of
from tests.rewrite.lowering_examples import program_of_example, schedule_of

ROOT = Path(__file__).parents[2]
FILES = sorted(
    [*ROOT.glob("tests/programs/*.fut"), *ROOT.glob("examples/*.fut")],
    key=lambda path: path.stem,
)

for module in pkgutil.walk_packages(lowering.__path__, "minifut.lowering."):
    importlib.import_module(module.name)

LOWERING_RULES = sorted(
    n for n, r in REGISTRY.items() if r.module.startswith("minifut.lowering.")
)


@cache
def kernels_of(path: Path) -> Program:
    """A program in the Kernels dialect."""
    checked = stages.check(stages.read_source(path))
    return stages.to_kernels(stages.to_core(checked))


def lowered(path: Path, schedule: str) -> KernelProgram:
    """A program as kernel code."""
    program = kernels_of(path)
    with stages.deep_recursion():
        return to_kernel_code(stages.to_schedule(program, schedule), schedule)


def lowered_examples(name: str) -> Iterator[KernelProgram]:
    """The examples of a rule for lowering as kernel code."""
    rule = REGISTRY[name]
    for example in examples_of(rule):
        yield to_kernel_code(program_of_example(example), schedule_of(rule))
