"""Reductions and scans of both schedules against NumPy.

Sizes sit around the lanes (64), chunks (8192) and blocks (1024 columns) of the CPU
schedule, and around the group sizes of the GPU's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import loaded_module, stages
from minifut.errors import Source

pytestmark = pytest.mark.device

SCHEDULES = ("cpu", "gpu")
LENGTHS = (0, 1, 2, 63, 64, 65, 255, 257, 8191, 20000, 70001)
SHAPES = (
    (0, 5), (5, 0), (1, 1), (3, 7), (2, 100), (100, 3), (4, 20000), (20000, 4),
    (130, 65), (1, 30001), (3000, 17),
)  # fmt: skip


def numbers(type_: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Small numbers, so that sums of floats are exact in any order."""
    rng = np.random.default_rng(seed + sum(shape))
    if type_ == "bool":
        return rng.random(shape) < 0.9
    low = 0 if type_.startswith("u") else -50
    name = {"i": "int", "u": "uint", "f": "float"}[type_[0]] + type_[1:]
    return rng.integers(low, 50, shape).astype(name)


@functools.cache
def kernels_of(text: str) -> Any:
    checked = stages.check(Source("<test>", text))
    return stages.to_kernels(stages.to_core(checked))


@functools.cache
def compiled(text: str, schedule: str) -> Any:
    return loaded_module.load(stages.to_host_module(kernels_of(text), schedule))


def agree(text: str, schedule: str, given: tuple[Any, ...], expected: Any) -> None:
    """All results equal the expected ones, type and shape included."""
    results = compiled(text, schedule).main(*given)
    results = results if isinstance(results, tuple) else (results,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    shapes = [np.shape(a) for a in given]
    for result, wanted in zip(results, expected, strict=True):
        assert np.asarray(result).dtype == np.asarray(wanted).dtype, shapes
        np.testing.assert_array_equal(result, wanted, err_msg=str(shapes))


# --- one dimension --------------------------------------------------------------------

Meaning = Callable[[np.ndarray], Any]
OPERATORS: list[tuple[str, str, str, Meaning, Meaning]] = [
    (t, "(+)", "0", lambda x: x.sum(dtype=x.dtype), lambda x: x.cumsum(dtype=x.dtype))
    for t in ("i8", "u64", "i32", "f32", "f64")
] + [
    ("i64", "(*)", "1", lambda x: x.prod(), lambda x: x.cumprod()),
    ("i32", "i32.max", "i32.lowest", lambda x: x.max(initial=-(1 << 31)).astype("i4"),
     np.maximum.accumulate),
    ("f32", "f32.min", "f32.inf", lambda x: x.min(initial=np.inf),
     np.minimum.accumulate),
    ("bool", "(&&)", "true", lambda x: x.all(), np.logical_and.accumulate),
    ("u8", "(^)", "0", np.bitwise_xor.reduce, np.bitwise_xor.accumulate),
]  # fmt: skip


# Kernels with barriers compile slowly on CPU devices, so the GPU schedule has fewer.
CASES = [("cpu", *case) for case in OPERATORS] + [
    ("gpu", *case) for case in OPERATORS[2::3]
]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("schedule", "type_", "operator", "neutral", "total", "running"),
    CASES,
    ids=[" ".join(case[:3]) for case in CASES],
)
def test_operators(
    schedule: str,
    type_: str,
    operator: str,
    neutral: str,
    total: Meaning,
    running: Meaning,
) -> None:
    text = (
        f"entry main (xs: []{type_}) = "
        f"(reduce {operator} {neutral} xs, scan {operator} {neutral} xs)"
    )
    for length in LENGTHS:
        xs = numbers(type_, length)
        agree(text, schedule, (xs,), (total(xs), running(xs)))


AFFINE = """
def after (a: i32, b: i32) (c: i32, d: i32) : (i32, i32) = (a * c, b * c + d)
"""


