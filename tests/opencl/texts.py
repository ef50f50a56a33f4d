"""The texts of single kernels, and of modules for printed programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from minifut.ir.core import Program
from minifut.kernel_ir import nodes as kc
from minifut.lowering.pipelines import to_kernel_code
from minifut.opencl.both_schedules import both
from minifut.opencl.kernel_texts import Texts
from minifut.opencl.module import PartText, joined, part_of


def kernel_text(kernel: kc.Kernel) -> str:
    """The OpenCL C of one kernel, to be compiled after the prelude."""
    texts = Texts()
    head, text = texts.of_kernel(kernel)
    return "".join([head, *texts.functions.values(), text])


def module_text(
    program: Program, *, schedule: str | None, name: str = "program"
) -> str:
    """The text of the module for one schedule, or (None) for both."""

    def part(each: str, defined: Callable[[], Sequence[str]] = list) -> PartText:
        return part_of(to_kernel_code(program, each), name, defined=defined)

    if schedule is not None:
        return joined([part(schedule)])
    return joined(both(partial(part, "cpu"), partial(part, "gpu")))
