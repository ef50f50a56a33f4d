"""How many points at once: code for each width, of which the build chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.kernels import Parameter
from minifut.ir.traverse import walk
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lower_kernel import KernelBuilder

WIDTHS = (16, 8)
LANES = Parameter(
    "lanes",
    "lanes",
    (("cpu", 16), ("gpu", 1)),
    (1, 16),
    "points of 32 bits that a core does at once in explicit vectors: 16, 8 or 1",
)


def by_width(
    k: KernelBuilder, body: Sequence[kc.Statement], make: Callable[[int], None]
) -> list[kc.Statement]:
    """What `make` emits for the width that the parameter asks for; nothing for single
    points. Raises `NotLifted` if `make` does.

    Where loops carry values of 64 bits, as many fill a vector as half of the width.
    """
    share = 2 if carries_long_values(body) else 1
    chosen = kc.Block(())
    for width in reversed(WIDTHS):
        with k.nested() as statements:
            make(width // share)
        wanted = k.build_constant(LANES) >= width
        chosen = kc.Block((kc.Chosen(wanted, kc.Block(tuple(statements)), chosen),))
    return list(chosen.statements)


def carries_long_values(body: Sequence[kc.Statement]) -> bool:
    """Whether variables of 64 bits change, other than those that count."""
    return any(
        isinstance(node, kc.Assign) and node.target.type.scalar.bits == 64
        for statement in body
        for node in walk(statement)
    )
