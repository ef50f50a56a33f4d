"""Futhark's binary form of values.

'b', version 2, number of dimensions, type (4 characters), each dimension as a
64-bit little-endian integer, then the elements in row-major order, little-endian.
"""

from __future__ import annotations

import struct
from math import prod

import numpy as np

from minifut.values.text import Malformed
from minifut.values.types import DTYPES, Value, value_type

VERSION = 2
HEADER_BYTES = 7


def read_binary(data: bytes, offset: int) -> tuple[Value, int]:
    """The binary value that starts at `offset` with a `b`, and where it ends.

    The sizes are compared with what the data holds before anything is allocated.
    """
    if len(data) < offset + HEADER_BYTES:
        raise Malformed(offset, "a binary value ends inside its header")
    version, rank = data[offset + 1], data[offset + 2]
    if version != VERSION:
        raise Malformed(
            offset + 1, f"version {version} of the binary format, not {VERSION}"
        )
    element = data[offset + 3 : offset + 7].decode("latin1").strip()
    if element not in DTYPES:
        raise Malformed(offset + 3, f"'{element}' is not an element type")
    start = offset + HEADER_BYTES + 8 * rank
    if rank > 32:
        raise Malformed(offset + 2, f"{rank} dimensions are too many")
    if len(data) < start:
        raise Malformed(offset, "a binary value ends inside its sizes")
    shape = struct.unpack_from(f"<{rank}Q", data, offset + HEADER_BYTES)
    dtype = DTYPES[element].newbyteorder("<")
    end = start + prod(shape) * dtype.itemsize
    if len(data) < end or max(shape, default=0) >= 1 << 62:
        sizes = "".join(f"[{n}]" for n in shape)
        message = (
            f"a value of type {sizes}{element} needs {end - start} bytes, "
            f"there are {len(data) - start}"
        )
        raise Malformed(start, message)
    try:
        found = np.frombuffer(data, dtype, prod(shape), start).reshape(shape)
    except ValueError:
        raise Malformed(offset, "the array is too large") from None
    if element == "bool":
        raw = np.frombuffer(data, np.uint8, prod(shape), start).reshape(shape)
        if raw.max(initial=0) > 1:
            raise Malformed(start, "a bool that is neither 0 nor 1")
        found = raw.astype(bool)
    if rank == 0:
        return DTYPES[element].type(found[()]), end
    return np.array(found, DTYPES[element], order="C"), end


def write_binary(value: Value) -> bytes:
    """The binary form of a value."""
    element = value_type(value).element
    header = b"b" + bytes([VERSION, value.ndim]) + element.rjust(4).encode()
    sizes = struct.pack(f"<{value.ndim}Q", *value.shape)
    little = np.asarray(value).astype(DTYPES[element].newbyteorder("<"), order="C")
    return header + sizes + little.tobytes()
