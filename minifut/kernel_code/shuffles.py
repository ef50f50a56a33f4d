"""Vectors interleaved: `INTERLEAVE_LOW_16X32(a, b)` is a0, b0, a1, b1, .. a7, b7.

Clang's own shuffle becomes one or two instructions; the `shuffle2` of OpenCL, which is
for masks known only at run time too, often a call. Named by lanes and bits of a lane.
"""

from __future__ import annotations

_MASKS = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}


def interleave(part: str, lanes: int, bits: int) -> str:
    """The name of the macro; `part` is "LOW" or "HIGH", the half that is taken."""
    return f"INTERLEAVE_{part}_{lanes}X{bits}"


def _definition(part: str, lanes: int, bits: int) -> str:
    first = 0 if part == "LOW" else lanes // 2
    places = [i for n in range(lanes // 2) for i in (first + n, lanes + first + n)]
    numbers = ", ".join(map(str, places))
    name = interleave(part, lanes, bits)
    return (
        "#if defined(__clang__)\n"
        f"#define {name}(a, b) __builtin_shufflevector(a, b, {numbers})\n"
        "#else\n"
        f"#define {name}(a, b) shuffle2(a, b, ({_MASKS[bits]}{lanes})({numbers}))\n"
        "#endif\n"
    )


SHUFFLES: dict[str, str] = {
    interleave(part, lanes, bits): _definition(part, lanes, bits)
    for part in ("LOW", "HIGH")
    for lanes, bits in ((16, 8), (16, 16), (16, 32), (8, 64))
}
