"""`%%futhark` cells in a notebook that is executed by nbclient."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import minifut
from minifut.errors import UsageError
from minifut.notebook import run_cell

pytestmark = pytest.mark.device

CELL = """-- | Twice.
entry double [n] (xs: [n]i32): [n]i32 = map (* 2) xs
entry first [n] (xs: [n]i32): i32 = xs[0]"""


class Shell:
    def __init__(self) -> None:
        self.names: dict[str, Any] = {}

    def push(self, names: dict[str, Any]) -> None:
        self.names.update(names)


def test_entry_points_become_names() -> None:
    shell = Shell()
    program = run_cell(shell, "prog --schedule cpu", CELL)
    assert set(shell.names) == {"double", "first", "prog"}
    assert shell.names["prog"] is program
    assert shell.names["double"]([1, 2]).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a b", "'b' is not expected"),
        ("--device", "needs a value"),
        ("--fast", "'--fast' is not expected"),
    ],
)
def test_wrong_lines(line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run_cell(Shell(), line, CELL)


def test_tables_escape_what_they_show() -> None:
    text = "-- | a < b & c\nentry less (x: i32): bool = x < 1"
    program = minifut.compile(text, backend="interpreter")
    shown = program._repr_html_()
    assert "a &lt; b &amp; c" in shown and "<b>less</b>" in shown
    assert "x: <code>i32</code>" in program.less._repr_html_()


def test_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat.v4")
    pytest.importorskip("ipykernel")
    root = str(Path(__file__).parent.parent)
    known = os.environ.get("PYTHONPATH")
    path = root if known is None else f"{root}{os.pathsep}{known}"
    monkeypatch.setenv("PYTHONPATH", path)
    sources = [
        "%load_ext minifut",
        f"%%futhark prog\n{CELL}",
        "double([1, 2]).tolist()",
        "%%futhark\nentry wrong (x: i32): i32 = x + y",
        "first([5, 6])",
        f"%%futhark --device nothing\n{CELL}",
    ]
    cells = [nbformat.new_code_cell(source) for source in sources]
    for number in (3, 5):
        cells[number].metadata["tags"] = ["raises-exception"]
    notebook = nbformat.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=200, kernel_name="python3").execute()
    _, table, doubled, wrong, five, device = (cell.outputs for cell in notebook.cells)
    assert "<b>double</b>" in table[0].data["text/html"]
    assert doubled[0].data["text/plain"] == "[2, 4]"
    shown = "\n".join(wrong[0].traceback)
    assert "<text>:1:33: error: " in shown and "^" in shown
    assert len(shown.splitlines()) < 8
    assert device[0].traceback[0].startswith("no OpenCL device matches 'nothing'")
    assert "5" in five[0].data["text/plain"]


@pytest.mark.parametrize("text", ["", "def f (x: i32) = x"])
def test_a_cell_without_entry_points_says_what_is_missing(text: str) -> None:
    program = run_cell(Shell(), "prog", text)
    missing = "no entry points, which begin with `entry`, not `def`"
    assert missing in program._repr_html_()
    assert missing in repr(program)
    with pytest.raises(AttributeError, match=missing):
        program.f(1)
