"""Scans of the CPU schedule that are cut into chunks, against NumPy.

Chunks have 32768 elements, vectors 16 or 8; several groups take chunks and make totals
that others have not made yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import loaded_module, stages
from minifut.errors import ProgramError, Source

pytestmark = pytest.mark.device

LENGTHS = (65535, 65536, 65537, 98305, 300_007, 1 << 20)


def compiled(text: str) -> Any:
    checked = stages.check(Source("<test>", text))
    kernels = stages.to_kernels(stages.to_core(checked))
    return loaded_module.load(stages.to_host_module(kernels, "cpu"))


SCANS = {
    "i8": ("(+)", "0", lambda x: x.cumsum(dtype=x.dtype)),
    "u16": ("u16.min", "u16.highest", np.minimum.accumulate),
    "i32": ("i32.max", "i32.lowest", np.maximum.accumulate),
    "i64": ("(+)", "0", np.cumsum),
    "f16": ("f16.max", "(-f16.inf)", np.maximum.accumulate),
    "f32": ("(+)", "0", lambda x: x.cumsum(dtype=x.dtype)),
    "f64": ("(+)", "0", np.cumsum),
    "bool": ("(||)", "false", np.logical_or.accumulate),
}


@pytest.mark.parametrize("type_", SCANS)
def test_types(type_: str) -> None:
    operator, neutral, meaning = SCANS[type_]
    main = compiled(f"entry main (xs: []{type_}) = scan {operator} {neutral} xs").main
    for length in LENGTHS:
        rng = np.random.default_rng(length)
        if type_ == "bool":
            xs = rng.random(length) < 1e-5
        else:
            kinds = {"i": "int", "u": "uint", "f": "float"}
            dtype = np.dtype(kinds[type_[0]] + type_[1:])
            xs = rng.integers(0 if type_[0] == "u" else -9, 9, length).astype(dtype)
        expected = meaning(xs)
        result = main(xs)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


LINEAR = """
def after (a: f32, b: f32) (c: f32, d: f32) : (f32, f32) = (a * c, b * c + d)
entry main [n] (xs: [n]f32) (ys: [n]f32) = unzip (scan after (1, 0) (zip xs ys))
"""


def test_runs_agree_to_the_last_bit() -> None:
    """Whichever group makes a total, it is the same; a tuple, in order."""
    main = compiled(LINEAR).main
    rng = np.random.default_rng(7)
    for length in (65_600, 1_000_003):
        xs = rng.uniform(-1, 1, length).astype(np.float32)
        ys = rng.uniform(-1, 1, length).astype(np.float32)
        expected, value = np.empty(length), 0.0
        for i, (x, y) in enumerate(zip(xs.tolist(), ys.tolist(), strict=True)):
            value = value * x + y
            expected[i] = value
        first = main(xs, ys)
        np.testing.assert_allclose(first[1], expected, rtol=1e-3, atol=1e-4)
        for _ in range(20):
            again = main(xs, ys)
            for one, other in zip(first, again, strict=True):
                assert one.tobytes() == other.tobytes()


def test_few_long_segments() -> None:
    """Segments do not run into each other, and mapped results come along."""
    text = """
entry main [n][m] (xss: [n][m]i32) =
  map (\\xs -> let ys = map (^ 5) xs in (scan (+) 0 ys, map (* 2) ys)) xss |> unzip
"""
    main = compiled(text).main
    for shape in ((1, 65536), (2, 65537), (3, 131_072), (7, 66_001), (40, 70_000)):
        rng = np.random.default_rng(sum(shape))
        xss = rng.integers(-99, 99, shape).astype(np.int32)
        ys = xss ^ 5
        scanned, doubled = main(xss)
        np.testing.assert_array_equal(scanned, ys.cumsum(1, dtype=np.int32))
        np.testing.assert_array_equal(doubled, ys * 2)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 4099, 5_000_011])
def test_results_around_the_caches(length: int) -> None:
    """Large results, of rows that begin at odd places too."""
    text = "entry main [n][m] (xss: [n][m]f32) = map (scan f32.max (-f32.inf)) xss"
    main = compiled(text).main
    xs = np.random.default_rng(length).random(length, np.float32)
    for rows in (1, 7):
        xss = xs[: length // rows * rows].reshape(rows, -1)
        np.testing.assert_array_equal(main(xss), np.maximum.accumulate(xss, 1))


@pytest.mark.parametrize("lanes", [8, 1])
def test_other_widths(lanes: int) -> None:
    text = """
def longer (a: (i64, bool)) (b: (i64, bool)): (i64, bool) =
  if b.1 then b else (a.0 + b.0, a.1)
entry main [n] (xs: [n]i64) (starts: [n]bool) =
  (scan longer (0, false) (zip xs starts) |> unzip).0
