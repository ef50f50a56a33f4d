"""`.npy` files: read without pickle and with the header checked first, and written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from minifut.errors import UsageError, reason
from minifut.files import write_together
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
            if any(size < 0 for size in shape):
                raise UsageError(f"{path}: the shape {shape} is negative")
            needed = prod(shape) * dtype.itemsize
            there = path.stat().st_size - stream.tell()
            if needed > MAXIMAL_BYTES or needed > there:
                raise UsageError(
                    f"{path}: byte {stream.tell()}: an array of shape {shape} needs "
                    f"{needed} bytes, the file has {there}"
                )
            stream.seek(0)
            return as_value(np.load(stream, allow_pickle=False))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    except (ValueError, EOFError, SyntaxError) as error:
        told = reason(error)
        told = told if len(told) <= 100 else f"{told[:100]}..."
        raise UsageError(f"{path}: cannot be read as .npy: {told}") from None


def write_npy(path: Path, value: Value) -> None:
    """Write a value; the file appears whole or not at all."""
    write_npy_files([(path, value)])


def write_npy_files(files: Sequence[tuple[Path, Value]]) -> None:
    """Write values; no file appears before all of them are written."""
    write_together([(path, partial(_save, value=value)) for path, value in files])


def _save(stream: IO[bytes], value: Value) -> None:
    np.save(stream, np.asarray(value), allow_pickle=False)