def compose(xs: np.ndarray, ys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scan of `after`, one by one."""
    a, b = 1, 0
    firsts, seconds = [], []
    for c, d in zip(xs.tolist(), ys.tolist(), strict=True):
        a, b = wrap(a * c), wrap(b * c + d)
        firsts.append(a)
        seconds.append(b)
    return np.array(firsts, np.int32), np.array(seconds, np.int32)


def wrap(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_order_is_kept(schedule: str) -> None:
    """An operator that does not commute, on pairs."""
    scan = AFFINE + (
        "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
        " unzip (scan after (1, 0) (zip xs ys))"
    )
    total = AFFINE + (
        "entry main [n] (xs: [n]i32) (ys: [n]i32) = reduce after (1, 0) (zip xs ys)"
    )
    for length in LENGTHS:
        xs, ys = numbers("i32", length) | 1, numbers("i32", length, seed=3)
        firsts, seconds = compose(xs, ys)
        agree(scan, schedule, (xs, ys), (firsts, seconds))
        last = (np.int32(1), np.int32(0)) if not length else (firsts[-1], seconds[-1])
        agree(total, schedule, (xs, ys), last)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_position_of_the_greatest(schedule: str) -> None:
    """A commutative operator on pairs of different types."""
    text = """
def best (a: f32, i: i64) (b: f32, j: i64) : (f32, i64) =
  if a > b then (a, i) else if b > a then (b, j) else if i < j then (a, i) else (b, j)
entry main [n] (xs: [n]f32) = reduce_comm best (-f32.inf, i64.highest) (zip xs (iota n))
"""
    for length in LENGTHS[1:]:
        xs = numbers("f32", length)
        agree(text, schedule, (xs,), (xs.max(), np.int64(xs.argmax())))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_mapped_results_come_along(schedule: str) -> None:
    """Several operators and mapped results in one operation."""
    text = """
entry main [n] (xs: [n]i32) =
  let ys = map (* 3) xs
  in (i32.sum ys, i32.maximum ys, scan (+) 0 ys, ys)
"""
    for length in LENGTHS:
        xs = numbers("i32", length)
        ys = xs * 3
        greatest = ys.max(initial=-(1 << 31)).astype(np.int32)
        total = ys.sum(dtype=np.int32)
        running = ys.cumsum(dtype=np.int32)
        agree(text, schedule, (xs,), (total, greatest, running, ys))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_heavy_bodies(schedule: str) -> None:
    """Loops and checks in the body: not worth copies, so done once."""
    text = """
entry main [n] (xs: [n]i32) (is: [n]i64) =
  let ys = map2 (\\x i -> loop y = x for k < 5 do y + xs[i] + k) xs is
  in (i32.sum ys, scan (+) 0 ys)
"""
    for length in LENGTHS:
        xs = numbers("i32", length)
        places = np.arange(length)[::-1].copy()
        ys = xs + 5 * xs[places] + 10
        expected = (ys.sum(dtype=np.int32), ys.cumsum(dtype=np.int32))
        agree(text, schedule, (xs, places), expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_failing_body_is_located(schedule: str) -> None:
    text = "entry main [n] (xs: [n]i32) (is: []i64) = i32.sum (map (\\i -> xs[i]) is)"
    xs = numbers("i32", 10)
    places = np.zeros(5000, np.int64)
    agree(text, schedule, (xs, places), xs[places].sum(dtype=np.int32))
    places[4321] = 10
    with pytest.raises(minifut.ProgramError, match=r"Index \[10\] out of bounds"):
        compiled(text, schedule).main(xs, places)
    places[4321] = 9
    agree(text, schedule, (xs, places), xs[places].sum(dtype=np.int32))


# --- segments -------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rows_and_columns(schedule: str) -> None:
    text = """
entry main [n][m] (xss: [n][m]f32) =
  let columns = transpose xss
  in (map f32.sum xss, map f32.sum columns, map (scan (+) 0) xss,
      map (scan (+) 0) columns)
"""
    for shape in SHAPES:
        xss = numbers("f32", *shape)
        expected = (xss.sum(1), xss.sum(0), xss.cumsum(1), xss.cumsum(0).T)
        agree(text, schedule, (xss,), expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_order_is_kept_in_columns(schedule: str) -> None:
    text = AFFINE + (
        "entry main [n][m] (xss: [n][m]i32) = unzip (map (\\row ->"
        " reduce after (1, 0) (map (\\x -> (x, x + 1)) row)) (transpose xss))"
    )
    for shape in SHAPES[:-3]:
        xss = numbers("i32", *shape) | 1
        lasts = []
        for column in xss.T:
            firsts, seconds = compose(column, column + 1)
            last = (firsts[-1], seconds[-1]) if len(firsts) else (1, 0)
            lasts.append(last)
        whole = np.array(lasts, np.int32).reshape(-1, 2)
        agree(text, schedule, (xss,), (whole[:, 0], whole[:, 1]))


NEIGHBOURS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  transpose (map (\\xs -> scan (+) 0 (tabulate n (\\i ->
    if i > 0 then #[unsafe] xs[i - 1] else 7))) (transpose xss))

entry backwards [n][m] (xss: [n][m]i32): [n][m]i32 =
  transpose (map (\\xs -> scan (+) 0 (tabulate n (\\i -> #[unsafe] xs[n - i - 1])))
                 (transpose xss))
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_neighbours_and_backwards(
    schedule: str, shape: tuple[int, int]
) -> None:
    program = compiled(NEIGHBOURS, schedule)
    xss = numbers("i32", *shape)
    shifted = np.roll(xss, 1, axis=0)
    shifted[:1] = 7
    np.testing.assert_array_equal(program.main(xss), np.cumsum(shifted, 0, "i4"))
    expected = np.cumsum(xss[::-1], 0, "i4")
    np.testing.assert_array_equal(program.backwards(xss), expected)


def test_columns_are_seen_past_neighbours_and_backwards() -> None:
    module = stages.to_host_module(kernels_of(NEIGHBOURS), "cpu")
    assert "main_scan_columns(" in module and "backwards_scan_columns(" in module


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_three_dimensions(schedule: str) -> None:
    text = """
entry main [a][b][c] (xs: [a][b][c]i32) =
  (map (map i32.sum) xs, map (\\x -> map i32.sum (transpose x)) xs,
   map (map (scan (+) 0)) xs)
"""
    for shape in (
        (2, 3, 4),
        (10, 20, 30),
        (0, 3, 4),
        (3, 0, 4),
        (3, 4, 0),
        (5, 700, 3),
    ):
        xs = numbers("i32", *shape)
        sums = (xs.sum(2, dtype=np.int32), xs.sum(1, dtype=np.int32))
        agree(text, schedule, (xs,), (*sums, xs.cumsum(2, dtype=np.int32)))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_vectorised_operators(schedule: str) -> None:
    """Operators on rows, elementwise."""
    text = """
entry main [n][m] (xss: [n][m]i32) =
  (reduce (map2 (+)) (replicate m 0) xss, scan (map2 (+)) (replicate m 0) xss)
"""
    for shape in SHAPES:
        xss = numbers("i32", *shape)
        expected = (xss.sum(0, dtype=np.int32), xss.cumsum(0, dtype=np.int32))
        agree(text, schedule, (xss,), expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_operators_on_arrays(schedule: str) -> None:
    """Products of matrices: running values that are arrays."""
    text = """
def times (a: [2][2]i32) (b: [2][2]i32) : [2][2]i32 =
  map (\\row -> map (\\column -> i32.sum (map2 (*) row column)) (transpose b)) a
entry main [n] (xs: [n][2][2]i32) = reduce times [[1, 0], [0, 1]] xs
"""
    for length in (0, 1, 2, 100, 3000):
        xs = numbers("i32", length, 2, 2)
        product = np.eye(2, dtype=np.int32)
        for x in xs:
            product = product @ x
        agree(text, schedule, (xs,), product)
