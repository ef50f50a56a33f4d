"""Launches of kernels that are launched often are executed by one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl import runtime as rt
from minifut.opencl.runtime import batch, first_launches, kernels
from minifut.opencl.runtime.batch import Batch, call_of, part_of
from minifut.opencl.runtime.sections import Section
from tests.opencl.runtime.test_first_launches_interrupted import interrupted_after


def test_a_part_is_a_function_of_its_group() -> None:
    part = part_of(
        Section("main_map", "", "__kernel void main_map(..) {..}\n", "", {}), 3
    )
    assert part.text == (
        "#define main_map(...) part_3(long minifut_group, __VA_ARGS__)\n"
        "__kernel void main_map(..) {..}\n#undef main_map\n"
    )


def test_arguments_come_from_memory() -> None:
    assert call_of(2, ("buffer", "bool", "f32")) == (
        "case 2: part_2(group, failure, (__global void *)launch[4], "
        "*(__global const uchar *)(launch + 5), "
        "*(__global const float *)(launch + 6)); break;"
    )


TEXT = """
def step [n] (i: i64) (xs: [n]f32): [n]f32 =
  map2 (\\x j -> 0.5 * x + 0.5 * xs[(j + i) % n]) xs (iota n)
entry steps (n: i64) (xs: []f32): []f32 = loop xs for i < n do step i xs
entry sums (n: i64) (xs: []f32): []f32 =
  loop xs for _i < n do
    let s = f32.sum xs in scan f32.max (-f32.inf) (map (/ s) xs)
entry counts (n: i64) (is: []i64): []i32 =
  loop xs = replicate 10 0 for i < n do
    reduce_by_index xs (+) 0 (map (\\j -> (i + j) % 10) is) (map (const 1) is)
entry at (is: []i64) (xs: []f32): []f32 =
  loop ys = map (const 0) is for j < 9 do
    map2 (\\i y -> xs[i + j] + y) is ys
entry kinds [n] (k: i64) (a: i8) (b: i16) (c: i32) (d: i64) (e: u8) (f: u16) (g: u32)
                (h: u64) (x: f16) (y: f32) (z: f64) (t: bool) (xs: [n]f64): [n]f64 =
  loop xs for _i < k do
    map2 (\\v w -> (v + w) / 2 + f64.i8 a + f64.i16 b + f64.i32 c + f64.i64 d + f64.u8 e + f64.u16 f
               + f64.u32 g + f64.u64 h + f64.f16 x + f64.f32 y + z + f64.bool t)
         xs (reverse xs)
"""
Started = list[Sequence[Any]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The launches of each batch, which kernels are in from their second launch on."""
    if not rt.open_session(None).has_batches:
        pytest.skip("launches do not wait for other threads")
    found: Started = []
    start = Batch.start

    def noted(self: Batch, launches: Sequence[Any], repeated: Any = None) -> Any:
        found.append(launches)
        return start(self, launches, repeated)

    monkeypatch.setattr(Batch, "start", noted)
    monkeypatch.setattr(batch, "OFTEN", 2)
    monkeypatch.setattr(batch, "IN_A_ROW", 1)
    monkeypatch.setattr(batch, "SOMETIMES", 1)
    monkeypatch.setattr(kernels, "SMALL_WORK", 0)
    monkeypatch.setattr(kernels, "CALLER_WORK", 0)
    monkeypatch.setattr(kernels, "ALONE_WORK", -1)
    return found


def compiled(text: str = TEXT) -> Any:
    program = minifut.compile(text, schedule="cpu")
    program.tuning.update({name: 0 for name in program.tuning if "host" in name})
    return program


def xs_of(n: int) -> np.ndarray:
    return (np.arange(n) % 97 + 1).astype(np.float32)


def wanted_steps(n: int, xs: np.ndarray) -> np.ndarray:
    for i in range(n):
        xs = np.float32(0.5) * xs + np.float32(0.5) * np.roll(xs, -i)
    return xs


@pytest.mark.device
def test_programs_have_batches_of_their_own(started: Started) -> None:
    programs = [compiled(TEXT) for _ in range(2)]
    for program in programs:
        for _ in range(3):
            program.steps(9, xs_of(100))
    members = [launches[0][1] for launches in (started[0], started[-1])]
    assert members[0].batch is not members[1].batch
    assert [len(member.batch.parts) for member in members] == [1, 1]


@pytest.mark.device
@pytest.mark.parametrize("size", [1, 100, 1 << 17])
def test_steps_of_a_loop_are_one_launch(started: Started, size: int) -> None:
    program, xs = compiled(), xs_of(size)
    for _ in range(3):
        np.testing.assert_array_equal(program.steps(9, xs), wanted_steps(9, xs))
    assert len(started[-1]) == 9
    assert program.steps(0, xs) is not xs


