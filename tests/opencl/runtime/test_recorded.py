"""Repeated calls on few elements give what the first one gave, by fewer steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime import lent, recorded
from tests.opencl.runtime.test_direct import CALLS, TEXT, outcome

MORE = """
entry bins [n] (k: i64) (xs: [n]i64): [k]i64 = hist (+) 0 k xs (map (const 1) xs)
entry large [n] (xs: [n]i32): []i32 = filter (> 3) xs
entry grow [n] (xs: [n]f32): f32 =
  f32.sum (loop ys = copy xs while ys[0] < 100 do map (* 2) ys)
entry prefixes [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs
entry scaled [n] (xs: [n]i32) (s: f32): [n]f32 = map (\\x -> f32.i32 x * s) xs
entry set [n] (xs: [n]i32): [n]i32 = scatter (replicate n 0) (reverse (iota n)) xs
entry sums [n] (xs: [n]f64): (f64, f64, i64) = (f64.sum xs, f64.maximum xs, n)
entry pick [n] [m] (xs: [n]f32) (is: [m]i64): [m]f32 = map (\\i -> xs[i]) is
entry rows [n] [m] (a: [n][m]f32): [n]f32 = map f32.sum a
entry mean [n] (xs: [n]f32) (ys: [n]f32): (f32, f32, [n]f32) =
  let m = f32.sum xs / f32.sum ys
  in (m, f32.maximum (map (* m) ys) / m, map (* m) xs)
entry ratio [n] (xs: [n]i32) (ys: [n]i32): (i32, bool) =
  let (a, b) = (i32.sum xs, i32.sum ys)
  in (a / b, a > b)
entry steps [n] (xs: [n]f32): [n]f32 =
  loop xs for i < 40 do map2 (\\x y -> x * 0.5 - y) xs (rotate 1 xs)
entry least [n] (xs: [n]f64): f64 =
  reduce (\\a b -> if a < b then a else b) xs[0] xs
entry first [n] (xs: [n]i64): i64 = if xs[0] > 0 then n else 0
"""
XS, IS = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.int32)
MORE_CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("bins", (5, np.array([1, 2, 2, 4, 9]))),
    ("bins", (3, np.array([1, 2, 2, 4, 9]))),
    ("large", (IS,)),
    ("grow", (XS + 1,)),
    ("prefixes", (IS,)),
    ("scaled", (IS, 0.0)),
    ("scaled", (IS, -0.0)),
    ("scaled", (IS, np.float32(-0.0))),
    ("scaled", (IS, float("nan"))),
    ("set", (IS,)),
    ("sums", (np.arange(5.0),)),
    ("pick", (XS, np.array([3, 1]))),
    ("pick", (XS, np.array([3, 6]))),
    ("mean", (XS, XS + 1)),
    ("mean", (XS, 0 * XS)),
    ("ratio", (IS, IS - 1)),
    ("ratio", (IS, 0 * IS)),
    ("least", (np.array([3.0, 1.0, 2.0]),)),
    ("rows", (XS.reshape(2, 3),)),
    ("rows", (XS.reshape(3, 2),)),
]
TIMES = recorded.IN_A_ROW + 4


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The entry points of replays, as they are called."""
    found: list[str] = []
    made = recorded.recorded

    def noted(*given: Any) -> recorded.Replay:
        replay = made(*given)

        def again(*arrays: Any) -> Any:
            found.append(given[2].name)
            return replay(*arrays)

        return again

    lender = lent._lender

    def noted_lender(*given: Any) -> recorded.Replay:
        replay = lender(*given)

        def again(*arrays: Any) -> Any:
            found.append("lent")
            return replay(*arrays)

        return again

    monkeypatch.setattr(recorded, "recorded", noted)
    monkeypatch.setattr(lent, "_lender", noted_lender)
    yield found


@pytest.mark.device
def test_every_repetition_gives_what_the_first_call_gave(names: list[str]) -> None:
    program = minifut.compile(TEXT + MORE)
    for name, arguments in (*CALLS, *MORE_CALLS):
        wanted = outcome(program[name], arguments)
        for _ in range(TIMES):
            assert outcome(program[name], arguments) == wanted, (name, arguments)
    assert {"twice", "product", "four", "same", "numbers", "at", "none"} <= set(names)
    assert {"bins", "prefixes", "set", "sums", "pick", "rows", "mean"} <= set(names)
    # sizes and branches that elements determine
    assert not {"large", "grow", "first", "record", "consume"} & set(names)


@pytest.mark.device
def test_elements_change_between_repetitions(names: list[str]) -> None:
    program = minifut.compile(TEXT + MORE)
    kept = []
    for number in range(TIMES):
        xs = XS + number
        kept.append((program.twice(xs), 2 * xs))
        assert program.first(np.array([number, 2])) == (2 if number else 0)
        assert program.at(xs, 2) == 2 + number
    assert names.count("twice") >= 3
    for result, wanted in kept:
        assert result.flags.writeable
        assert np.array_equal(result, wanted)


@pytest.mark.device
def test_other_sizes_and_scalars_are_other_calls(names: list[str]) -> None:
    program = minifut.compile(TEXT + MORE)
    for number in range(2 * TIMES):
        scale = number // TIMES + 1
        assert program.scaled(IS, scale * 1.0).tolist() == (scale * IS).tolist()
    assert names
    names.clear()
    assert program.scaled(IS[:4], 2.0).tolist() == (2 * IS[:4]).tolist()
    assert program.scaled(IS, 3.0).tolist() == (3 * IS).tolist()
    assert not names
    assert program.scaled(IS, 2.0).tolist() == (2 * IS).tolist()
    assert names == ["scaled"]


@pytest.mark.device
def test_a_failure_is_that_of_the_call_and_the_next_one_works(
    names: list[str],
) -> None:
    program = minifut.compile(TEXT + MORE)
    right, wrong = np.array([3, 1]), np.array([3, 6])
    with pytest.raises(minifut.ProgramError) as wanted:
        program.pick(XS, wrong)
    for _ in range(TIMES):
        assert program.pick(XS, right).tolist() == [3, 1]
    names.clear()
    with pytest.raises(minifut.ProgramError) as found:
        program.pick(XS, wrong)
    assert str(found.value) == str(wanted.value)
    assert program.pick(XS, right).tolist() == [3, 1]
    assert names == ["pick", "pick"]


@pytest.mark.device
def test_other_parameters_and_watching_end_recordings(names: list[str]) -> None:
    program = minifut.compile(TEXT + MORE)
    a = XS.reshape(2, 3)
    for version in program.versions("rows"):
        program.tuning.update(version.settings)
        names.clear()
        for _ in range(TIMES):
            assert program.rows(a).tolist() == a.sum(1).tolist()
        assert names
        names.clear()
        with program.tuning.watch() as seen:
            assert program.rows(a).tolist() == a.sum(1).tolist()
        assert seen.kernels and not names


@pytest.mark.device
def test_many_launches_on_little_memory_are_recorded(names: list[str]) -> None:
    program = minifut.compile(MORE, params={"steps.loop_map.host": 0})
    xs = np.arange(1024, dtype=np.float32)
    wanted = program.steps(xs)
    for _ in range(TIMES):
        assert np.array_equal(program.steps(xs), wanted)
    assert "steps" in names


@pytest.mark.device
def test_memory_of_recordings_is_bounded(names: list[str]) -> None:
    program = minifut.compile(TEXT)
    program.twice(XS[:1])  # opens the device
    session = program.twice.function.__globals__["session"]  # type: ignore[attr-defined]
    before = session.pool.in_use
    for size in range(1, 3 * recorded.MOST):
        for _ in range(TIMES):
            program.twice(XS[:1].repeat(size))
    each = session.pool.allocate(4).capacity
    assert session.pool.in_use - before <= recorded.MOST * 2 * each
    names.clear()
    many = np.ones(recorded.MOST_BYTES // 8 + 1, np.float32)
    for _ in range(TIMES):
        program.twice(many)
    assert not names


@pytest.mark.device
def test_arrays_of_the_device_are_recorded_with_others(names: list[str]) -> None:
    program = minifut.compile(TEXT)
    d = program.to_device(XS)
    for _ in range(TIMES):
        assert program.twice(d, device=True).get().tolist() == (2 * XS).tolist()
    assert names
    names.clear()
    kept = [program.twice(d, device=True)]
    for _ in range(3):
        kept.append(program.twice(kept[-1], device=True))
    assert program.twice(kept[-1]).tolist() == (32 * XS).tolist()
    assert program.twice(XS).tolist() == (2 * XS).tolist()
    assert names.count("twice") == 4  # two of them for results that are in use
    assert [each.get()[1] for each in kept] == [2, 4, 8, 16]
    assert isinstance(kept[0], type(d)) and program.at(kept[0], 1) == 2
    number, flag = program.any(d.get().view(np.uint8)[:3], np.zeros(2, np.uint8))
    assert (number, flag) == (3, 2)


@pytest.mark.device
def test_what_pyopencl_computes_on_results_is_seen(names: list[str]) -> None:
    """A result is an array of pyopencl, too, and is given again."""
    program = minifut.compile(TEXT + MORE)
    for _ in range(TIMES):
        d = program.twice(XS, device=True)
    assert names
    for _ in range(2):
        d += 1
        assert program.twice(d).tolist() == (2 * d.get()).tolist()
        assert program.twice(d, device=True).get().tolist() == (2 * d.get()).tolist()
    assert d.get().tolist() == np.asarray(d).tolist() == (2 * XS + 2).tolist()
    assert (d + d).get().tolist() == (4 * XS + 4).tolist()
    again = program.twice(XS, device=True)
    assert np.asarray(again).tolist() == (2 * XS).tolist()
    assert "base_data" not in vars(again)  # pyopencl's constructor takes long
    assert program.consume(again, device=True).get()[0] == 1
    assert again.get().tolist() == (2 * XS).tolist()


@pytest.mark.device
def test_results_on_the_device_are_lent_and_never_shared() -> None:
    """Whoever holds how many of them: no call writes over one that is in use."""
    program = minifut.compile(TEXT + MORE)
    random = np.random.default_rng(1)
    held: list[tuple[Any, np.ndarray]] = []
    blocks: set[int] = set()
    for number in range(600):
        xs = random.random(6).astype(np.float32)
        given = xs if number % 3 else program.to_device(xs)
        result = program.twice(given, device=True)
        blocks.add(id(result))
        held.append((result, 2 * xs))
        if number % 5 == 0:  # results of results
            held.append((program.twice(result, device=True), 4 * xs))
        if number % 7 == 0:
            view, wanted = held[0]
            view += 1  # the user's own command
            held[0] = view, wanted + 1
        del result
        most = int(random.integers(0, 5))
        while len(held) > most:
            del held[int(random.integers(0, len(held)))]
        for each, wanted in held:
            assert np.array_equal(np.asarray(each), wanted)
    assert len(blocks) < 600


@pytest.mark.device
def test_lent_results_outlive_their_recordings() -> None:
    program = minifut.compile(TEXT + MORE)
    for _ in range(TIMES):
        result = program.twice(XS, device=True)
    timed = program.twice.prepare  # keeps memory of its arguments
    assert timed is not None
    ready = timed((program.twice(XS, device=True),))
    program["twice"].function.__globals__["recordings"].clear()  # type: ignore[attr-defined]
    for number in range(2 * TIMES):
        program.twice(XS + number, device=True)
    ready()
    assert ready.results()[0].tolist() == (4 * XS).tolist()
    assert result.get().tolist() == (2 * XS).tolist()


@pytest.mark.device
def test_results_that_stay_in_use_are_replaced(names: list[str]) -> None:
    program = minifut.compile(TEXT)
    kept = [program.twice(XS, device=True) for _ in range(TIMES + lent.PATIENCE)]
    assert names.count("twice") > lent.PATIENCE // 2
    names.clear()
    for _ in range(4):
        assert program.twice(XS, device=True).get().tolist() == (2 * XS).tolist()
    assert names and set(names) == {"lent"}
    assert all(each.get().tolist() == (2 * XS).tolist() for each in kept)


@pytest.mark.device
def test_a_result_that_is_another_s_memory_is_not_lent(names: list[str]) -> None:
    program = minifut.compile(TEXT)
    for _ in range(TIMES):
        one, other = program.same(np.arange(3), device=True)
        one += 1
        assert (one.get().tolist(), other.get().tolist()) == ([1, 2, 3], [0, 1, 2])
    assert "lent" not in names
