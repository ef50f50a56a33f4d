"""`.npy` files: read without pickle and with the header checked first, and written."""

from __future__ import annotations

import os
import tempfile
from math import prod
from pathlib import Path

import numpy as np

from minifut.errors import UsageError
from minifut.values.reader import reason
from minifut.values.types import MAXIMAL_BYTES, Value, as_value, element_name


def read_npy(path: Path) -> Value:
    """The array of a file; rank 0 becomes a NumPy scalar."""
    try:
        with path.open("rb") as stream:
            version = np.lib.format.read_magic(stream)
            read_header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }.get(version)
            if read_header is None:
                raise UsageError(f"{path}: unknown version of the .npy format")
            shape, _, dtype = read_header(stream)
            if element_name(dtype) is None:
                raise UsageError(
                    f"{path}: NumPy's {dtype} is not an element type of Futhark"
                )
            needed = prod(shape) * dtype.itemsize
            there = path.stat().st_size - stream.tell()
            if needed > MAXIMAL_BYTES or needed > there:
                raise UsageError(
                    f"{path}: byte {stream.tell()}: an array of shape {shape} needs "
                    f"{needed} bytes, the file has {there}"
                )
            stream.seek(0)
            return as_value(np.load(stream, allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None


def write_npy(path: Path, value: Value) -> None:
    """Write a value; the file appears whole or not at all."""

    def save(temporary: str) -> None:
        with open(temporary, "wb") as stream:
            np.save(stream, np.asarray(value), allow_pickle=False)

    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".minifut-")
        os.close(handle)
        try:
            save(temporary)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {reason(error)}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
