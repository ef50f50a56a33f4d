"""Read values from bytes: text and binary may follow each other freely.

Every complaint is a `UsageError` that names the data and the byte offset.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO

from minifut.errors import UsageError, reason
from minifut.files import open_regular, read_regular
from minifut.values.binary import read_binary
from minifut.values.bulk import SMALL, read_bulk
from minifut.values.text import Malformed, read_value, skip_space
from minifut.values.types import MAXIMAL_BYTES, Value

MAXIMAL_UNPACKED = 1 << 33
"""How large a compressed file may become."""


def read_values(
    data: bytes,
    name: str,
    wrap: bool = False,
    expected: str | None = None,
    binary: bool = True,
) -> list[Value]:
    """All values of the data; `name` says in messages where it came from, `wrap`
    whether integers out of range wrap, `expected` of which type numbers without a
    suffix are, `binary` whether there may be values in that form."""
    values: list[Value] = []
    offset = skip_space(data, 0)
    try:
        while offset < len(data):
            value, offset = read_next(data, offset, wrap, expected, binary)
            values.append(value)
            offset = skip_space(data, offset)
    except Malformed as error:
        message = f"{name}: byte {error.offset}: {error.message}"
        raise UsageError(message) from None
    return values


def read_next(
    data: bytes,
    offset: int,
    wrap: bool = False,
    expected: str | None = None,
    binary: bool = True,
) -> tuple[Value, int]:
    """The value that starts exactly at `offset`, of either form."""
    head = data[offset : offset + 1]
    if head == b"b" and binary:
        return read_binary(data, offset)
    if head == b"[" and len(data) - offset > SMALL and expected is None:
        found = read_bulk(data, offset)
        if found is not None:
            return found
    return read_value(data, offset, wrap, expected)


def read_literal(text: str, name: str, expected: str | None = None) -> Value:
    """The one value that a text holds, as on a command line."""
    values = read_values(text.encode(), name, expected=expected, binary=False)
    if len(values) != 1:
        raise UsageError(f"{name}: one value was expected, not {len(values)}")
    return values[0]


def read_file(path: Path) -> bytes:
    """The bytes of a data file, unpacked if it ends in .gz; sizes are limited."""
    try:
        if path.suffix != ".gz":
            return read_regular(path, MAXIMAL_BYTES)
        with open_regular(path) as packed, gzip.open(packed) as stream:
            data = _read_at_most(stream, MAXIMAL_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    if len(data) > MAXIMAL_UNPACKED:
        raise UsageError(f"{path}: unpacks to more than {MAXIMAL_UNPACKED >> 30} GiB")
    return data


def read_stream(stream: BinaryIO) -> bytes:
    """All bytes of a stream such as standard input, up to the limit."""
    data = _read_at_most(stream, MAXIMAL_BYTES + 1)
    if len(data) > MAXIMAL_BYTES:
        raise UsageError(f"the input is larger than {MAXIMAL_BYTES >> 30} GiB")
    return data


def _read_at_most(stream: BinaryIO | gzip.GzipFile, most: int) -> bytes:
    """Piece by piece, so that memory is taken only for what is really there."""
    pieces: list[bytes] = []
    total = 0
    while total < most and (piece := stream.read(min(1 << 22, most - total))):
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)
