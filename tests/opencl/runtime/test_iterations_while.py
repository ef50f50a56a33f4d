"""Loops that go on as long as the device says are left to it (iterations.py)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl import runtime as rt
from minifut.opencl.runtime import batch, iterations
from minifut.opencl.runtime.batch import Batch
from minifut.opencl.runtime.first_launches import FirstLaunches
from minifut.opencl.runtime.iterations import Repeated
from minifut.opencl.runtime.queue import Session
from tests.opencl.runtime.test_first_launches_interrupted import interrupted_after

pytestmark = [pytest.mark.device, pytest.mark.optimised]

TEXT = """
entry halve [n] (least: f64) (xs: [n]f64): ([n]f64, i32) =
  let (xs, _, i) = loop (xs, t, i) = (xs, f64.maximum xs, 0) while t > least do
    let ys = map (/ 2) (rotate 1 xs) in (ys, f64.maximum ys, i + 1)
  in (xs, i)

entry capped [n] (most: i64) (least: f64) (xs: [n]f64): ([n]f64, i64, f64) =
  loop (xs, i, t) = (xs, 0, 1) while i < most && t > least do
    let ys = map (/ 2) (rotate 1 xs) in (ys, i + 1, f64.maximum ys)

entry flags [n] (xs: [n]i32): ([n]i32, i32) =
  let (xs, _, i) = loop (xs, changed, i) = (xs, true, 0) while changed do
    let ys = map2 i32.min xs (rotate 1 xs) in (ys, or (map2 (!=) xs ys), i + 1)
  in (xs, i)

entry three [n] (most: i32) (xs: [n]f64) (ys: [n]f64): ([n]f64, [n]f64, [n]f64, i32) =
  let (a, b, c, _, i) =
    loop (a, b, c, s, i) = (xs, ys, xs, 1, 0) while s < 1e9 && i < most do
      let d = map2 (\\x y -> (x + y) % 1000) (rotate 1 a) b
      in (b, c, d, f64.maximum d, i + 1)
  in (a, b, c, i)

entry used [n] (most: i64) (xs: [n]f64): ([n]f64, i64) =
  let (xs, _, i) = loop (xs, t, i) = (xs, 1, 0) while i < most && !(f64.isnan t) do
    let ys = map (\\x -> f64.i64 i + (x / (1 + t)) % 100) (rotate 1 xs)
    in (ys, f64.maximum ys, i + 1)
  in (xs, i)

entry nan [n] (at: i32) (xs: [n]f64): ([n]f64, i32) =
  let (xs, _, i) = loop (xs, t, i) = (xs, 1, 0) while t >= 0 do
    let ys = map (\\x -> if i == at then f64.nan else x + 1) xs
    in (ys, f64.sum ys, i + 1)
  in (xs, i)

entry before [n] (least: f64) (xs: [n]f64): (f64, f64, i32) =
  let (_, s, r, i) = loop (xs, s, r, i) = (xs, 2, 1, 0) while f64.abs (s - r) > least do
    let ys = map (\\x -> x / 2 + 1) xs in (ys, r, f64.sum ys / f64.i64 n, i + 1)
  in (s, r, i)

entry outer [n] (rounds: i32) (least: f64) (xs: [n]f64): ([n]f64, i32) =
  loop (xs, total) = (xs, 0) for _r < rounds do
    let (ys, _, i) = loop (ys, t, i) = (xs, f64.maximum xs, 0) while t > least do
      let zs = map (/ 2) (rotate 1 ys) in (zs, f64.maximum zs, i + 1)
    in (map (* 9) ys, total + i)

entry both [n] (xs: [n]f64): ([n]f64, i32) =
  let (xs, _, total) = loop (xs, s, total) = (xs, 1e9, 0) while s > 1 do
    let (ys, _, i) = loop (ys, t, i) = (xs, 1, 0) while t > s / 2e9 do
      let zs = map (/ 2) (rotate 1 ys) in (zs, f64.maximum zs, i + 1)
    in (ys, f64.sum ys, total + i)
  in (xs, total)

entry kept [n] (most: i32) (xs: [n]f64): ([n]f64, [n]f64, [n]f64, i32) =
  let a = map (+ 1) xs
  let (b, p, _, i) = loop (b, p, t, i) = (a, a, 1, 0) while t > 0 && i < most do
    let c = map (/ 2) (rotate 1 b) in (c, b, f64.maximum c, i + 1)
  in (b, p, map2 (+) a b, i)

entry steps [n] (count: i32) (least: f64) (xs: [n]f64): ([n]f64, i32) =
  let (xs, _, i) = loop (xs, t, i) = (xs, f64.maximum xs, 0) while t > least do
    let ys = loop ys = xs for _j < count do map (/ 1.5) (rotate 1 ys)
    in (ys, f64.maximum ys, i + 1)
  in (xs, i)

