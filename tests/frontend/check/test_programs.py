"""Whole programs around the rules of the language: consumption through tuples, records,
branches, loops, modules and higher-order functions, sizes that escape, liftedness,
abstract types, and what only looks wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from minifut import stages
from minifut.errors import CompileError, Source

PROGRAMS = Path(__file__).parent / "programs"


def programs(name: str) -> list[tuple[str, str]]:
    """The programs of a file, each with its heading; empty lines separate them."""
    found, heading = [], ""
    for text in (PROGRAMS / name).read_text().strip().split("\n\n")[1:]:
        if text.startswith("## "):
            heading = text[3:]
        else:
            found.append((heading, text))
    return found


@pytest.mark.parametrize(("anchor", "text"), programs("refused.txt"))
def test_refused(anchor: str, text: str) -> None:
    with pytest.raises(CompileError) as caught:
        stages.check(Source("main.fut", text))
    assert caught.value.anchor == anchor, str(caught.value)
    assert caught.value.location is not None


@pytest.mark.parametrize("text", [text for _, text in programs("accepted.txt")])
def test_accepted(text: str) -> None:
    stages.to_core(stages.check(Source("main.fut", text)))
