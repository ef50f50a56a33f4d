"""Sequential kernels give what the interpreter gives, and refuse what they cannot do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minifut import compiler
from minifut.compiler import Options
from minifut.errors import ProgramError, Source
from minifut.program import Program
from minifut.sequential.lower import NotSequential, lower_sequential

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.fut"))


def sequential(text: str) -> Program:
    options = Options(backend="sequential", use_tuning=False)
    return compiler.compile_program(Source("a.fut", text), options)


@pytest.mark.device
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_pass(path: Path) -> None:
    from minifut.testing.runner import TestOptions, run_program

    report = run_program(path, TestOptions(Options(backend="sequential")))
    assert not report.failures
    assert report.runs


@pytest.mark.device
def test_arenas_grow_beyond_their_first_size() -> None:
    program = sequential(
        "entry main (n: i64) = let xs = filter (\\x -> x % 3 != 0) (iota n)"
        " in (length xs, scan (+) 0 xs)"
    )
    count, sums = program.main(np.int64(6_000_000))
    numbers = np.arange(6_000_000)
    expected = numbers[numbers % 3 != 0]
    assert count == len(expected)
    assert np.array_equal(sums, np.cumsum(expected))


@pytest.mark.device
def test_consumed_arguments_stay_as_they_were() -> None:
    """The kernel runs several times here, as its arena is too small at first."""
    program = sequential(
        "entry main [n] (xs: *[n]i64) ="
        " let ys = loop xs for i < n do xs with [i] = xs[i] + 1"
        " in (ys, map (+ 1) ys, iota 3000000)"
    )
    given = np.arange(1_500_000)
    ones, twos, _ = program.main(given)
    assert np.array_equal(given, np.arange(1_500_000))
    assert np.array_equal(ones, given + 1) and np.array_equal(twos, given + 2)


@pytest.mark.device
def test_loops_over_arrays_that_change_size_let_go_of_memory() -> None:
    """All sizes together are 500 times what the arena holds at first."""
    program = sequential(
        "entry main (n: i64) = loop xs = iota n for i < 1000 do"
        " filter (\\x -> x % 7 != i % 7 || x > i) (map (+ 1) xs)"
    )
    interpreted = compiler.compile_program(
        Source(
            "a.fut",
            "entry main (n: i64) = loop xs = iota n for i < 1000 do"
            " filter (\\x -> x % 7 != i % 7 || x > i) (map (+ 1) xs)",
        ),
        Options(backend="interpreter", use_tuning=False),
    )
    assert np.array_equal(program.main(2000), interpreted.main(2000))


@pytest.mark.device
def test_failures_are_located() -> None:
    program = sequential("entry main (xs: []i32) (i: i64) = xs[i]")
    with pytest.raises(ProgramError, match=r"Index \[4\] out of bounds"):
        program.main(np.arange(3, dtype=np.int32), 4)
    assert program.main(np.arange(3, dtype=np.int32), 2) == 2


def test_long_programs_are_refused() -> None:
    lines = ["def f0 (x: i32) = x + 1"]
    lines += [f"def f{i} (x: i32) = f{i - 1} (f{i - 1} x) * x" for i in range(1, 30)]
    core = compiler.to_core(
        compiler.check(Source("a.fut", "\n".join([*lines, "entry main x = f29 x"])))
    )
    with pytest.raises(NotSequential, match="too long"):
        lower_sequential(core)
