"""Results of register tiles under the GPU schedule: vectors where they are aligned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl.c_macros import PRELUDE

# PoCL takes longer for so large tiles without optimisation.
pytestmark = pytest.mark.optimised(barriers=True)

PRODUCT = "main.map_map_redomap"


def program(type_: str, comment: str = "") -> Any:
    compiled = minifut.compile(
        f"-- {comment}\nentry main [n][m][k] (a: [n][k]{type_}) (b: [k][m]{type_}): [n][m]{type_} ="
        "  map (\\row -> map (\\column -> reduce (+) 0 (map2 (*) row column))"
        " (transpose b)) a",
        schedule="gpu",
    )
    sizes = {"block_rows": 4, "block_columns": 8, "block_depth": 8}
    sizes |= {"tiled": 0, "split": 1 << 62, "register_rows": 4}
    compiled.tuning.update({f"{PRODUCT}.{name}": size for name, size in sizes.items()})
    return compiled


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("type_", ["f32", "f64", "i8", "i64"])
@pytest.mark.parametrize("columns", [3, 4, 8])
def test_full_and_partial_tiles_agree_with_numpy(type_: str, columns: int) -> None:
    compiled = program(type_)
    compiled.tuning[f"{PRODUCT}.register_columns"] = columns
    dtype = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i64": np.int64}[
        type_
    ]
    random = np.random.default_rng(1)
    # full tiles with aligned rows, with others, a partial tile, a partial block
    for n, k, m in ((16, 16, 64), (16, 16, 63), (17, 16, 66), (16, 13, 64), (16, 7, 1)):
        a = random.integers(-4, 5, (n, k)).astype(dtype)
        b = random.integers(-4, 5, (k, m)).astype(dtype)
        np.testing.assert_array_equal(compiled.main(a, b), a @ b)


@pytest.mark.device
def test_unrolled_steps_agree_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are for compilers of NVIDIA, on any device."""
    text = f"{PRELUDE}#define UNROLL\n"
    monkeypatch.setattr("minifut.opencl.module.PRELUDE", text)
    compiled = program("f32", "unrolled")
    random = np.random.default_rng(1)
    for k in (1, 7, 8, 24, 29):
        a = random.integers(-4, 5, (16, k)).astype(np.float32)
        b = random.integers(-4, 5, (k, 64)).astype(np.float32)
        np.testing.assert_array_equal(compiled.main(a, b), a @ b)


def test_stores_of_aligned_tiles_are_vectors() -> None:
    kernels = program("f32").kernels
    text = "".join(kernels[name] for name in kernels if name.endswith("groups"))
    assert "*(__global float4 *)" in text and "#ifdef UNROLL" in text
