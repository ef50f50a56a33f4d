"""Folds of rows that fill no vectors: the last points are a vector with a mask."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

SOURCE = """
entry sums [n][m] (x: [n][m]f32) = map f32.sum x
entry largest [n][m] (x: [n][m]f64) = map f64.maximum x
entry squares [n][m] (x: [n][m]i64) = map (\\r -> i64.sum (map (\\v -> v * v) r)) x
entry some [n][m] (x: [n][m]i32) = map (any (> 2)) x
entry bytes [n][m] (x: [n][m]u8) = map (\\r -> i32.sum (map i32.u8 r)) x
entry calls [n][m] (x: [n][m]f32) = map (\\r -> f32.sum (map f32.exp r)) x
entry guarded [n][m] (x: [n][m]f64) =
  map (\\r -> f64.sum (tabulate m (\\k -> if k > 2 then r[k - 1] * r[k] else 1))) x
entry loops [n][m] (x: [n][m]f64) =
  map (\\r -> f64.maximum (tabulate m (\\k ->
    f64.sum (map (\\i -> x[i, k] * r[k]) (iota n))))) x
entry checked [n][m] (x: [n][m]f32) (shift: i64) =
  map (\\r -> f32.minimum (tabulate m (\\k ->
    f32.sum (map (\\i -> x[i, k + shift] * r[k]) (iota n))))) x
"""
WIDTHS = [0, 1, 7, 8, 11, 12, 13, 16, 17, 31, 33, 63, 64, 65, 79, 100, 128, 200]


@pytest.fixture(scope="module")
def program() -> minifut.Program:
    return minifut.compile(SOURCE)


@pytest.mark.device
@pytest.mark.parametrize("rows", [1, 3, 50])
def test_rows_of_all_widths(program: minifut.Program, rows: int) -> None:
    random = np.random.default_rng(rows)
    for width in WIDTHS:
        x = random.normal(size=(rows, width))
        near, whole = x.astype(np.float32), random.integers(-3, 4, (rows, width))
        guarded = np.ones_like(x)
        guarded[:, 3:] = x[:, 2:-1] * x[:, 3:] if width > 3 else guarded[:, 3:]
        expected = {
            "sums": (near, near.sum(1, dtype=np.float64)),
            "largest": (x, x.max(1, initial=-np.inf)),
            "squares": (whole, (whole**2).sum(1)),
            "some": (whole.astype(np.int32), (whole > 2).any(1)),
            "bytes": (whole.astype(np.uint8), whole.astype(np.uint8).sum(1, dtype=int)),
            "calls": (near, np.exp(near, dtype=np.float64).sum(1)),
            "guarded": (x, guarded.sum(1)),
            "loops": (x, (x.sum(0) * x).max(1, initial=-np.inf)),
            "checked": (near, (x.sum(0) * x).min(1, initial=np.inf), 0),
        }
        for name, (argument, result, *more) in expected.items():
            got = getattr(program, name)(argument, *more)
            np.testing.assert_allclose(
                got, result, 2e-5, 2e-4, err_msg=f"{name} {width}"
            )


@pytest.mark.device
def test_checks_of_active_lanes_only_fail(program: minifut.Program) -> None:
    for width in (1, 5, 16, 21):
        x = np.ones((3, width), np.float32)
        with pytest.raises(minifut.ProgramError, match=rf"Index \[0, {width}\]"):
            program.checked(x, 1)
