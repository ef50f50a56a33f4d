"""`.npy` files: read without pickle and with the header checked first, and written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
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
    written: list[tuple[str, Path]] = []
    try:
        for path, value in files:
            try:
                handle, temporary = tempfile.mkstemp(
                    dir=path.parent, prefix=".minifut-"
                )
                written.append((temporary, path))
                with os.fdopen(handle, "wb") as stream:
                    np.save(stream, np.asarray(value), allow_pickle=False)
                os.chmod(temporary, 0o666 & ~_umask())
                if path.is_dir():
                    raise UsageError(f"{path}: cannot be written: is a directory")
            except OSError as error:
                message = f"{path}: cannot be written: {reason(error)}"
                raise UsageError(message) from None
        while written:
            temporary, path = written[0]
            try:
                os.replace(temporary, path)
            except OSError as error:
                message = f"{path}: cannot be written: {reason(error)}"
                raise UsageError(message) from None
            del written[0]
    finally:
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
