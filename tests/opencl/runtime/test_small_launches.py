"""Small launches run in the thread of the host, large ones on the device's threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl import runtime as rt
from minifut.opencl.runtime.kernels import ALONE_WORK, CALLER_WORK, SMALL_WORK
from minifut.opencl.runtime.queue import BRIEF_WORK
from tests.opencl.handwritten import PROGRAM

pytestmark = pytest.mark.device

TEXT = """
entry twice (xs: []f32): []f32 = map (2 *) xs
entry steps (n: i64) (xs: *[]f32): []f32 =
  loop xs for i < n do
    map3 (\\x y j -> 2 * x + 0 * y + f32.i64 (j % 3)) xs (reverse xs) (indices xs)
entry mixed (xs: []f32) (ys: []f32): f32 =
  f32.sum (map (+ 1) xs) + f32.maximum (scan (+) 0 ys)
entry shift [n] (xs: *[n]f32): [n]f32 =
  let x = xs[n - 1]
  in loop xs for i < n - 1 do xs with [i] = xs[i + 1] + x
"""
SMALL, LARGE = 100, CALLER_WORK


@pytest.fixture(scope="module")
def program() -> Any:
    return minifut.compile(TEXT)


def numbers(n: int) -> np.ndarray:
    return (np.arange(n) % 7).astype(np.float32)


@pytest.fixture
def session() -> rt.Session:
    found = rt.open_session(None)
    if found.synchronous is None:
        pytest.skip("the device has no part without threads")
    return found


def test_small_launches_leave_nothing_to_wait_for(
    session: rt.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = minifut.compile(TEXT)  # of which no kernel is built
    events = []
    monkeypatch.setattr(
        rt.Session, "failed", lambda self: bool(events.append(self.last_event))
    )
    program.twice(numbers(SMALL))
    program.twice(numbers(LARGE))
    monkeypatch.undo()
    session.wait()
    assert [event is None for event in events] == [True, False]


@pytest.mark.parametrize("n", [0, 1, SMALL, LARGE])
def test_results_do_not_depend_on_where_launches_run(program: Any, n: int) -> None:
    xs = numbers(n)
    np.testing.assert_array_equal(program.twice(xs), 2 * xs)
    expected = xs
    for _ in range(5):
        expected = 2 * expected + (np.arange(n) % 3).astype(np.float32)
    np.testing.assert_array_equal(program.steps(5, xs), expected)


@pytest.mark.parametrize("sizes", [(SMALL, LARGE), (LARGE, SMALL), (SMALL, SMALL)])
def test_launches_stay_in_order(program: Any, sizes: tuple[int, int]) -> None:
    xs, ys = map(numbers, sizes)
    expected = (xs + 1).sum() + ys.sum()
    assert program.mixed(xs, ys) == pytest.approx(expected, rel=1e-4)


def test_elements_are_read_and_written_in_order(program: Any) -> None:
    xs = numbers(50)
    expected = np.append(xs[1:] + xs[-1], xs[-1])
    np.testing.assert_array_equal(program.shift(xs), expected)


def test_arguments_are_read_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    scaled = minifut.compile(
        """entry main [n] (factors: []f32) (xs: [n]f32) =
          loop xs for k < 3 do map (* factors[k]) xs"""
    )
    scaled.tuning.update(dict.fromkeys(scaled.tuning, 0))
    factors, xs = np.array([2, 3, 4], np.float32), numbers(LARGE)
    waits = []
    failed = rt.Session.failed
    monkeypatch.setattr(
        rt.Session, "failed", lambda self: bool(waits.append(0)) or failed(self)
    )
    np.testing.assert_array_equal(scaled.main(factors, xs), 24 * xs)
    assert len(waits) == 1


def test_what_a_user_enqueued_comes_first(program: Any, session: rt.Session) -> None:
    given = program.to_device(numbers(SMALL))
    for _ in range(20):
        given = given + 1  # pyopencl enqueues it
    result = program.twice(given, device=True)
    np.testing.assert_array_equal(np.asarray(result), 2 * (numbers(SMALL) + 20))


def test_failures_of_small_launches_are_raised(program: Any) -> None:
    checked = minifut.compile(
        "entry main (xs: []i64) (i: []i64) = map (\\i -> xs[i]) i"
    )
    with pytest.raises(minifut.errors.ProgramError, match=r"Index \[9\]"):
        checked.main(np.arange(3), np.array([0, 9]))
    assert checked.main(np.arange(3), np.array([2])).tolist() == [2]


@pytest.mark.parametrize("known", [True, False])
def test_only_known_work_is_waited_for_without_signals(
    session: rt.Session, known: bool
) -> None:
    instance = PROGRAM.load()
    xs = numbers(LARGE)
    instance.axpy(xs, 1.0)

    def axpy(run: Any, n: int, xs: Any, a: float) -> tuple[Any, ...]:
        ys = run.allocate(4 * n)
        kernel = run.kernels[0]
        launcher = kernel.of(2 * CALLER_WORK) if known else kernel
        launcher(n, xs.buffer, ys.buffer, n, a)
        waits.append(session.pending <= BRIEF_WORK)
        return ((ys, (n,)),)

    waits: list[bool] = []
    call = instance.timed("axpy", (xs, 2.0)).of(axpy)
    call()
    call()
    assert waits == [known, known]
    assert session.pending == 0
    np.testing.assert_array_equal(call.results()[0], 2 * xs + 1)


def test_a_call_with_one_launch_of_medium_size_wakes_no_thread(
    session: rt.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = minifut.compile(TEXT)
    loops = [name for name in program.tuning if name.endswith(".host")]
    program.tuning.update(dict.fromkeys(loops, 0))
    medium = numbers(SMALL_WORK + 1)
    woken: list[Any] = []
    failed = rt.Session.failed
    monkeypatch.setattr(
        rt.Session,
        "failed",
        lambda self: bool(woken.append(self.last_event)) or failed(self),
    )
    for _ in range(4):  # each call begins anew
        program.twice(medium)
    assert not any(woken)
    program.steps(100, medium)  # others are woken once for many
    assert any(woken)


def test_a_launch_of_one_group_wakes_no_thread(
    session: rt.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = minifut.compile(TEXT)
    loops = [name for name in program.tuning if name.endswith(".host")]
    program.tuning.update(dict.fromkeys(loops, 1 << 62))  # one thread does the loop
    woken: list[bool] = []
    failed = rt.Session.failed
    monkeypatch.setattr(
        rt.Session,
        "failed",
        lambda self: bool(woken.append(self.last_event is not None)) or failed(self),
    )
    few, many = numbers(SMALL_WORK), numbers(ALONE_WORK // 16)
    program.steps(2, few)
    assert woken == [False]
    program.steps(2, many)  # it is known to take long
    assert woken == [False, True]
