"""How many points at once: code for each width, of which the build chooses one."""

from __future__ import annotations

from collections.abc import Callable

from minifut.ir.kernels import Parameter
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lower_kernel import KernelBuilder

WIDTHS = (16, 8)
LANES = Parameter(
    "lanes",
    "lanes",
    (("cpu", 16), ("gpu", 1)),
    (1, 16),
    "points that a core does at once where bodies have loops: 16, 8 or 1",
)


def by_width(k: KernelBuilder, make: Callable[[int], None]) -> list[kc.Statement]:
    """What `make` emits for the width that the parameter asks for; nothing for single
    points. Raises `NotLifted` if `make` does."""
    chosen = kc.Block(())
    for width in reversed(WIDTHS):
        with k.nested() as statements:
            make(width)
        wanted = k.build_constant(LANES) >= width
        chosen = kc.Block((kc.Chosen(wanted, kc.Block(tuple(statements)), chosen),))
    return list(chosen.statements)
