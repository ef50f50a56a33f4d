"""Large regular arrays of plain numbers in text form, read by whole-array operations.

The text is cut into tokens (numbers, brackets, commas) with NumPy, the grammar is
checked on pairs of neighbours, regularity on counts per closing bracket, and all
numbers are converted in one call. Whatever is unusual (comments, hexadecimal,
underscores, mixed suffixes, any mistake) is left to `minifut.values.text`, which
either reads it or says exactly what is wrong: `read_bulk` then gives None.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from minifut.values.text import NUMBER, integer_range
from minifut.values.types import DTYPES, Value

SMALL = 512
"""Arrays with a shorter text are not worth the set-up."""

_FIRST = re.compile(rb"[\[\s]*")
_OPEN, _CLOSE, _COMMA, _TOKEN = 1, 2, 3, 4

_KIND = np.full(256, _TOKEN, np.uint8)
_KIND[list(b" \t\r\n\v\f")] = 0
_KIND[ord("[")], _KIND[ord("]")], _KIND[ord(",")] = _OPEN, _CLOSE, _COMMA

# Which kind may follow which: rows are the earlier of two neighbours.
_MAY_FOLLOW = np.zeros((5, 5), bool)
_MAY_FOLLOW[_OPEN, [_OPEN, _TOKEN]] = True
_MAY_FOLLOW[_TOKEN, [_COMMA, _CLOSE]] = True
_MAY_FOLLOW[_CLOSE, [_COMMA, _CLOSE]] = True
_MAY_FOLLOW[_COMMA, [_OPEN, _TOKEN, _CLOSE]] = True


def read_bulk(data: bytes, offset: int) -> tuple[Value, int] | None:
    """The array that starts at `offset` and where it ends, None if it is small or
    unusual."""
    end = _closing(data, offset)
    if end is None or end - offset < SMALL:
        return None
    text = data[offset:end]
    if b"--" in text or b'"' in text or b"_" in text:
        return None
    shape = _shape(np.frombuffer(text, np.uint8))
    start = _FIRST.match(text)
    first = None if start is None else NUMBER.match(text, start.end())
    if shape is None or first is None:
        return None
    flat = _numbers(text, first, int(np.prod(shape)))
    return None if flat is None else (flat.reshape(shape), end)


def _closing(data: bytes, offset: int) -> int | None:
    """Just past the bracket that closes the one at `offset`."""
    size, depth, start = 4096, 0, offset
    while start < len(data):
        piece = np.frombuffer(data, np.uint8, min(size, len(data) - start), start)
        step = (piece == ord("[")).astype(np.int32)
        step -= piece == ord("]")
        depths = np.cumsum(step, dtype=np.int32)
        depths += depth
        ends = np.flatnonzero(depths == 0)
        if len(ends):
            return start + int(ends[0]) + 1
        depth = int(depths[-1])
        start += len(piece)
        size = min(size * 4, 1 << 24)
    return None


def _shape(text: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The shape of a regular array, None if the brackets and commas are wrong."""
    kinds = _KIND[text]
    begins = kinds != 0
    # Only the first byte of a number counts.
    begins[1:] &= (kinds[1:] != _TOKEN) | (kinds[:-1] != _TOKEN)
    events = kinds[begins]
    if not _MAY_FOLLOW[events[:-1], events[1:]].all():
        return None
    opens, closes = events == _OPEN, events == _CLOSE
    depths = np.cumsum(opens.astype(np.int32) - closes)
    rank = int(depths.max())
    tokens = events == _TOKEN
    if rank > 32 or not (depths[tokens] == rank).all():
        return None
    shape: list[int] = []
    children = tokens
    for depth in range(rank - 1, -1, -1):
        ends = closes & (depths == depth)
        running = np.cumsum(children)[ends]
        counts = np.diff(running, prepend=0)
        if not (counts == counts[0]).all():
            return None
        shape.append(int(counts[0]))
        children = ends
    return tuple(reversed(shape))


_TO_SPACE = bytes.maketrans(b"[],", b"   ")


def _numbers(
    text: bytes, first: re.Match[bytes], count: int
) -> np.ndarray[Any, Any] | None:
    """All numbers, of the type that the first one has; None if one is unusual."""
    text = text.translate(_TO_SPACE)
    if first["bool"] is not None:
        return _booleans(text, count)
    if first["special"] is not None:
        element = first["special"].decode()
    elif first["suffix"] is not None:
        element = first["suffix"].decode()
    else:
        element = "i32" if first["float"] is None else "f64"
    suffix = element.encode()
    if element[0] == "f":
        return _floats(text, suffix, element, count)
    return _integers(text.replace(suffix, b""), element, count)


def _booleans(text: bytes, count: int) -> np.ndarray[Any, Any] | None:
    if re.search(rb"[^truefals\s]", text):
        return None
    words = text.replace(b"true", b"1").replace(b"false", b"0")
    found = _convert(words, np.dtype(np.int64), count)
    return None if found is None else found.astype(bool)


def _integers(text: bytes, element: str, count: int) -> np.ndarray[Any, Any] | None:
    if text.translate(None, b"0123456789- \t\r\n\v\f"):
        return None
    wide = np.dtype(np.uint64 if element == "u64" else np.int64)
    if element in ("u64", "i64") and re.search(rb"[0-9]{19}", text):
        return None  # might overflow; read one by one
    if element == "u64" and b"-" in text:
        return None
    found = _convert(text, wide, count)
    if found is None:
        return None
    lowest, highest = integer_range(element)
    if int(found.min()) < lowest or int(found.max()) > highest:
        return None
    return found.astype(DTYPES[element])


def _floats(
    text: bytes, suffix: bytes, element: str, count: int
) -> np.ndarray[Any, Any] | None:
    for word in (b"nan", b"inf"):
        if word in text:
            full = suffix + b"." + word
            if text.count(word) != text.count(full):
                return None
            text = text.replace(full, word)
    text = text.replace(suffix, b"")
    if text.translate(None, b"0123456789-+.eEnaif \t\r\n\v\f"):
        return None
    if re.search(rb"(?<![0-9])\.|\.(?![0-9])|(?<![eE])\+|-nan", text):
        return None
    found = _convert(text, np.dtype(np.float64), count)
    if found is None or element == "f64":
        return found
    with np.errstate(over="ignore", under="ignore"):
        return found.astype(DTYPES[element])


def _convert(
    text: bytes, dtype: np.dtype[Any], count: int
) -> np.ndarray[Any, Any] | None:
    """The numbers of a text that has nothing but them and white space."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = np.fromstring(text.decode("latin1"), dtype, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return found if len(found) == count else None
