"""Whether the lanes of a divergent loop, or of a scan, have values for more registers
than there are.

    while (x * x + y * y < 4 && k < m)      x, y, k, the point and the mask: 2 registers
        {.. 2 * x * y .. k + 1}             of AVX2 each for 16 lanes; 2, 4, m, 1: one
                                            each; with two temporary values 20 of 16

What a divergent loop changes is selected by the mask in each round, so that a value
without a register is stored and loaded between one round and the next. A second
register for each value hides the latency of operations, but more lanes wait for the
last one. Where lanes load from places of their own, or call functions, all that is
little: more loads at once gain (`divergent_loops`).

A scan has the operands of its operator and what came before, each with all components.

Measured on AVX2, 16 lanes over 8: escape times 1.05 to 1.2, random walks 1.4 with more
than 16 registers; Newton's method 0.75, greatest common divisors 0.85 to 0.9 with less;
8 lanes over 4: a segmented scan of f64 together with a scan of i64 1.25 to 1.4.
With AVX-512 a value takes one register of 32.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.kernels import Parameter
from minifut.ir.node import immutable
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes.editor import loops_of
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.varying import varies
from minifut.names import Name

CROWDED = Parameter(
    "cpu.crowded_lanes",
    "lanes",
    (("cpu", 16), ("gpu", 1), ("avx2", 8)),
    (1, 16),
    "at most as many lanes of divergent loops and scans with over 16 registers",
)
REGISTERS = 16
"""of AVX2"""
EACH = 2
"""registers of AVX2 for a value of 16 lanes"""
TEMPORARY = 2
"""values inside of a round"""


@immutable
class RoundValues:
    """How many values rounds of a loop have in lanes, its mask included, and how many
    that are the same in all lanes."""

    varying: int
    uniform: int

    @property
    def registers(self) -> int:
        """Those of AVX2 with 16 lanes."""
        return EACH * (self.varying + TEMPORARY) + self.uniform

    def __str__(self) -> str:
        return f"rounds need {self.registers} of {REGISTERS} registers of AVX2"


def crowded_rounds(
    body: Sequence[kc.Statement], varying: frozenset[Name]
) -> RoundValues | None:
    """The values of a loop in the body of a point for which there are not registers
    enough with 16 lanes; None if there is none."""
    for loop in loops_of(body):
        ends = (
            [loop.condition] if isinstance(loop, kc.While) else [loop.start, loop.bound]
        )
        if any(varies(end, varying) for end in ends):
            found = _values(loop, varying)
            if found is not None and found.registers > REGISTERS:
                return found
    return None


def _values(loop: kc.For | kc.While, varying: frozenset[Name]) -> RoundValues | None:
    """Those of a divergent loop; None if its lanes load or call functions."""
    if calls_functions(loop):
        return None
    inside = declared(loop.body.statements)
    carried = assigned(loop.body.statements) - inside
    used: set[Name] = set()
    literals: set[tuple[str, object]] = set()
    for node in walk(loop):
        match node:
            case kc.Load(_, index, _) if varies(index, varying):
                return None
            case kc.Variable(name, _):
                used.add(name)
            case kc.Literal(value, type_) if type_ != kc.LONG:
                literals.add((str(type_), value))
    given = used - inside - carried
    uniform = given - varying
    return RoundValues(
        len(carried) + len(given & varying) + 1, len(literals) + len(uniform)
    )


def crowded_scan(components: Sequence[kc.Variable]) -> tuple[Parameter, ...]:
    """The limit on the lanes of a scan of these components, if it needs one: they have
    16 lanes, or 8 if some are of 64 bits."""
    bits = [variable.type.scalar.bits for variable in components]
    halves = 64 in bits
    each = sum(EACH if not halves or b == 64 else 1 for b in bits)
    return (CROWDED,) if 3 * each + EACH * TEMPORARY > REGISTERS else ()
