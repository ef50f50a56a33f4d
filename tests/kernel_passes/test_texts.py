"""Passes over kernel code by text: `texts/*.kir` hold kernel code and what it becomes.

    -- pass prefetch
    schedule cpu
    kernel k (..) groups (1) {..}
    -- becomes
    let i: i64 = 0i64
    ..
    store ys[i] = 1.0f32

The lines below `becomes` must be found in what the pass makes, in this order and one
after the other but for `..`, which stands for any lines. Indentation does not count.
What goes in and what comes out must be well formed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minifut.kernel_ir.printer import show
from minifut.kernel_ir.reader import read_program
from minifut.kernel_ir.verify import verify_program
from minifut.lowering.pipelines import find_pass, names_after
from minifut.passes.pipeline import PipelineOptions, run_step

FILES = sorted((Path(__file__).parent / "texts").glob("*.kir"))
_CASE = re.compile(
    r"^-- pass (\S+)\n(.*?)^-- becomes\n(.*?)(?=^-- pass|\Z)", re.M | re.S
)


def missing(text: str, wanted: str) -> str | None:
    """The first lines wanted that do not follow those before them."""
    lines = [line.strip() for line in text.splitlines()]
    at = 0
    for block in re.split(r"^\s*\.\.\s*$", wanted.strip(), flags=re.MULTILINE):
        part = [line.strip() for line in block.strip().splitlines()]
        places = range(at, len(lines) - len(part) + 1)
        found = next((i for i in places if lines[i : i + len(part)] == part), None)
        if found is None:
            return "\n".join(part)
        at = found + len(part)
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_passes_make_what_the_text_says(path: Path) -> None:
    cases = _CASE.findall(path.read_text())
    assert cases
    for name, before, wanted in cases:
        program = read_program(before)
        verify_program(program)
        names = names_after(program)
        after = run_step(find_pass(name), program, names, PipelineOptions())
        text = show(after, renumber=True)
        assert missing(text, wanted) is None, f"{missing(text, wanted)}\nin\n{text}"


def test_lines_that_are_not_there_are_missing() -> None:
    text = "a\n  b\nc\nd"
    assert missing(text, "a\nb\n..\nd") is None
    assert missing(text, "a\nc") == "a\nc"
    assert missing(text, "c\n..\nb") == "b"
