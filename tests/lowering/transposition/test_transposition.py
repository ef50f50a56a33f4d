"""Transposed copies, of any type and size, in both schedules."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.kernels import Parameter
from minifut.lowering.transposition import cpu
from tests.opencl.device_programs import SCHEDULES

pytestmark = pytest.mark.device

TYPES = {"i8": np.int8, "u16": np.uint16, "f16": np.float16, "i32": np.int32,
         "f32": np.float32, "f64": np.float64, "bool": np.bool_}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("element", TYPES)
def test_any_type_and_size(schedule: str, element: str) -> None:
    program = minifut.compile(
        f"def main [n][m] (a: [n][m]{element}) = transpose a", schedule=schedule
    )
    rng = np.random.default_rng(1)
    for shape in ((0, 5), (1, 1), (16, 16), (17, 33), (300, 40), (260, 513)):
        a = rng.integers(0, 200, shape).astype(TYPES[element])
        np.testing.assert_array_equal(program.main(a), a.T)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_planes_of_larger_arrays(schedule: str) -> None:
    program = minifut.compile(
        """
        entry inner [n][m][k] (a: [n][m][k]i32) = map transpose a
        entry outer [n][m][k] (a: [n][m][k]i32) = transpose a
        entry turned [n][m][k] (a: [n][m][k]i32) = transpose (map transpose a)
        entry part [n][m] (a: [n][m]f32) = copy (transpose a[1:n, 2:m])
        entry into [n][m] (a: *[n][m]f32) (b: [m][n]f32) = a with [:, :] = transpose b
        """,
        schedule=schedule,
    )
    rng = np.random.default_rng(2)
    a = rng.integers(0, 99, (7, 40, 70)).astype(np.int32)
    np.testing.assert_array_equal(program.inner(a), a.transpose(0, 2, 1))
    np.testing.assert_array_equal(program.outer(a), a.transpose(1, 0, 2))
    np.testing.assert_array_equal(program.turned(a), a.transpose(2, 0, 1))
    b = rng.random((100, 90), dtype=np.float32)
    np.testing.assert_array_equal(program.part(b), b[1:, 2:].T)
    np.testing.assert_array_equal(program.into(b.copy(), b.T.copy() + 1), b + 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_large_results_around_the_caches(schedule: str) -> None:
    program = minifut.compile(
        "def main [n][m] (a: [n][m]f32) = transpose a", schedule=schedule
    )
    for shape in ((2064, 2080), (2050, 2064)):
        a = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
        np.testing.assert_array_equal(program.main(a), a.T)


@pytest.mark.parametrize("nbytes", (32, 64))
def test_squares_by_vectors_of_either_width(
    nbytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Parameter(f"device.bytes_{nbytes}", "limit", (("cpu", nbytes),))
    monkeypatch.setattr(cpu, "VECTOR_BYTES", chosen)
    program = minifut.compile(
        f"entry by_{nbytes} [n][m] (a: [n][m]f32) = transpose a", schedule="cpu"
    )
    assert f"BYTES_{nbytes} >= 64" in "".join(program.kernels.values())
    a = np.arange(1001 * 2003, dtype=np.float32).reshape(1001, 2003)
    np.testing.assert_array_equal(program[f"by_{nbytes}"](a), a.T)
