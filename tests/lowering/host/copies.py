"""How often a program copies memory."""

from __future__ import annotations

from minifut import stages
from minifut.errors import Source
from minifut.ir.search import nodes_of
from minifut.kernel_ir import nodes as kc


def copies(text: str) -> int:
    """The copies of memory by the host."""
    core = stages.to_core(stages.check(Source("test.fut", text)))
    scheduled = stages.to_schedule(stages.to_kernels(core), "cpu")
    program = stages.to_kernel_code(scheduled, "cpu")
    return sum(1 for f in program.functions for _ in nodes_of(kc.CopyMemory, f))
