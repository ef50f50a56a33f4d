"""Binary values, .npy files, compressed files: round trips and damaged ones."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from minifut.errors import UsageError
from minifut.values.binary import write_binary
from minifut.values.npy import read_npy, write_npy_files
from minifut.values.reader import read_file, read_values
from minifut.values.types import DTYPES, value_type


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_binary_reads_back(element: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(DTYPES[element])
    (got,) = read_values(write_binary(array), "x")
    assert value_type(got) == value_type(array) and got.shape == shape
    np.testing.assert_array_equal(got, array)


def test_binary_layout() -> None:
    data = write_binary(np.array([1, 2], np.int32))
    assert data == b"b\x02\x01 i32" + struct.pack("<Qii", 2, 1, 2)


HEADER = b"b\x02\x01 i32"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"b\x02", "byte 0: a binary value ends inside its header"),
        (b"b\x01\x00 i32aaaa", "byte 1: version 1"),
        (b"b\x02\x00 i31aaaa", "byte 3: 'i31'"),
        (b"b\x02\xff i32" + bytes(3000), "byte 2: 255 dimensions"),
        (HEADER + b"\x01", "byte 0: a binary value ends inside its sizes"),
        (HEADER + struct.pack("<Q", 2**60), "byte 15: a value of type"),
        (HEADER + struct.pack("<Qi", 2, 1), "needs 8 bytes, there are 4"),
        (b"b\x02\x00bool\x02", "neither 0 nor 1"),
    ],
)
def test_damaged_binary(data: bytes, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_values(data, "x")
    assert message in str(caught.value)


def test_npy_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for array in (np.float32(2), np.arange(6, dtype=np.int16).reshape(2, 3)):
        write_npy_files([(path, array)])
        got = read_npy(path)
        assert value_type(got) == value_type(array)
        np.testing.assert_array_equal(got, array)
    assert [p.name for p in tmp_path.iterdir()] == ["a.npy"]


def test_structured_npy_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    array = np.zeros((2, 3), [("x y", ">f4"), ("n", "<i8"), ("b", "?")])
    array["n"] = 7
    np.save(path, array)
    got = read_npy(path)
    assert got.dtype == array.dtype and got.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "fields", ["[]", "[('x')]", "[('x', '<f4')('y')]", "[('x', '<f4', (2,))]", "[1]"]
)
def test_damaged_fields_are_refused(tmp_path: Path, fields: str) -> None:
    header = f"{{'descr': {fields}, 'fortran_order': False, 'shape': (1,), }}".encode()
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(UsageError, match="is not an element type"):
        read_npy(path)


def test_npy_of_other_layouts(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    array = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    np.save(path, array)
    got = np.asarray(read_npy(path))
    assert got.dtype == np.int32 and got.flags.c_contiguous
    np.testing.assert_array_equal(got, array)


def test_npy_that_is_not_a_value(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([{}], object), allow_pickle=True)
    with pytest.raises(UsageError, match="object is not an element type"):
        read_npy(path)
    np.save(path, np.zeros(2, np.complex64))
    with pytest.raises(UsageError, match="complex64 is not an element type"):
        read_npy(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(UsageError, match="cannot be read"):
        read_npy(path)
    with pytest.raises(UsageError, match="no such file"):
        read_npy(tmp_path / "b.npy")


def test_npy_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(1000))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(UsageError, match="needs 8000 bytes, the file has 872"):
        read_npy(path)


def test_write_to_nowhere_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_npy_files([(tmp_path / "no" / "a.npy", np.int32(1))])


def test_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "a.in.gz"
    path.write_bytes(gzip.compress(b"[1, 2]"))
    assert read_file(path) == b"[1, 2]"
    path.write_bytes(gzip.compress(b"[1, 2]")[:-4])
    with pytest.raises(UsageError, match="cannot be read"):
        read_file(path)


def test_npy_files_appear_all_or_none(tmp_path: Path) -> None:
    files = [(tmp_path / "a.npy", np.int32(1)), (tmp_path / "no" / "b.npy", np.int8(2))]
    with pytest.raises(UsageError, match=r"b\.npy: cannot be written"):
        write_npy_files(files)
    assert list(tmp_path.iterdir()) == []


def test_npy_with_a_negative_size(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(4, np.float32))
    path.write_bytes(path.read_bytes().replace(b"(4,)", b"(-4,)"))
    with pytest.raises(UsageError, match="negative"):
        read_npy(path)
