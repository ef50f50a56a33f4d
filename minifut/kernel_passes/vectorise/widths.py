"""Vector widths: code for each, of which the build of a kernel keeps one."""

from __future__ import annotations

from minifut.ir.kernels import Parameter
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.vectorise.context import LoopContext

WIDTHS = (16, 8)
LANES = Parameter(
    "lanes",
    "lanes",
    (("cpu", 16), ("gpu", 1)),
    (1, 16),
    "lanes of explicit vectors, for elements of 32 bits: 16, 8 or 1",
)


def loop_context(k: CodeBuilder) -> LoopContext:
    """A loop whose vector width is chosen by the parameter."""
    return LoopContext(
        k, WIDTHS, lambda width: k.build_constant(LANES) >= width, (LANES,)
    )
