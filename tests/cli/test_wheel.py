"""`minifut wheel`: packages that pip installs, and that run and are typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from minifut.cli import main

ROOT = Path(__file__).parent.parent.parent
SOURCE = "entry main [n] (xs: [n]i32): i32 = i32.sum xs\n"
USE = """
import sys
import numpy as np
from prog import program
print(program.load().main(np.arange(5, dtype=np.int32)))
print(program.load().main(xs=np.arange(3, dtype=np.int32), device=False))
try:
    from prog import main
except ImportError as error:
    print(error)
print([m for m in sys.modules if m.startswith(("minifut.frontend", "minifut.passes"))])
"""


def make(folder: Path, *options: str) -> object:
    (folder / "prog.fut").write_text(SOURCE)
    arguments = ["wheel", str(folder / "prog.fut"), "--folder", str(folder)]
    return CliRunner().invoke(main, [*arguments, *options])


@pytest.mark.device
def test_a_wheel_is_installed_and_runs_without_the_compiler(tmp_path: Path) -> None:
    done = make(tmp_path, "--package-version", "1.2.3")
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.glob("*.whl")
    assert path.name == "prog-1.2.3-py3-none-any.whl"
    assert f"wrote {path}" in done.output
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(path)], check=True)
    assert (target / "prog" / "__init__.pyi").is_file()
    assert (target / "prog" / "py.typed").is_file()
    environment = {**os.environ, "PYTHONPATH": f"{target}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.split("\n")
    assert lines[:2] == ["10", "3"]
    assert lines[2].startswith("cannot import name 'main' from 'prog'")
    assert lines[3] == "[]"


def test_equal_programs_give_equal_wheels(tmp_path: Path) -> None:
    contents = []
    for _ in range(2):
        make(tmp_path, "--schedule", "cpu")
        contents.append((tmp_path / "prog-0.1.0-py3-none-any.whl").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--name", "two-words"), "cannot be a Python package"),
        (("--name", "class"), "cannot be a Python package"),
        (("--name", "minifut"), "would hide this one"),
        (("--package-version", "new"), "is no version"),
    ],
)
def test_names_and_versions_are_checked(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = make(tmp_path, *options)
    assert done.exit_code == 2
    assert message in done.output
    assert not list(tmp_path.glob("*.whl"))
