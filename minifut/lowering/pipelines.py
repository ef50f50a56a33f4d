"""From the Kernels dialect to kernel code that is ready to be printed.

    lower-cpu, lower-gpu     one schedule of a program
    kernel_passes            what changes the kernels then

A list of passes for each schedule, that those of `passes.pipelines` end with.
"""

from __future__ import annotations

from functools import partial

from minifut.debug import debugging
from minifut.ir import parser
from minifut.ir.core import Program
from minifut.ir.dialect import KERNELS
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_ir.verify import KERNEL_CODE
from minifut.kernel_passes import pipelines as kernel_passes
from minifut.lowering.program import lower_program
from minifut.names import NameSource
from minifut.passes import pipelines as passes
from minifut.passes.pipeline import Pass, PipelineOptions, run_steps
from minifut.rewrite.trace import Trace


def _lower(
    schedule: str, program: Program, names: NameSource, trace: Trace | None = None
) -> KernelProgram:
    return lower_program(program, schedule, trace, names)


LOWER: dict[str, Pass] = {
    schedule: Pass(
        f"lower-{schedule}",
        partial(_lower, schedule),
        KERNELS,
        KERNEL_CODE,
        f"make kernels and host functions under the {schedule} schedule",
    )
    for schedule in ("cpu", "gpu")
}
FOR_SCHEDULE: dict[str, tuple[Pass, ...]] = {
    schedule: (step, *kernel_passes.FOR_SCHEDULE[schedule])
    for schedule, step in LOWER.items()
}


ALL_PASSES = (*passes.ALL_PASSES, *LOWER.values(), *kernel_passes.ALL_PASSES)


def find_pass(name: str) -> Pass:
    """The pass of that name, over the core or over kernel code."""
    return passes.find_pass(name, ALL_PASSES)


def names_after(program: Program | KernelProgram) -> NameSource:
    """Fresh names that do not collide with any in the program."""
    if isinstance(program, Program):
        return parser.names_after(program)
    from minifut.kernel_ir import reader

    return reader.names_after(program)


def to_kernel_code(
    program: Program, schedule: str, options: PipelineOptions | None = None
) -> KernelProgram:
    """A program under one schedule, after all passes or up to where the options say."""
    # to verify kernel code costs a tenth of the time
    options = options or PipelineOptions(verify=debugging("verify"))
    steps = FOR_SCHEDULE[schedule]
    names = parser.names_after(program)
    made: KernelProgram = run_steps(steps, program, names, options)
    return made