entry labels [n] (xs: [n]i64) (is: [n]i64): ([n]i64, i32) =
  let (xs, _, i) = loop (xs, changed, i) = (xs, true, 0) while changed do
    let ys = reduce_by_index (copy xs) i64.min i64.highest is (rotate 1 xs)
    in (ys, or (map2 (!=) xs ys), i + 1)
  in (xs, i)

entry gather [n] (least: i64) (is: [n]i64) (at: [n]i64): ([n]i64, i64) =
  let (at, _, i) = loop (at, t, i) = (at, i64.highest, 0) while t > least do
    let bt = map (\\j -> is[j] + j) at in (bt, i64.maximum (map (100000 -) bt), i + 1)
  in (at, i)
"""
GROWING = """entry main [n] (xs: [n]f64): (f64, i32) =
  let (_, _, t, i) = loop (m, xs, t, i) = (n, xs, f64.sum xs, 0) while t < 1000 do
    let ys = tabulate (2 * m) (\\j -> xs[j % m]) in (2 * m, ys, f64.sum ys, i + 1)
  in (t, i)"""
N = 70_000
ENTRIES = ["halve", "capped", "flags", "three", "used", "nan", "before"]
ENTRIES += ["outer", "labels", "kept", "steps"]
Calls = list[tuple[Any, ...]]


def compiled(**options: Any) -> Any:
    made = minifut.compile(TEXT, **options)
    if "backend" not in options:
        made.tuning.update({name: 0 for name in made.tuning if "host" in name})
    return made


def floats(n: int = N) -> np.ndarray:
    return (np.arange(n) % 61 + 1).astype(np.float64)


def calls(entry: str, n: int) -> Calls:
    xs = floats(n)
    whole = (np.arange(n) * 7919 % 1009).astype(np.int32)
    return {
        "halve": [(10.0**-p, xs) for p in (9, 0, 1, 2, 3, 200)] + [(100.0, xs)],
        "capped": [
            *((most, -1.0, xs) for most in (0, 1, 2, 3, 4, 7, 8, 9, 500, 2001)),
            *((900, 10.0**-p, xs) for p in (0, 1, 5, 100)),
        ],
        "flags": [(whole[: n // k],) for k in (1, 2, 50)],
        "three": [(most, xs, xs * 3) for most in (0, 1, 5, 6, 7, 23, 400)],
        "used": [(most, xs) for most in (0, 1, 2, 5, 50, 51, 52, 700)],
        "nan": [(at, xs) for at in (0, 1, 4, 5, 33, 34, 600)],
        "before": [(10.0**-p, xs) for p in (1, 2, 4, 9)],
        "outer": [(rounds, 10.0**-p, xs) for rounds in (0, 1, 4) for p in (1, 9)],
        "kept": [(most, xs) for most in (0, 1, 2, 3, 4, 9)],
        "steps": [(count, 10.0**-p, xs) for count in (1, 2, 3, 30) for p in (1, 40)],
        "both": [(xs,)],
        "labels": [(whole.astype(np.int64), np.arange(n) // k * k) for k in (1, 2, 40)],
    }[entry]


def assert_same(found: Any, wanted: Any) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "entry",
    [*ENTRIES, "both"],
)
def test_iterations_are_as_many_and_the_same(
    entry: str, repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = compiled().entry(entry)
    given = calls(entry, N)
    with monkeypatch.context() as alone:
        alone.setattr(batch, "OFTEN", 0)
        other = compiled().entry(entry)
        wanted = [other(*arguments) for arguments in given]
    assert not repeated
    for _ in range(3):
        for arguments, expected in zip(given, wanted, strict=True):
            assert_same(run(*arguments), expected)
    assert repeated


@pytest.mark.sweep
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_the_interpreter_agrees(
    entry: str, schedule: str, repeated: list[Repeated]
) -> None:
    run = compiled(schedule=schedule).entry(entry)
    oracle = compiled(backend="interpreter").entry(entry)
    for arguments in calls(entry, 13):
        if all(not np.isscalar(a) or abs(a) < 60 for a in arguments):
            wanted = oracle(*arguments)
            for _ in range(3):
                assert_same(run(*arguments), wanted)
    assert bool(repeated) == (schedule == "cpu")


def test_all_but_some_iterations_are_left_to_the_device(
    repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled()
    for _ in range(3):
        program.capped(4000, -1.0, floats())
    repeated.clear()
    waits: list[Any] = []
    check = rt.Run.check

    def counted(self: Any) -> None:
        waits.append(None)
        check(self)

    monkeypatch.setattr(rt.Run, "check", counted)
    found = program.capped(4000, -1.0, floats())
    assert found[1] == 4000
    assert len(waits) < 12
    assert sum(each.count for each in repeated) >= 4000 - 8


def test_the_host_waits_where_there_are_no_batches(
    repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "has_batches", property(lambda _: False))
    program, xs = compiled(), floats()
    for most in (0, 1, 20):
        assert program.three(most, xs, xs)[3] == most
    assert not repeated


def test_a_failure_ends_the_iterations(repeated: list[Repeated]) -> None:
    program = compiled()
    ones, good = np.ones(N, np.int64), np.zeros(N, np.int64)
    for _ in range(3):
        _, count = program.gather(100_000 - 500, ones, good)
        assert count == 500
    assert repeated
    repeated.clear()
    with pytest.raises(minifut.ProgramError, match=r"Index \[70000\] out of bounds"):
        program.gather(0, 50 * ones, good)
    assert repeated
    assert program.gather(100_000 - 5, ones, good)[1] == 5


def test_memory_is_not_kept(repeated: list[Repeated]) -> None:
    program = compiled()
    xs = floats()
    for _ in range(5):
        program.three(333, xs, xs)
    session = rt.open_session(None)
    before = session.pool.in_use
    program.three(333, xs, xs)
    assert session.pool.in_use == before
    assert session.first_launches.loops == 0
    assert repeated


def test_an_interrupt_is_answered_between_batches(
    repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, xs = compiled(), floats()
    for _ in range(3):
        expected = program.capped(3000, -1.0, xs)
    start = Batch.start
    started: list[Any] = []

    def interrupted(self: Batch, *given: Any) -> Any:
        started.append(given)
        if len(started) == 4:
            raise KeyboardInterrupt
        return start(self, *given)

    with monkeypatch.context() as context:
        context.setattr(Batch, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            program.capped(3000, -1.0, xs)
    assert rt.open_session(None).first_launches.loops == 0
    assert_same(program.capped(3000, -1.0, xs), expected)


def test_an_interrupt_at_any_line_leaves_nothing_behind(
    repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, xs = compiled(), floats(500)
    monkeypatch.setattr(iterations, "LARGE", 1 << 40)  # others keep memory
    for _ in range(3):
        expected = program.capped(40, -1.0, xs)
    assert repeated
    lines, left = 0, [0]
    while left[0] <= 0:
        lines += 5
        with contextlib.suppress(KeyboardInterrupt), interrupted_after(lines) as left:
            program.capped(40, -1.0, xs)
        assert_same(program.capped(40, -1.0, xs), expected)
        assert rt.open_session(None).first_launches.loops == 0
    assert lines > 200


def test_loops_that_end_early_are_guessed_to_go_on(
    repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, xs = compiled(), floats()
    monkeypatch.setattr(iterations, "LARGE", 1 << 40)  # others keep memory
    for _ in range(3):
        program.three(100, xs, xs)
    launches: list[int] = []
    start = Batch.start

    def noted(self: Batch, waiting: Any, *more: Any) -> Any:
        launches.append(len(waiting))
        return start(self, waiting, *more)

    monkeypatch.setattr(Batch, "start", noted)
    for most in (1, 2, 3, 4):
        launches.clear()
        assert program.three(most, xs, xs)[3] == most
        assert len(launches) == 1


def test_nothing_is_guessed_with_little_memory(
    repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, xs = compiled(), floats()
    for _ in range(3):
        program.three(100, xs, xs)
    pool = rt.open_session(None).pool
    monkeypatch.setattr(pool, "limit", pool.held + 1)
    guessed: list[int] = []
    monkeypatch.setattr(FirstLaunches, "guess", lambda _, flag: guessed.append(flag))
    assert program.three(100, xs, xs)[3] == 100
    assert not guessed


def test_what_grows_is_not_guessed(repeated: list[Repeated]) -> None:
    program = minifut.compile(GROWING)
    program.tuning.update({name: 0 for name in program.tuning if "host" in name})
    for _ in range(4):
        for n in (1, 3, 100):
            total, count = program.main(np.ones(n))
            assert count == int(np.ceil(np.log2(1000 / n)))
            assert total == n * 2**count


@pytest.mark.parametrize("few", [1, 6, 1 << 12])
def test_batches_may_be_of_any_length(
    few: int, repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iterations, "FEW", few)
    run: Callable[..., Any] = compiled().three
    xs = floats()
    for most in (40, 41, 42, 43, 44, 45, 46, 47, 200):
        for _ in range(2):
            assert run(most, xs, xs)[3] == most
    assert repeated