@pytest.mark.device
@pytest.mark.parametrize("entry", ["sums", "counts", "steps"])
def test_bits_are_those_of_launches_alone(
    started: Started, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(1)
    for size in (1000, 300_000):
        xs = random.random(size, dtype=np.float32)
        if entry == "counts":
            xs = random.integers(0, 100, size)
        with monkeypatch.context() as alone:
            alone.setattr(batch, "OFTEN", 0)
            expected = compiled().entry(entry)(7, xs)
        assert not started
        program = compiled()
        for _ in range(4):
            np.testing.assert_array_equal(program.entry(entry)(7, xs), expected)
        assert started
        started.clear()


@pytest.mark.device
@pytest.mark.parametrize("sums_are_parts", [True, False])
def test_kernels_between_those_of_no_batch_are_not_in_a_row(
    started: Started, monkeypatch: pytest.MonkeyPatch, sums_are_parts: bool
) -> None:
    monkeypatch.setattr(batch, "IN_A_ROW", 4)
    member_of = Batch.member_of

    def member(self: Batch, launcher: Any) -> Any:
        no_part = "reduce" in launcher.kernel.name and not sums_are_parts
        return None if no_part else member_of(self, launcher)

    monkeypatch.setattr(Batch, "member_of", member)
    text = TEXT.replace(
        "entry at",
        "entry means (n: i64) (xs: []f32) = loop xs for i < n do\n"
        "  let ys = step i (step 1 xs) in map (/ f32.sum ys) ys\nentry at",
    )
    program, xs = compiled(text), xs_of(1 << 17)
    for _ in range(3):
        program.means(20, xs)
    assert bool(started) == sums_are_parts


@pytest.mark.device
def test_arguments_of_all_types(started: Started) -> None:
    program, xs = compiled(), np.zeros(100)
    given = (-3, -300, -70_000, -(1 << 40), 250, 65_000, 1 << 31, 1 << 40)
    for _ in range(4):
        found = program.kinds(5, *given, 0.5, 0.25, 1e-3, True, xs)
    value = np.float64(0)
    for _ in range(5):
        value += sum(map(float, given), 0.0) + 0.5 + 0.25 + 1e-3 + 1
    np.testing.assert_allclose(found, value)
    assert started


@pytest.mark.device
def test_a_failure_in_a_batch_is_located(started: Started) -> None:
    program, xs, good = compiled(), xs_of(300), np.arange(280)
    for _ in range(3):
        program.at(good, xs)
    assert started
    bad = good.copy()
    bad[200] = 295
    with pytest.raises(minifut.ProgramError, match=r"Index \[300\] out of bounds"):
        program.at(bad, xs)
    found = program.at(good, xs)
    np.testing.assert_array_equal(found, sum(xs[j : j + 280] for j in range(9)))


@pytest.mark.device
@pytest.mark.parametrize("workers", [1, 3, 7])
def test_any_number_of_work_items_does_a_batch(started: Started, workers: int) -> None:
    program, xs = compiled(), xs_of(1 << 17)
    memory = rt.open_session(None).batch_memory
    before, line = memory.workers, memory._line
    try:
        memory.workers, memory._line = workers, batch.LINE * (workers + 1)
        for _ in range(4):
            np.testing.assert_array_equal(program.steps(20, xs), wanted_steps(20, xs))
            np.testing.assert_array_equal(program.sums(5, xs), program.sums(5, xs))
    finally:
        memory.workers, memory._line = before, line
    assert started


@pytest.mark.device
def test_batches_are_bounded(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_launches, "MOST_LAUNCHES", 4)
    program, xs = compiled(), xs_of(1000)
    program.steps(9, xs)
    started.clear()
    np.testing.assert_array_equal(program.steps(11, xs), wanted_steps(11, xs))
    assert [len(launches) for launches in started] == [4, 4, 3]
    monkeypatch.setattr(first_launches, "MOST_LAUNCHES", 400)
    np.testing.assert_array_equal(program.steps(399, xs), wanted_steps(399, xs))
    assert len(started[-1]) == 399


@pytest.mark.device
def test_launches_that_are_waited_for_are_no_parts(started: Started) -> None:
    program, xs = compiled(), xs_of(1 << 17)
    for _ in range(5):
        program.steps(1, xs)
    assert not started


@pytest.mark.device
def test_large_launches_are_alone(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, xs = compiled(), xs_of(1 << 12)
    monkeypatch.setattr(kernels, "MOST_WORK", 1 << 12)
    for _ in range(3):
        np.testing.assert_array_equal(program.steps(9, xs), wanted_steps(9, xs))
    assert not started


@pytest.mark.device
def test_an_interrupt_at_any_line_leaves_no_batch(started: Started) -> None:
    program, xs = compiled(), xs_of(1 << 12)
    expected = wanted_steps(5, xs)
    for _ in range(3):
        program.steps(5, xs)
    lines, left = 0, [0]
    while left[0] <= 0:
        lines += 1
        try:
            with interrupted_after(lines) as left:
                program.steps(5, xs)
        except KeyboardInterrupt:
            pass
        np.testing.assert_array_equal(program.steps(5, xs), expected)
    assert lines > 20


@pytest.mark.device
def test_threads_take_turns(started: Started) -> None:
    programs, xs = [compiled(), compiled(TEXT + "\n")], xs_of(5000)
    expected, wrong = wanted_steps(12, xs), []

    def run(program: Any) -> None:
        for _ in range(20):
            if not np.array_equal(program.steps(12, xs), expected):
                wrong.append(program)

    threads = [threading.Thread(target=run, args=(programs[i % 2],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert started
    assert not wrong
