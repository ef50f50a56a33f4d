"""The nearest f16, f32 and f64 to a number, and the fewest digits that name it.

rounded(0.1, 32)            0.10000000149011612
rounded(1e39, 32)           inf
digits(0.10000000149011612, 32)   "0.1"
"""

from __future__ import annotations

from math import copysign, inf
from struct import Struct

_PACKED = {16: Struct("e"), 32: Struct("f")}
_ENOUGH = {16: 5, 32: 9}
"""significant decimal digits that tell all floats of a width apart"""


def rounded(number: float, bits: int) -> float:
    """The nearest float of so many bits; what is too large becomes infinite."""
    if bits == 64:
        return number
    packed = _PACKED[bits]
    try:
        nearest: float = packed.unpack(packed.pack(number))[0]
        return nearest
    except OverflowError:
        return copysign(inf, number)


def round32(number: float) -> float:
    """The nearest f32."""
    return rounded(number, 32)


def digits(number: float, bits: int) -> str:
    """The fewest digits that give a finite float of so many bits again, with a point
    or an exponent."""
    text = repr(number)
    if bits < 64:
        tries = (f"{number:.{n}g}" for n in range(1, _ENOUGH[bits]))
        short = next((t for t in tries if rounded(float(t), bits) == number), text)
        text = repr(float(short))
    return text
