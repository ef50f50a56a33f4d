"""Futhark's text form of values: written, and read where it is small or odd.

    [[1i32, 2], [3, 4]]   1.5f32   empty([0][3]f64)   "text"   f32.nan   -100i8

The first scalar of an array fixes the element type, later ones need no suffix. Large
regular arrays are read by `minifut.values.bulk`; this module is the definition.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from minifut.errors import Portable, UsageError
from minifut.values.types import DTYPES, ShapedType, Value, parse_shaped, value_type

SPACE = re.compile(rb"(?:\s+|--[^\n]*)*")
NUMBER = re.compile(
    rb"""(?P<sign>-?)(?:
      (?P<hexfloat>0[xX][0-9a-fA-F_]*\.[0-9a-fA-F_]+(?:[pP][+-]?[0-9_]+)?
         |0[xX][0-9a-fA-F_]+[pP][+-]?[0-9_]+)
    | (?P<based>0[xX][0-9a-fA-F_]+|0[bB][01_]+)
    | (?P<float>[0-9][0-9_]*(?:\.[0-9][0-9_]*(?:[eE][+-]?[0-9_]+)?|[eE][+-]?[0-9_]+))
    | (?P<integer>[0-9][0-9_]*)
    )(?P<suffix>[iu](?:8|16|32|64)|f(?:16|32|64))?(?![A-Za-z0-9_.])
  | (?P<special_sign>-?)(?P<special>f16|f32|f64)\.(?P<which>nan|inf)(?![A-Za-z0-9_.])
  | (?P<bool>true|false)(?![A-Za-z0-9_.])""",
    re.VERBOSE,
)
EMPTY = re.compile(
    rb"empty\s*\(\s*((?:\[\s*[0-9][0-9_]{0,30}\s*\]\s*)+)([a-z]+[0-9]*)\s*\)"
)  # fmt: skip
DEEPEST = 64
MOST_DIGITS = 4000
"""of an integer; Python converts about as many by default"""


class Malformed(Portable):
    """A value cannot be read: at which byte, and why."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


def skip_space(data: bytes, offset: int) -> int:
    """Past white space and `--` comments."""
    found = SPACE.match(data, offset)
    return found.end() if found else offset


def read_value(
    data: bytes, offset: int, wrap: bool = False, expected: str | None = None
) -> tuple[Value, int]:
    """The text value that starts at `offset` and where it ends.

    With `wrap`, integers out of range wrap, as test files expect; else they are errors.
    Numbers without a suffix are of the type `expected`, if one is given.
    """
    if data[offset : offset + 1] == b"[":
        return _read_array(data, offset, wrap, expected)
    if data[offset : offset + 1] == b'"':
        text, offset = _read_string(data, offset)
        return np.frombuffer(text.encode(), np.uint8).copy(), offset
    found = EMPTY.match(data, offset)
    if found is not None:
        return _empty_array(found), found.end()
    element, number, end = _read_scalar(data, offset, expected, wrap)
    with np.errstate(over="ignore"):
        return DTYPES[element].type(number), end


def _empty_array(found: re.Match[bytes]) -> Value:
    element = found[2].decode()
    sizes = tuple(int(n) for n in re.findall(rb"[0-9]+", found[1].replace(b"_", b"")))
    if element not in DTYPES:
        raise Malformed(found.start(2), f"'{element}' is not an element type")
    if 0 not in sizes:
        raise Malformed(found.start(), "an empty array needs a dimension that is 0")
    try:
        return np.empty(sizes, DTYPES[element])
    except ValueError:
        raise Malformed(found.start(), "the array is too large") from None


def _read_scalar(
    data: bytes, offset: int, expected: str | None, wrap: bool
) -> tuple[str, Any, int]:
    """The element type, the number and the end of a scalar; `expected` is the type
    that the array around it has, None where this scalar decides."""
    found = NUMBER.match(data, offset)
    if found is None:
        shown = data[offset : offset + 20].split(b"\n")[0].decode(errors="replace")
        what = repr(shown) if shown else "the end"
        raise Malformed(offset, f"a value was expected, not {what}")
    if found["bool"] is not None:
        element, number = "bool", found["bool"] == b"true"
    elif found["special"] is not None:
        element = found["special"].decode()
        number = float(found["which"])
        number = -number if found["special_sign"] else number
    else:
        integral = found["integer"] is not None or found["based"] is not None
        suffix = found["suffix"].decode() if found["suffix"] else None
        default = "i32" if integral else "f64"
        element = suffix or _default_type(default, expected)
        if element[0] != "f" and not integral:
            raise Malformed(offset, f"a number with a fraction cannot be of {element}")
        number = _number(found, element, offset, wrap)
    if expected is not None and element != expected:
        raise Malformed(offset, f"a value of type {element} in an array of {expected}")
    return element, number, found.end()


