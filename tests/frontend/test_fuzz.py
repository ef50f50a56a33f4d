"""Damaged programs are refused with a position, whatever is wrong with them.

`benchmarks/fuzz.py` does the same at length; what it found is kept below.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _fuzz() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"
    spec = importlib.util.spec_from_file_location("fuzz", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module
    spec.loader.exec_module(module)
    return module


fuzz = _fuzz()


@pytest.mark.parametrize(
    ("stage", "count"), [("parser", 1500), ("checker", 250), ("compile", 50)]
)
def test_damage_is_refused_with_a_position(stage: str, count: int) -> None:
    sources = fuzz.programs(list(fuzz.OWN_PROGRAMS))
    findings = [f for f in fuzz.fuzz(stage, sources, count, seed=7) if f is not None]
    assert not findings, f"{findings[0].complaint}\n{findings[0].text}"


def test_damage_is_done() -> None:
    sources = fuzz.programs(list(fuzz.OWN_PROGRAMS))
    assert len(sources) > 5
    assert fuzz.complaint_about("def main = ", "a.fut", "parser") is None
    assert fuzz.complaint_about("def f (x: i32) = y", "a.fut", "checker") is None
    broken = "def f (x: i32) = x" + " + (x" * 20_000
    assert fuzz.complaint_about(broken, "a.fut", "parser") is None


def test_indexing_with_nothing() -> None:
    text = "def main (xs: [](i32, bool)) = (map (.[]) xs, xs[])"
    assert fuzz.complaint_about(text, "a.fut", "compile") is None
