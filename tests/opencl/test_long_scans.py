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
from minifut.errors import Source

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
