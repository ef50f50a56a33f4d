"""How many points at once: code for each width, of which the build chooses one."""

from __future__ import annotations

from minifut.ir.kernels import Parameter
from minifut.kernel_code.lanes.rule import LoopSite
from minifut.kernel_code.threads.builder import KernelBuilder

WIDTHS = (16, 8)
LANES = Parameter(
    "lanes",
    "lanes",
    (("cpu", 16), ("gpu", 1)),
    (1, 16),
    "points of 32 bits that a core does at once in explicit vectors: 16, 8 or 1",
)


def site_of(k: KernelBuilder) -> LoopSite:
    """A loop where the parameter decides how many points are done at once."""
    return LoopSite(k, WIDTHS, lambda width: k.build_constant(LANES) >= width, (LANES,))
