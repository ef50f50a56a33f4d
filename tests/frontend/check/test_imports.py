"""Imports: which files a program may read, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from minifut.errors import CompileError, Source
from minifut.frontend.check import check_program
from minifut.frontend.check.imports import import_root


def write(path: Path, text: str = "def x = 1i32\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run(program: Path, imported: str) -> CompileError | None:
    text = f'import "{imported}"\ndef y = x + 1\n'
    write(program, text)
    try:
        check_program(Source(str(program), text))
    except CompileError as fault:
        assert fault.location is not None and fault.anchor == "import"
        return fault
    return None


@pytest.fixture(autouse=True)
def _no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIFUT_IMPORT_ROOT", raising=False)


def test_beside_and_below(tmp_path: Path) -> None:
    write(tmp_path / "lib/a/b.fut", 'import "c"\ndef x = z\n')
    write(tmp_path / "lib/a/c.fut", "def z = 1i32\n")
    assert run(tmp_path / "main.fut", "lib/a/b") is None
    assert run(tmp_path / "main.fut", "./lib/../lib/a/b") is None


def test_a_name_that_is_misspelt_is_named(tmp_path: Path) -> None:
    write(tmp_path / "lib/helper.fut")
    fault = run(tmp_path / "main.fut", "lib/helpr")
    assert fault is not None
    assert fault.hint == "did you mean 'lib/helper'?"
    fault = run(tmp_path / "main.fut", "lib/unlike")
    assert fault is not None and fault.hint is None


def test_a_package_may_use_all_of_its_folders(tmp_path: Path) -> None:
    write(tmp_path / "p/futhark.pkg", "require {}\n")
    write(tmp_path / "p/lib/other.fut")
    write(tmp_path / "outside.fut")
    program = tmp_path / "p/src/deep/main.fut"
    assert run(program, "../../lib/other") is None
    fault = run(program, "../../../outside")
    assert fault is not None and "outside of the program's folders" in fault.message
    assert str((tmp_path / "p").resolve()) in fault.message
    assert fault.hint is not None and "MINIFUT_IMPORT_ROOT" in fault.hint


def test_a_checkout_is_one_project_with_its_packages(tmp_path: Path) -> None:
    (tmp_path / "c/.git").mkdir(parents=True)
    write(tmp_path / "c/p/futhark.pkg")
    write(tmp_path / "c/common.fut")
    assert run(tmp_path / "c/p/main.fut", "../common") is None
    assert import_root(tmp_path / "c/p") == (tmp_path / "c").resolve()


def test_folders_of_programs_hang_together(tmp_path: Path) -> None:
    write(tmp_path / "top/accs/shared.fut")
    write(tmp_path / "top/one.fut")
    write(tmp_path / "top/ad/two.fut")
    assert run(tmp_path / "top/ad/fwd/main.fut", "../../accs/shared") is None
    write(tmp_path / "far/away.fut")
    assert run(tmp_path / "top/ad/fwd/main.fut", "../../../far/away") is not None


def test_the_setting_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "far/away.fut")
    program = tmp_path / "near/main.fut"
    assert run(program, "../far/away") is not None
    monkeypatch.setenv("MINIFUT_IMPORT_ROOT", str(tmp_path))
    assert run(program, "../far/away") is None


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    secret = write(tmp_path / "far/secret.fut")
    program = tmp_path / "near/main.fut"
    program.parent.mkdir()
    (program.parent / "inside.fut").symlink_to(secret)
    fault = run(program, "inside")
    assert fault is not None and "outside" in fault.message


def test_what_cannot_be_imported(tmp_path: Path) -> None:
    program = tmp_path / "main.fut"
    absolute = run(program, str(write(tmp_path / "a.fut"))[:-4])
    assert absolute is not None and "relative" in absolute.message
    ending = run(program, "a.fut")
    assert ending is not None and ending.hint is not None and ".fut" in ending.hint
    (tmp_path / "b.fut").write_bytes(b"def x = \xff\n")
    assert run(program, "b") is not None
    (tmp_path / "d.fut").mkdir()
    assert run(program, "d") is not None


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    fault = run(tmp_path / "src/main.fut", "lib/github.com/diku-dk/sorts/radix_sort")
    assert fault is not None
    assert "'futhark pkg add github.com/diku-dk/sorts'" in str(fault)
    write(tmp_path / "futhark.pkg", "require {}\n")
    write(tmp_path / "lib/github.com/diku-dk/sorts/radix_sort.fut")
    fault = run(tmp_path / "src/main.fut", "lib/github.com/diku-dk/sorts/radix_sort")
    assert 'write import "../lib/github.com/diku-dk/sorts/radix_sort"' in str(fault)
    way = "../lib/github.com/diku-dk/sorts/radix_sort"
    assert run(tmp_path / "src/main.fut", way) is None
