"""Kernel texts with parts that depend on tile sizes: unrolled and chosen when built.

    $for i < REGISTER_ROWS            sum_0 = sum_0 + xs[0];
        sum_${i} = sum_${i} + xs[${i}];     →    sum_1 = sum_1 + xs[1];
    $end

    low_$[2 * ${i} + 1]               low_3                     where i is 1

    $if LANES % 16 == 0 ... $else ... $end

The compiler prints such a text once; a copy for the values of the tile sizes is made
here when the kernel is built, which needs no compiler. Registers of a tile become named
variables that way, in any number, where C compilers do badly with arrays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_COMPUTED = re.compile(r"\$\[([^]]*)\]")


def expanded(text: str, constants: Mapping[str, int]) -> str:
    """The text for these values of its macros."""
    if "$" not in text:
        return text
    lines: list[str] = []
    _expand(text.split("\n"), dict(constants), {}, lines)
    return "\n".join(lines)


def _expand(
    source: list[str],
    values: Mapping[str, int],
    indices: dict[str, int],
    lines: list[str],
) -> None:
    at = 0
    while at < len(source):
        line = source[at]
        word, _, rest = line.lstrip().partition(" ")
        if word not in ("$for", "$if"):
            lines.append(_filled(line, indices) if "$" in line else line)
            at += 1
            continue
        middle, end = _extent(source, at)
        if word == "$for":
            index, _, count = rest.partition(" < ")
            for number in range(_value(count, values, indices)):
                copy = {**indices, index: number}
                _expand(source[at + 1 : end], values, copy, lines)
        elif _value(rest, values, indices):
            _expand(source[at + 1 : middle], values, indices, lines)
        else:
            _expand(source[middle + 1 : end], values, indices, lines)
        at = end + 1


def _extent(source: list[str], start: int) -> tuple[int, int]:
    """The lines of the `$else` (or else the end) and of the `$end` that belong to the
    directive."""
    depth, middle = 0, None
    for at in range(start, len(source)):
        word = source[at].lstrip().partition(" ")[0]
        if word in ("$for", "$if"):
            depth += 1
        elif word == "$end":
            depth -= 1
            if depth == 0:
                return at if middle is None else middle, at
        elif word == "$else" and depth == 1:
            middle = at
    raise AssertionError(f"{source[start]} has no end")


def _filled(line: str, indices: Mapping[str, int]) -> str:
    for index, number in indices.items():
        line = line.replace(f"${{{index}}}", str(number))
    if "$[" in line:
        line = _COMPUTED.sub(lambda found: str(_value(found[1], {}, {})), line)
    return line


def _value(text: str, values: Mapping[str, int], indices: Mapping[str, int]) -> int:
    """An expression over macros, indices and numbers; the text is the compiler's."""
    return int(eval(_filled(text, indices), {"__builtins__": {}}, dict(values)))
