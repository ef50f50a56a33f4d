"""What limits the lanes of a point besides the vectors of the device.

Values for more registers than there are (`registers`), and divergent loops that compute
with integers of 64 bits alone:

    while (x != 1) x = x % 2 == 0 ? x / 2 : 3 * x + 1      Collatz
    while (high - low > 1) {m = (low + high) / 2; ..}      a root by bisection

A vector of AVX2 has four of them, without products, shifts that keep the sign, minima
or conversions; lanes wait for the longest, and each value is selected by the mask. A
processor does three or more of these operations at once for single points, and selects
without jumps.

Measured on AVX2, single points over four lanes: Collatz 0.63 of the time, bisection
0.85, greatest common divisors 0.6, counts of bits 0.1. Counters that grow by one are
cheap in lanes, and floats of 64 bits have all operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.kernels import Parameter
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes.editor import loops_of
from minifut.kernel_passes.vectorise import calls, divergent_loops, registers
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.names import Name

LONG_INTEGERS = Parameter(
    "cpu.long_integer_lanes",
    "lanes",
    (("cpu", 16), ("gpu", 1), ("avx2", 1)),
    (1, 16),
    "at most as many lanes of divergent loops of integers of 64 bits",
)


def has_long_integers(body: Sequence[kc.Statement], varying: frozenset[Name]) -> bool:
    """Whether a loop in the body of a point that ends for each of them on its own
    carries integers alone, some of 64 bits, and loads nothing."""
    return any(
        isinstance(loop, kc.While)
        and varies(loop.condition, varying)
        and _carries_long_integers(loop, varying)
        for loop in loops_of(body)
    )


def _carries_long_integers(loop: kc.While, varying: frozenset[Name]) -> bool:
    if calls.calls_functions(loop):
        return False
    carried = assigned(loop.body.statements) - declared(loop.body.statements)
    counted = {*divergent_loops.counters_in(loop.body)}
    found = False
    for node in walk(loop):
        match node:
            case kc.Load(_, index, _) if varies(index, varying):
                return False
            case kc.Variable(name, type_) if name in carried:
                if type_.scalar.is_float:
                    return False
                found |= type_.scalar.bits == 64 and name not in counted
    return found


def lane_limits(
    body: Sequence[kc.Statement], index: Name
) -> tuple[tuple[Parameter, ...], tuple[kc.Comment, ...]]:
    """Parameters that have at most as many lanes as they allow for the point `index`,
    and why, for those who read the code."""
    varying = find_varying(body, [index])
    crowd = registers.crowded_rounds(body, varying)
    limits = () if crowd is None else (registers.CROWDED,)
    comments = () if crowd is None else (kc.Comment(str(crowd)),)
    if has_long_integers(body, varying):
        limits = (*limits, LONG_INTEGERS)
    return limits, comments
