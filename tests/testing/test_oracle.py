"""The oracle of automatic outputs: who is asked when, and what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source, UsageError
from minifut.interpreted import interpreted_program
from minifut.program import Program
from minifut.testing import oracle
from minifut.testing.blocks import RandomValues, RunCase
from minifut.testing.oracle import Oracle

TEXT = """
entry quick (n: i64) = i64.sum (iota n)
entry slow (n: i64) = loop x = 0 for i < n do x + i
entry recursive (n: i64) = (n, n)
"""


class Asked:
    """An oracle with notes about who was asked."""

    def __init__(self, sequential: bool = True) -> None:
        core = stages.to_core(stages.check(Source("a.fut", TEXT)))
        self.names: list[str] = []

        def interpreted(steps: int | None) -> Program:
            self.names.append("interpreter" if steps is None else "limited")
            return interpreted_program(core, None, steps)

        def other() -> Program:
            self.names.append("sequential")
            if not sequential:
                raise UsageError("there is none")
            return interpreted_program(core)

        self.oracle = Oracle(core, interpreted, other)

    def expected(self, name: str, count: int) -> Any:
        case = RunCase("c", (), RandomValues(f"{count}i64"), "auto", 1)
        return self.oracle.expected(
            name, case, Path("."), lambda program, entry: [np.int64(count)]
        )


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    return tmp_path


def test_the_interpreter_comes_first() -> None:
    asked = Asked()
    assert asked.expected("quick", 10) == [45]
    assert asked.expected("recursive", 10) == [10, 10]
    assert asked.names == ["limited"]


def test_what_takes_many_steps_goes_to_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oracle, "STEPS", 1000)
    asked = Asked()
    assert asked.expected("slow", 1001) == [500500]
    assert asked.expected("quick", 1001) == [500500], "in lanes"
    assert asked.names == ["limited", "sequential"]


def test_without_a_kernel_the_interpreter_takes_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oracle, "STEPS", 1000)
    asked = Asked(sequential=False)
    assert asked.expected("slow", 1001) == [500500]
    assert asked.names == ["limited", "sequential", "interpreter"]


def test_only_what_took_long_is_kept(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    assert Asked().expected("quick", 10) == [45]
    assert not list(own_cache.rglob("*"))
    monkeypatch.setattr(oracle, "LONG", 0.0)
    assert Asked().expected("quick", 10) == [45]
    again = Asked()
    assert again.expected("quick", 10) == [45]
    assert again.names == []
    assert again.expected("quick", 11) == [55]
    assert again.names == ["limited"]


def test_the_oldest_results_make_room(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setattr(oracle, "LONG", 0.0)
    monkeypatch.setattr(oracle, "LARGEST_FOLDER", 300)
    for count in range(10):
        Asked().expected("quick", count)
    left = [p.stat().st_size for p in (own_cache / oracle.KIND).iterdir()]
    assert 0 < sum(left) <= 300
