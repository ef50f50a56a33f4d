"""Sequential kernels give what the interpreter gives, and refuse what they cannot do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minifut import compiler, stages
from minifut.errors import ProgramError, Source
from minifut.program import Program
from minifut.sequential.lower import NotSequential, lower_sequential
from minifut.stages import Options

PROGRAMS = sorted((Path(__file__).parents[1] / "programs").glob("*.fut"))


def sequential(text: str) -> Program:
    options = Options(backend="sequential", use_tuning=False)
    return compiler.compile_program(Source("a.fut", text), options)


@pytest.mark.sweep
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
def test_parameters_are_transposed_only_if_their_shape_is_known_before() -> None:
    program = sequential(
        "def pairs 't (n: i32) (m: i32) (xs: [i64.i32 n * i64.i32 m]t) ="
        " transpose (unflatten xs)\n"
        "entry main (n: i32) (m: i32) (xs: []i32) : [][]i32 = pairs n m xs\n"
        "entry other [n][m] (xs: [n][m]i32) = map i32.sum (transpose xs)"
    )
    xs = np.arange(6, dtype=np.int32)
    assert program.main(2, 3, xs).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert program.other(xs.reshape(2, 3)).tolist() == [3, 5, 7]


@pytest.mark.device
def test_failures_are_located() -> None:
    program = sequential("entry main (xs: []i32) (i: i64) = xs[i]")
    with pytest.raises(ProgramError, match=r"Index \[4\] out of bounds"):
        program.main(np.arange(3, dtype=np.int32), 4)
    assert program.main(np.arange(3, dtype=np.int32), 2) == 2


def test_long_programs_are_refused() -> None:
    lines = ["def f0 (x: i32) = x + 1"]
    lines += [f"def f{i} (x: i32) = f{i - 1} (f{i - 1} x) * x" for i in range(1, 30)]
    core = stages.to_core(
        stages.check(Source("a.fut", "\n".join([*lines, "entry main x = f29 x"])))
    )
    with pytest.raises(NotSequential, match="too long"):
        lower_sequential(core)
