"""`compile`, `check`, `cache`, `explain-error` and `devices`: what they write, refuse
and say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from minifut.cache import load_bytes, store_bytes
from minifut.cli import main
from minifut.resources import page_text

GOOD = "entry main (x: i32): i32 = x + 1\n"
BAD = "entry main (x: i32): i32 = y\n"


def invoke(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], input=text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "prog.fut").write_text(GOOD)
    (tmp_path / "bad.fut").write_text(BAD)
    return tmp_path


# --- compile --------------------------------------------------------------------------


def test_compile_says_what_it_wrote_and_writes_it_again(folder: Path) -> None:
    for _ in range(2):
        done = invoke("compile", "prog.fut", "--schedule", "cpu", "--stubs")
        assert done.exit_code == 0, done.output
        assert "wrote prog.py\nwrote prog.pyi\n" in done.output
    assert "compiled by minifut" in (folder / "prog.py").read_text().splitlines()[0]


@pytest.mark.parametrize("name", ["prog.py", "prog.pyi"])
def test_compile_replaces_no_file_of_the_user(folder: Path, name: str) -> None:
    (folder / name).write_text("print('mine')\n")
    done = invoke("compile", "prog.fut", "--schedule", "cpu", "--stubs")
    assert done.exit_code == 2
    assert f"{name} exists and was not written by minifut" in done.output
    assert (folder / name).read_text() == "print('mine')\n"
    done = invoke("compile", "prog.fut", "--schedule", "cpu", "--stubs", "--force")
    assert done.exit_code == 0
    assert "mine" not in (folder / name).read_text()


# --- check ----------------------------------------------------------------------------


def test_check_takes_several_files_and_goes_on(folder: Path) -> None:
    assert invoke("check", "prog.fut", "prog.fut").exit_code == 0
    done = invoke("check", "bad.fut", "prog.fut", "bad.fut")
    assert done.exit_code == 2
    assert done.output.count("bad.fut:1:28: error:") == 2


def test_check_reads_standard_input(folder: Path) -> None:
    assert invoke("check", "-", text=GOOD).exit_code == 0
    done = invoke("check", "-", text=BAD)
    assert done.exit_code == 2
    assert "<stdin>:1:28: error:" in done.output


# --- cache ----------------------------------------------------------------------------


def test_the_cache_is_shown_limited_and_cleared(folder: Path) -> None:
    for number in range(4):
        store_bytes("kernels", str(number), b"x" * 1000)
    for number, path in enumerate(sorted((folder / "cache" / "kernels").iterdir())):
        os.utime(path, (number, number))
    (folder / "cache" / "notes.txt").write_text("mine")
    (folder / "cache" / "kernels" / "mine").write_text("mine")
    done = invoke("cache")
    assert str(folder / "cache") in done.output
    assert "4 files" in done.output
    done = invoke("cache", "--limit", "2.2kB")
    assert "2 files" in done.output
    done = invoke("cache", "--clear")
    assert "0 files" in done.output
    assert (folder / "cache" / "notes.txt").exists()
    assert (folder / "cache" / "kernels" / "mine").exists()


def test_a_folder_that_cannot_be_written_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path / "file"))
    for key in ("one", "two"):
        store_bytes("kernels", key, b"data")
        assert load_bytes("kernels", key) is None
    assert caplog.text.count("nothing is kept between runs") == 1


# --- errors and devices ---------------------------------------------------------------


def test_every_error_of_the_index_is_explained() -> None:
    names = invoke("explain-error").output.split()
    assert len(names) > 40
    headings = [
        line.removeprefix("## ")
        for line in page_text("errors.md").splitlines()
        if line.startswith("## ")
    ]
    assert names == headings
    done = invoke("explain-error", names[0])
    assert done.exit_code == 0 and len(done.output) > 60


def test_unknown_errors_suggest_known_ones() -> None:
    done = invoke("explain-error", "causality-chek")
    assert done.exit_code == 2
    assert "causality-check" in done.output
    done = invoke("explain-error", "mismatch")
    assert "module-mismatch, pattern-mismatch, size-mismatch, type-mi" in done.output
    assert "without a name, all are listed" in invoke("explain-error", "nope").output


@pytest.mark.device
def test_a_missing_device_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke("devices").exit_code == 0
    monkeypatch.setenv("MINIFUT_DEVICE", "abacus")
    done = invoke("devices")
    assert done.exit_code == 2
    assert "no OpenCL device matches 'abacus'" in done.output
