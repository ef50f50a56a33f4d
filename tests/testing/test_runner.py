"""The runner on a program made of Python functions: what passes, what fails, how."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import (
    CompileError,
    InternalError,
    Location,
    ProgramError,
    Source,
    UsageError,
)
from minifut.testing import runner
from minifut.testing.runner import Report, TestOptions, find_programs, run_program

from .fake import entry, program


def divide(x: Any, y: Any) -> Any:
    if y == 0:
        raise ProgramError("division by zero", ("a.fut:1:1",))
    return x // y


def raised(error: Exception) -> Any:
    raise error


FAKE = program(
    entry("main", ["x: i32"], ["i32"], lambda x: x),
    entry("divide", ["x: i32", "y: i32"], ["i32"], divide),
    entry("both", ["x: f32"], ["f32", "f32"], lambda x: (x, -x)),
    entry("sleep", ["x: f64"], [], lambda x: time.sleep(x) or ()),
    entry("sized", ["x: i32"], ["i32"], lambda x: raised(UsageError("must be 3"))),
    entry("slow", [], ["i32"], lambda: time.sleep(5)),
    entry("broken", [], ["i32"], lambda: {}["key"]),
    entry("large", [], ["i32"], lambda: raised(MemoryError("4 TiB"))),
    entry("sum", ["xs: []f32"], ["f32"], lambda xs: xs.sum()),
)
ORACLE = program(entry("sum", ["xs: []f32"], ["f32"], lambda xs: xs.sum()))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Exception | None]:
    """Compiling gives the fake program, or raises what the list holds."""
    outcome: list[Exception | None] = [None]

    def compile(self: Any, wanted: bool) -> Any:
        if outcome[0] is not None:
            raise outcome[0]
        return SimpleNamespace(warnings=["a.fut:1:1: warning: unused x"]), FAKE

    monkeypatch.setattr(runner._Run, "compile", compile)
    monkeypatch.setattr(runner._Run, "interpreted", lambda self, steps=None: ORACLE)
    return outcome


@pytest.fixture
def run(compiled: list[Exception | None], tmp_path: Path) -> Any:
    def run(block: str, options: TestOptions | None = None) -> Report:
        path = tmp_path / "a.fut"
        path.write_text("-- ==\n" + "".join(f"-- {b}\n" for b in block.split("\n")))
        return run_program(path, options or TestOptions())

    return run


@pytest.mark.parametrize(
    ("block", "runs"),
    [
        ("input { 1 } output { 1 }\ninput { 2 } output { 2 }", 2),
        ("input { 1 }", 1),
        ("entry: divide\ninput { 7 2 } output { 3 }", 1),
        ("entry: divide\ninput { 7 0 } error: by [a-z]+", 1),
        ("entry: sized\ninput { 1 } error: Error*", 1),
        ("entry: both\ninput { 1f32 } output { 1f32 -1.001f32 }", 1),
        ("entry: sum\nrandom input { [10]f32 } auto output", 1),
        ("warning: unused", 0),
        ("structure { Map 1 }", 0),
        ("script input { divide 9 2 } output { 4 }", 1),
    ],
)
def test_what_passes(run: Any, block: str, runs: int) -> None:
    report = run(block)
    assert report.failures == [] and report.runs == runs


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("input { 1 } output { 2 }", "main, '1' (line 2): 2i32 expected, got 1i32"),
        ("input { 1i64 } output { 1 }", "parameter x of main: a value of type i32 is"),
        ("input { 1 2 } output { 1 }", "main takes 1 value, 2 given"),
        ("input { 1 } output { 1 2 }", "2 results expected"),
        ("input { 1 } error: zero", "a run-time error with 'zero' was expected"),
        ("entry: divide\ninput { 1 0 } error: one", "with 'one' was expected, it is"),
        ("entry: divide\ninput { 1 0 } output { 1 }", "division by zero"),
        ("entry: mian\ninput { 1 }", "did you mean 'main'"),
        ("entry: broken\ninput {}", "internal error"),
        ("entry: large\ninput {}", "4 TiB"),
        ("input { [1 } output { 1 }", "byte 2: a comma"),
        ("input @ nothing.in", "no such file"),
        ("warning: shadowed", "a warning with 'shadowed' was expected"),
        ("inptu { 1 }", "a.fut:2: in a test block"),
        ("error: x", "compiled, though it must be rejected"),
    ],
)
def test_what_fails(run: Any, block: str, message: str) -> None:
    report = run(block)
    assert len(report.failures) == 1
    assert message in report.failures[0]


def test_all_failures_are_reported(run: Any) -> None:
    report = run("entry: main divide\ninput { 1 } output { 2 }\ninput { 3 }")
    assert report.runs == 4 and len(report.failures) == 3


def test_expected_compile_errors(run: Any, compiled: list[Exception | None]) -> None:
    compiled[0] = CompileError(None, 'Consuming "xs" twice')
    assert run('error: Consuming.*"xs"').failures == []
    (failure,) = run("error: Unmatched").failures
    assert "a compile error with 'Unmatched' was expected" in failure
    (failure,) = run("input { 1 }").failures
    assert "Consuming" in failure


@pytest.mark.parametrize(("end", "shown"), [((4, 36), "36"), ((5, 2), "5:2")])
def test_the_place_of_an_error_has_an_end(
    run: Any, compiled: list[Exception | None], end: tuple[int, int], shown: str
) -> None:
    place = Location(Source("a.fut", "let x"), 4, 26, *end)
    compiled[0] = CompileError(place, "Cannot apply")
    assert run(f"error: a.fut:4:26-{shown}$").failures == []
    assert len(run("error: a.fut:4:26-37").failures) == 1


@pytest.mark.parametrize("error", [InternalError("check", "oops"), KeyError("oops")])
def test_a_fault_of_ours_is_no_rejection(
    run: Any, compiled: list[Exception | None], error: Exception
) -> None:
    compiled[0] = error
    (failure,) = run("error: oops").failures
    assert "internal error" in failure


def test_time_limit(run: Any) -> None:
    start = time.perf_counter()
    (failure,) = run("entry: slow\ninput {}", TestOptions(seconds=0.2)).failures
    assert failure == "slow, '' (line 3): took more than 0.2 s"
    assert time.perf_counter() - start < 3


def test_the_time_limit_is_that_of_a_case(run: Any) -> None:
    cases = "".join(f"input {{ {seconds} }}\n" for seconds in (0.2, 0.2, 9.0, 0.2))
    report = run(f"entry: sleep\n{cases}", TestOptions(seconds=0.45))
    assert report.runs == 4
    assert report.failures == ["sleep, '9.0' (line 5): took more than 0.45 s"]


def test_tags_set_aside(run: Any) -> None:
    assert run("tags { no_opencl }\ninput { 1 } output { 2 }").is_set_aside
    report = run("notest input { 1 } output { 2 }\ninput { 1 }")
    assert report.failures == [] and report.runs == 1
    interpreter = TestOptions(stages.Options(backend="interpreter"))
    report = run("tags { no_opencl }\ninput { 1 } output { 1 }", interpreter)
    assert not report.is_set_aside and report.runs == 1


def test_only_some_entries(run: Any) -> None:
    options = TestOptions(entries=frozenset({"divide"}))
    assert run("entry: main divide\ninput { 1 1 } output { 1 }", options).runs == 1


def test_folders_are_walked(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("a.fut", "b/c.fut", "b/d.txt"):
        (tmp_path / name).write_text("")
    found = find_programs([tmp_path, tmp_path / "a.fut"])
    assert [str(p.relative_to(tmp_path)) for p in found] == [
        "a.fut",
        "b/c.fut",
        "a.fut",
    ]
    with pytest.raises(UsageError, match="no such file"):
        find_programs([tmp_path / "x"])


def test_oracle_must_agree(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = program(entry("sum", ["xs: []f32"], ["f32"], lambda xs: np.float32(-1)))
    monkeypatch.setattr(runner._Run, "interpreted", lambda self, steps=None: wrong)
    (failure,) = run("entry: sum\nrandom input { [10]f32 } auto output").failures
    assert "-1.0f32 expected" in failure