"""
    main = minifut.compile(text, schedule="cpu", params={"lanes": lanes}).main
    rng = np.random.default_rng(lanes)
    for length in (0, 5, 100, 100_003):
        xs = rng.integers(-99, 99, length)
        starts = rng.random(length) < 0.01
        sums = np.concatenate(([0], xs.cumsum()))
        begins = np.maximum.accumulate(np.where(starts, np.arange(length), 0))
        expected = sums[1:] - sums[begins]
        np.testing.assert_array_equal(main(xs, starts), expected)


def test_a_failing_body_is_located_and_leaves_nothing_waiting() -> None:
    main = compiled("entry main (xs: []i64) = scan (+) 0 (map (5040 /) xs)").main
    xs = np.random.default_rng(3).integers(1, 99, 200_000)
    np.testing.assert_array_equal(main(xs), (5040 // xs).cumsum())
    with pytest.raises(minifut.ProgramError, match="division by zero"):
        main(np.zeros(100_000, np.int64))
    np.testing.assert_array_equal(main(xs), (5040 // xs).cumsum())


GATHERED = """
def segmented [n] (flags: [n]bool) (xs: [n]f32): [n]f32 =
  (unzip (scan (\\(f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0)
               (zip flags xs))).1
entry sums [n][m] (starts: [n]bool) (at: [n]i32) (xs: [m]f32): [n]f32 =
  segmented starts (map (\\k -> xs[k]) at)
entry rows [r][n][m] (at: [r][n]i32) (xs: [m]i64) =
  map (\\ks -> map (\\k -> xs[k] * 3) ks |> scan (+) 0) at
entry both [n][m] (at: [n]i32) (xs: [m]i64) =
  let ys = map (\\k -> xs[k]) at in (ys, scan (+) 0 ys)
entry exponentials [n] (xs: [n]f32) = scan f32.max 0 (map f32.exp xs)
entry affine [n][m] (at: [n]i32) (xs: [m]i32): [n]i32 =
  (unzip (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
               (map (\\k -> (xs[k], xs[k] + 1)) at))).1
"""


@pytest.mark.parametrize("length", LENGTHS)
def test_chunks_scanned_before_their_carry_in(length: int) -> None:
    """Elements that are gathered or computed by functions are so once; sums of few
    whole numbers are exact, so that all orders agree."""
    main = compiled(GATHERED)
    rng = np.random.default_rng(length)
    at = rng.integers(0, 1000, length).astype(np.int32)
    whole = rng.integers(-9, 9, 1000)
    for often in (1e-5, 0.01, 0.6):
        starts = rng.random(length) < often
        starts[0] = True
        values = whole[at].astype(np.float32)
        sums = values.cumsum(dtype=np.float64)
        (first,) = np.nonzero(starts)
        before = np.repeat(sums[first] - values[first], np.diff([*first, length]))
        given = starts, at, whole.astype(np.float32)
        np.testing.assert_array_equal(main.sums(*given), sums - before)
    rows = np.stack((at, at[::-1]))
    expected = (3 * whole[rows]).cumsum(axis=1)
    np.testing.assert_array_equal(main.rows(rows, whole), expected)
    ys, prefixes = main.both(at, whole)
    np.testing.assert_array_equal(ys, whole[at])
    np.testing.assert_array_equal(prefixes, whole[at].cumsum())
    xs = rng.random(length).astype(np.float32)
    largest = np.maximum.accumulate(np.exp(xs))
    np.testing.assert_allclose(main.exponentials(xs), largest, rtol=1e-6)


def test_runs_of_gathers_agree_to_the_last_bit() -> None:
    main = compiled(GATHERED)
    rng = np.random.default_rng(3)
    at = rng.integers(0, 1000, 1_000_003).astype(np.int32)
    starts = rng.random(len(at)) < 1e-5
    xs = rng.random(1000).astype(np.float32)
    first = np.asarray(main.sums(starts, at, xs))
    numbers = rng.integers(-(1 << 31), 1 << 31, 1000).astype(np.int32)
    expected = np.empty(len(at), np.int32)
    value = 0
    for i, number in enumerate(numbers[at].tolist()):
        value = (value * number + number + 1) & 0xFFFFFFFF
        expected[i] = value - (value >> 31 << 32)
    for _ in range(20):
        again = np.asarray(main.sums(starts, at, xs))
        assert again.tobytes() == first.tobytes()
        np.testing.assert_array_equal(main.affine(at, numbers), expected)


def test_whoever_computes_an_aggregate_does_it_in_the_same_order() -> None:
    core = stages.to_core(stages.check(Source("gathered.fut", GATHERED)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "program")
    first, *_, last = module.split("__kernel void sums_")[1:4]
    assert first.startswith("scan_segments") and last.startswith("scan(")
    steps = first.count("MOVE_UP_8_16X32(")
    assert steps and last.split("__kernel")[0].count("MOVE_UP_8_16X32(") == 2 * steps


def test_an_index_outside_is_found_in_any_chunk() -> None:
    main = compiled(GATHERED)
    for place in (0, 40_000, 99_999):
        at = np.zeros(100_000, np.int32)
        at[place] = 77
        with pytest.raises(ProgramError, match=r"Index \[77\] out of bounds"):
            np.asarray(main.both(at, np.zeros(5, np.int64))[1])
