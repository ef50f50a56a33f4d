"""Group sizes and tiles of the GPU schedule as parameters: any legal one gives the same
results, and what the device does not allow is refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import UsageError
from minifut.ir.node import replace
from minifut.opencl.runtime import open_session
from minifut.opencl.runtime.describe import Parameter
from minifut.opencl.runtime.parameters import changed_parameters, on_device

FOLDS = """
def after (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
entry main [n][m] (xs: [n]i32) (rows: [m][n]i32) =
  let (ps, qs) = unzip (scan after (1, 0) (zip xs xs))
  in (map (+ 1) xs, i32.sum xs, (reduce after (1, 0) (zip xs xs)).1, ps, qs,
      map (scan (+) 0) rows, map i32.sum rows,
      hist (+) 0 7 (map i64.i32 xs) xs, copy (transpose rows))
"""
TILES = """
entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) (transpose b)) a
"""
GROUPS = ("gpu.map", "gpu.fold", "gpu.hist")


def numbers(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(n + m)
    xs = random.integers(-3, 9, n).astype(np.int32)
    return xs, random.integers(-9, 9, (m, n)).astype(np.int32)


@pytest.fixture(scope="module")
def folds() -> Any:
    return minifut.compile(FOLDS, schedule="gpu")


@pytest.mark.device
@pytest.mark.parametrize("size", [1, 96])
def test_any_group_size_gives_the_same_results(folds: Any, size: int) -> None:
    expected = minifut.compile(FOLDS, backend="interpreter")
    settings = {f"{name}.group_size": size for name in GROUPS}
    folds.tuning.update(
        {
            **settings,
            "gpu.fold.staged_elements": size % 5 + 1,
            "gpu.scan.look_back": size % 2,
            "gpu.hist.copies": 3,
            "gpu.transpose.side": size % 10 + 1,
            "gpu.transpose.rows": size % 3 + 1,
        }
    )
    for n, m in ((700, 3), (5, 40), (1, 1), (0, 2)):
        given = numbers(n, m)
        results = folds.main(*given)
        for result, wanted in zip(results, expected.main(*given), strict=True):
            np.testing.assert_array_equal(result, wanted)
    folds.tuning.reset()


@pytest.mark.device
def test_groups_are_as_large_as_the_device_allows_at_most(folds: Any) -> None:
    name = "gpu.fold.group_size"
    _, most = folds.tuning.tunables[name].bounds
    with pytest.raises(
        UsageError, match=rf"'{name}' must be from 1 to {most}, the most"
    ):
        folds.tuning[name] = most + 1
    assert folds.tuning[name] == 256


class Small:
    """A device with small groups."""

    kind = "gpu"
    group_size = 64
    family = "sm_90"


def test_defaults_fit_the_device() -> None:
    parameter = Parameter("g", "group_size", {"cpu": 256, "gpu": 256}, (1, 1 << 16))
    fitted = on_device(parameter, Small())  # type: ignore[arg-type]
    assert fitted.bounds == (1, 64)
    assert fitted.defaults == {"cpu": 64, "gpu": 64}
    assert on_device(fitted, Small()).defaults == fitted.defaults  # type: ignore[arg-type]


def test_families_of_devices_have_their_own_defaults() -> None:
    defaults = {"cpu": 8, "gpu": 16, "sm_90": 32}
    parameter = Parameter("t", "tile_size", defaults, (1, 64))
    fitted = on_device(parameter, Small())  # type: ignore[arg-type]
    assert fitted.defaults["gpu"] == 32 and fitted.defaults["cpu"] == 8


def test_a_default_is_not_requested() -> None:
    parameter = Parameter("g", "tile_size", {"cpu": 8, "gpu": 16}, (1, 64))
    assert changed_parameters((parameter,), "gpu", {"g": 16}) == frozenset()
    assert changed_parameters((parameter,), "cpu", {"g": 16}) == frozenset({"g"})


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_tiles_that_are_requested_are_not_left_out_in_silence(schedule: str) -> None:
    program = minifut.compile(TILES, schedule=schedule)
    name = "main.map_map_redomap.block_depth"
    ones = np.ones((40, 40), np.float32)
    program.tuning[name] = 4096
    with pytest.raises(UsageError, match=rf"bytes of local memory \(.*{name}=4096"):
        program.main(ones, ones)
    program.tuning.reset()
    np.testing.assert_array_equal(program.main(ones, ones), ones @ ones)


@pytest.mark.device
def test_wide_tuples_take_smaller_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty f64 for each work-item of the largest group would not fit."""
    session = open_session(None)
    device = replace(session.device, local_memory=1 << 18)
    monkeypatch.setattr(session, "device", device)
    sums = ", ".join(f"f64.sum (map (* {i}) xs)" for i in range(1, 61))
    program = minifut.compile(f"entry main (xs: []f64) = [{sums}]", schedule="gpu")
    name = "gpu.fold.group_size"
    program.tuning[name] = program.tuning.tunables[name].bounds[1]
    xs = np.arange(100, dtype=np.float64)
    wanted = xs.sum() * np.arange(1, 61)
    np.testing.assert_array_equal(program.main(xs), wanted)
