r"""`.npy` files: read without pickle and with the header checked first, and written.

    \x93NUMPY 1 0 <length> {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }

The header is text of Python; only what NumPy writes for plain arrays and for structured
ones is understood, by a regular expression. So nothing is evaluated, and nothing
allocated before the file is known to have as many bytes as its header says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from minifut.errors import UsageError, reason
from minifut.files import open_regular, write_together
from minifut.values.types import MAXIMAL_BYTES, Value, as_value, element_name

MAGIC = b"\x93NUMPY"
LENGTH_BYTES = {b"\x01\x00": 2, b"\x02\x00": 4, b"\x03\x00": 4}
"""of the header's length, for each version of the format"""
LONGEST_HEADER = 1 << 16

_ENTRY = re.compile(
    r"""\s*(?:
      'descr'\s*:\s*(?P<element>'[^']{1,20}'|\[[^\[\]]*\])
    | 'fortran_order'\s*:\s*(?P<order>True|False)
    | 'shape'\s*:\s*\((?P<shape>\s*(?:[0-9]{1,19}L?\s*(?:,\s*|(?=\))))*)\)
    )\s*(?:,|(?=\}))""",
    re.VERBOSE,
)
_FIELD = re.compile(r"\s*\('([^'\\]+)',\s*'([^'\\]{1,20})'\)\s*(?:,|\Z)")
"""a field of a structured array: its name and element type"""
_ELEMENT = re.compile(r"[<>=|]?[a-zA-Z?][0-9]{0,5}(?:\[[a-zA-Z0-9]+\])?")


class _BadHeader(Exception):
    """The file is not of the format: why."""


def read_npy(path: Path) -> Value:
    """The array of a file, which may be a structured one; a plain one of rank 0 becomes
    a NumPy scalar."""
    try:
        with open_regular(path) as stream:
            return _read_array(path, stream)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    except _BadHeader as error:
        raise UsageError(f"{path}: cannot be read as .npy: {error}") from None


def _read_array(path: Path, stream: BufferedReader) -> Value:
    shape, in_columns, dtype = _read_header(stream)
    for plain in [dtype[name] for name in dtype.names or ()] or [dtype]:
        if element_name(plain) is None:
            message = f"NumPy's {plain} is not an element type of Futhark"
            raise UsageError(f"{path}: {message}")
    count, start = prod(shape), stream.tell()
    there = stream.seek(0, 2) - start
    needed = count * dtype.itemsize
    if needed > MAXIMAL_BYTES or needed > there:
        raise UsageError(
            f"{path}: byte {start}: an array of shape {shape} needs "
            f"{needed} bytes, the file has {there}"
        )
    stream.seek(start)
    flat = np.fromfile(stream, dtype, count)
    if len(flat) != count:
        raise UsageError(f"{path}: the file became shorter while it was read")
    try:
        array = flat.reshape(shape, order="F" if in_columns else "C")
    except ValueError:
        raise _BadHeader(f"no array has the shape {shape}") from None
    return array if dtype.names else as_value(array)


def _read_header(stream: BufferedReader) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether columns are contiguous, and the element type."""
    start = stream.read(len(MAGIC) + 2)
    if start[: len(MAGIC)] != MAGIC:
        raise _BadHeader("it does not begin with NumPy's magic number")
    width = LENGTH_BYTES.get(start[len(MAGIC) :])
    if width is None:
        raise _BadHeader("unknown version of the format")
    length = int.from_bytes(stream.read(width), "little")
    text = stream.read(length) if length <= LONGEST_HEADER else b""
    if len(text) < max(length, 1):
        raise _BadHeader(f"byte {stream.tell()}: the file ends inside its header")
    found = _entries(text.decode("latin1"))
    shape = tuple(int(n) for n in re.findall("[0-9]+", found["shape"]))
    return shape, found["order"] == "True", _element_type(found["element"])


def _entries(text: str) -> dict[str, str]:
    """The texts of the header's three entries."""
    inside = text.strip()
    found: dict[str, str] = {}
    at = 1
    while inside[:1] == "{" and (entry := _ENTRY.match(inside, at)):
        found[entry.lastgroup or ""] = entry[entry.lastgroup or 0]
        at = entry.end()
    if inside[at:].strip() != "}" or found.keys() != {"element", "order", "shape"}:
        raise _BadHeader("the header is not that of an array of numbers")
    return found


def _element_type(text: str) -> np.dtype[Any]:
    inside = text[1:-1]
    fields = None if text[0] == "'" else _FIELD.findall(inside)
    plain = [inside] if fields is None else [element for _, element in fields]
    whole = fields is None or not _FIELD.sub("", inside).strip()
    try:
        if plain and whole and all(map(_ELEMENT.fullmatch, plain)):
            return np.dtype(fields or inside)
    except (TypeError, ValueError):
        pass
    raise _BadHeader(f"{text} is not an element type")


def write_npy_files(files: Sequence[tuple[Path, Value]]) -> None:
    """Write values; no file appears before all of them are written."""
    write_together([(path, partial(_save, value=value)) for path, value in files])


def _save(stream: IO[bytes], value: Value) -> None:
    np.save(stream, np.asarray(value), allow_pickle=False)