def _default_type(default: str, expected: str | None) -> str:
    if expected is None or expected == "bool":
        return default
    if default == "f64" and expected[0] != "f":
        return default
    return expected


def _number(found: re.Match[bytes], element: str, offset: int, wrap: bool) -> Any:
    try:
        if found["based"] is None and element[0] == "f":
            return _real(found)
        return _whole(found, element, offset, wrap)
    except (ValueError, OverflowError):  # digits are missing, or far too many
        shown = found[0][:40].decode("latin1")
        raise Malformed(offset, f"'{shown}' is not a number of {element}") from None


def _real(found: re.Match[bytes]) -> float:
    if found["hexfloat"] is None:
        text = found["float"] or found["integer"]
        real = float(text.replace(b"_", b""))
    else:
        try:
            real = float.fromhex(found["hexfloat"].replace(b"_", b"").decode())
        except OverflowError:
            real = float("inf")
    return -real if found["sign"] else real


def _whole(found: re.Match[bytes], element: str, offset: int, wrap: bool) -> Any:
    digits = (found["based"] or found["integer"]).replace(b"_", b"")
    if len(digits) > MOST_DIGITS:
        raise OverflowError
    negative = bool(found["sign"])
    whole = int(digits, 0 if found["based"] else 10)
    whole = -whole if negative else whole
    if element[0] == "f":
        return float(whole)
    lowest, highest = integer_range(element)
    if lowest <= whole <= highest:
        return whole
    bits = int(element[1:])
    pattern = found["based"] is not None or (negative and element[0] == "u")
    if not wrap and not (pattern and -(1 << (bits - 1)) <= whole < 1 << bits):
        shown = str(whole) if len(digits) < 40 else f"{str(whole)[:40]}..."
        raise Malformed(offset, f"{shown} is out of the range of {element}")
    whole &= (1 << bits) - 1
    return whole if whole <= highest else whole - (1 << bits)


def integer_range(element: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    limits = np.iinfo(DTYPES[element])
    return int(limits.min), int(limits.max)


# --- arrays -------------------------------------------------------------------------


def _read_array(
    data: bytes, offset: int, wrap: bool, element: str | None
) -> tuple[Value, int]:
    """A bracketed array, element by element: `counts[d]` is how many elements every
    array at depth d has, -1 before the first of them is complete. Strings and empty
    arrays are elements as well."""
    numbers: list[Any] = []
    counts: list[int] = []
    here: list[int] = []
    rank: int | None = None
    after_element = False
    while True:
        offset = skip_space(data, offset)
        mark = data[offset : offset + 1]
        if mark == b"[" and not after_element:
            if len(here) == (rank if rank is not None else DEEPEST):
                raise Malformed(offset, "an array among scalars")
            here.append(0)
            if len(counts) < len(here):
                counts.append(-1)
            offset += 1
        elif mark == b"]" and (after_element or here[-1]):
            _count(counts, len(here) - 1, here.pop(), offset)
            offset += 1
            if not here:
                break
            here[-1] += 1
            after_element = True
        elif mark == b"," and after_element:
            after_element = False
            offset += 1
        elif after_element:
            raise Malformed(offset, "a comma or ']' was expected")
        elif mark == b"]":
            raise Malformed(offset, "an empty array is written empty([0]T)")
        else:
            start = offset
            element, values, shape, offset = _read_element(data, offset, element, wrap)
            if rank not in (None, len(here) + len(shape)):
                raise _irregular(start, len(shape), (rank or 0) - len(here))
            rank = len(here) + len(shape)
            counts += [-1] * (rank - len(counts))
            for depth, size in enumerate(shape, len(here)):
                _count(counts, depth, size, start)
            numbers += values
            here[-1] += 1
            after_element = True
    assert element is not None
    with np.errstate(over="ignore"):
        return np.array(numbers, DTYPES[element]).reshape(counts), offset


def _read_element(
    data: bytes, offset: int, element: str | None, wrap: bool
) -> tuple[str, list[Any], tuple[int, ...], int]:
    """What an array has beside further brackets: its type, its numbers, its shape, and
    where it ends."""
    if data[offset : offset + 1] != b'"' and EMPTY.match(data, offset) is None:
        name, number, end = _read_scalar(data, offset, element, wrap)
        return name, [number], (), end
    value, end = read_value(data, offset)
    name = value_type(value).element
    if element not in (None, name):
        raise Malformed(offset, f"an array of {name} in an array of {element}")
    return name, value.tolist() if value.size else [], value.shape, end


def _irregular(offset: int, rank: int, wanted: int) -> Malformed:
    """The error for an element of a rank that others do not have."""
    came = f"an array of rank {rank}" if rank else "a scalar"
    others = "scalars" if wanted == 0 else "arrays"
    others += f" of rank {wanted}" if rank and wanted else ""
    return Malformed(offset, f"{came} among {others}")


def _count(counts: list[int], depth: int, count: int, offset: int) -> None:
    """Note how many elements an array has; all at its depth have as many."""
    if counts[depth] not in (-1, count):
        message = f"a row of {count} elements among rows of {counts[depth]}"
        raise Malformed(offset, message)
    counts[depth] = count


# --- strings ------------------------------------------------------------------------

_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", '"': '"', "'": "'",
}  # fmt: skip
LONGEST_CODE = 12
"""digits of a character's number"""
_STRING_PART = re.compile(
    r'(?P<plain>[^"\\]+)|\\(?:(?P<escape>[abfnrtv\\"\'])|x(?P<hex>[0-9a-fA-F]+)'
    r"|o(?P<octal>[0-7]+)|(?P<decimal>[0-9]+)|(?P<gap>\s+\\)|(?P<nothing>&))"
)


