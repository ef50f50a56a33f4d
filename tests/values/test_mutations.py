"""A few damaged files of each kind; `benchmarks/campaign/mutations.py` does it at
length."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.campaign import mutations
from minifut.cli import main
from minifut.host_modules import decoded_module


@pytest.mark.parametrize("name", mutations.TARGETS)
def test_damaged_files_are_refused_with_their_name(name: str, tmp_path: Path) -> None:
    found = mutations.fuzz(name, 200, 11, tmp_path)
    assert not found, found[0]


@pytest.mark.parametrize("name", mutations.TARGETS)
def test_undamaged_files_are_read(name: str, tmp_path: Path) -> None:
    samples, file, read = mutations.TARGETS[name]
    (tmp_path / "x.in").write_text("1")
    for data in samples:
        (tmp_path / file).write_bytes(data)
        if name not in ("literal", "spec"):  # some are no f32, some are in no block
            read(tmp_path / file, data)


LONG = "9" * 5000
NPY = (
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (((((((3, }",
    b"{'descr': '<f4', 'fortran_order': 1, 'shape': (3,), }",
    b"{'descr': 3, 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': '<f4', 'fortran_order': False}",
    b"[" * 5000,
    b"{'descr': '",
    b"",
)


@pytest.mark.parametrize("header", NPY)
def test_headers_of_npy_files_are_not_evaluated(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header)
    complaint = mutations.complaint_about("npy", path, b"")
    assert complaint is None
    with pytest.raises(mutations.UsageError, match=r"x\.npy"):
        mutations.read_npy(path)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ((LONG,), ""),
        ((f"-{LONG}i64",), ""),
        ((f"0x{LONG}",), ""),
        ((), f"{LONG}"),
        ((), f"[1, {LONG}u8]"),
        ((), f"empty([{LONG}]i32)"),
        (("1", "--max-memory", LONG), ""),
        (("1", "--max-memory", f"{LONG}GiB"), ""),
        (("1", "-P", f"main.x={LONG}"), ""),
    ],
)
def test_numbers_of_thousands_of_digits(
    arguments: tuple[str, ...], given: str, tmp_path: Path
) -> None:
    program = tmp_path / "a.fut"
    program.write_text("entry main (x: i32) = x")
    command = ["run", "--backend=interpreter", str(program), *arguments]
    result = CliRunner().invoke(main, command, input=given)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output and len(result.output) < 12_000
    program.with_name("a.fut.tuning").write_text(f"main.x={LONG}\n")
    result = CliRunner().invoke(main, [*command[:3], "1"])
    assert result.exit_code == 2 and "a.fut.tuning:1: main.x" in result.output


MODULES = (
    b"[" * 9000,
    b"3",
    b'{"text": "x"}',
    b'{"text": 3, "documentation": {}, "imports": {}}',
    b'{"text": "x", "documentation": [], "imports": {}}',
    b'{"text": "x", "documentation": {}, "imports": {"a": 3}}',
    b'{"text": "x", "documentation": {}, "imports": {}, "more": 1}',
)


@pytest.mark.parametrize("data", MODULES)
def test_what_is_no_module_is_not_taken_for_one(data: bytes) -> None:
    assert decoded_module(data) is None