def _read_string(data: bytes, offset: int) -> tuple[str, int]:
    """A string in double quotes with escapes such as `\\n`, `\\x41`, `\\65`, `\\"`."""
    end = offset + 1
    while data[end : end + 1] not in (b'"', b""):
        end += 2 if data[end : end + 1] == b"\\" else 1
    if data[end : end + 1] != b'"':
        raise Malformed(offset, "the string has no end")
    try:
        text = data[offset + 1 : end].decode()
    except UnicodeDecodeError as error:
        raise Malformed(offset + 1 + error.start, "the text is not UTF-8") from None
    return unescape(text, offset + 1), end + 1


def unescape(text: str, offset: int = 0) -> str:
    """A string's content with its escapes resolved."""
    parts: list[str] = []
    position = 0
    while position < len(text):
        found = _STRING_PART.match(text, position)
        if found is None:
            raise Malformed(offset + position, "an escape that has no meaning")
        kind, part = found.lastgroup, found[found.lastgroup or 0]
        match kind:
            case "plain":
                parts.append(part)
            case "escape":
                parts.append(_ESCAPES[part])
            case "hex" | "octal" | "decimal":
                base = {"hex": 16, "octal": 8, "decimal": 10}[kind]
                code = int(part, base) if len(part) < LONGEST_CODE else -1
                if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                    raise Malformed(offset + position, "no such character")
                parts.append(chr(code))
            case _:
                pass
        position = found.end()
    return "".join(parts)


# --- writing ------------------------------------------------------------------------


def format_value(value: Value) -> str:
    """The text form, which reads back to the same value bit for bit (NaNs but one)."""
    type_ = value_type(value)
    if value.ndim and 0 in value.shape:
        return f"empty({ShapedType(type_.element, value.shape)})"
    flat = _format_elements(np.asarray(value).reshape(-1), type_.element)
    for size in reversed(value.shape):
        flat = [
            "[" + ", ".join(flat[i : i + size]) + "]" for i in range(0, len(flat), size)
        ]
    return flat[0]


def _format_elements(flat: np.ndarray[Any, Any], element: str) -> list[str]:
    if element == "bool":
        return ["true" if x else "false" for x in flat.tolist()]
    if element[0] != "f":
        return [f"{x}{element}" for x in flat.tolist()]
    texts = [repr(x) for x in flat.tolist()] if element == "f64" else _short(flat)
    if np.isfinite(flat).all():
        return [text + element for text in texts]
    special = {"nan": f"{element}.nan", "inf": f"{element}.inf"}
    special["-inf"] = f"-{element}.inf"
    return [special.get(text) or text + element for text in texts]


def _short(flat: np.ndarray[Any, Any]) -> list[str]:
    """The shortest decimal that reads back to each number of a narrower float type."""
    return [str(text) for text in flat.astype(np.str_).tolist()]


def read_scalar_or_type(text: str) -> Value | ShapedType:
    """What `minifut dataset -g` takes: a type with sizes, or a literal value."""
    if re.match(r"\s*(?:\[[^\[\]]*\]\s*)*[a-z]", text) and not re.match(
        r"\s*(?:true|false|f(?:16|32|64)\.|empty\b)", text
    ):
        return parse_shaped(text)
    data = text.encode()
    try:
        value, end = read_value(data, skip_space(data, 0))
        if skip_space(data, end) != len(data):
            raise Malformed(end, "one value was expected")
    except Malformed as error:
        raise UsageError(f"'{text}': byte {error.offset}: {error.message}") from None
    return value
