"""Conversions between floats and integers of 64 bits, which are functions of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

FLOATS = [0.0, -0.0, 0.9, -0.9, 2.0**31 - 128, 2.0**31, -(2.0**31), 2.0**52, 1e18]
FLOATS += [2.0**63, -(2.0**63), 1.5e19, -1.5e19, 1e30, -1e30, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1, 2**63 - 1]
INTEGERS += [-(2**63), -(2**63) + 1, 2**24 + 1, 2**40 + 3]


def numbers(name: str) -> np.ndarray[Any, Any]:
    """The edge cases, and as many numbers that fit into 32 bits in a row."""
    if name.startswith("f"):
        dtype = {"f32": np.float32, "f64": np.float64}[name]
        small = np.random.default_rng(1).normal(size=40).astype(dtype) * 100
        return np.concatenate([small, np.asarray(FLOATS, dtype)])
    wrapped = np.asarray(INTEGERS, np.int64)
    small = np.random.default_rng(1).integers(-1000, 1000, 40)
    return np.concatenate([small, wrapped]).astype({"i64": "i8", "u64": "u8"}[name])


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("lanes", [16, 8, 1])
@pytest.mark.parametrize(
    ("source", "target"),
    [(f, i) for f in ("f32", "f64") for i in ("i64", "u64")]
    + [(i, f) for f in ("f32", "f64") for i in ("i64", "u64")],
)
def test_conversions_in_lanes_agree_with_the_interpreter(
    source: str, target: str, lanes: int
) -> None:
    # the exponential function makes vectors of conversions to floats, too
    text = f"""
      entry main [n] (xs: [n]{source}): ([n]{target}, [n]f64) =
        unzip (map (\\x -> ({target}.{source} x, f64.exp (f64.{source} x * 0))) xs)
    """
    program = minifut.compile(text, schedule="cpu", params={"lanes": lanes})
    core = stages.to_core(stages.check(Source("conversions.fut", text)))
    xs = numbers(source)
    for chosen in (xs, xs[:40], xs[-9:]):
        got, want = program.main(chosen), interpreted_program(core).main(chosen)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


def test_loops_that_convert_to_64_bits_are_vectors() -> None:
    text = "entry main [n] (xs: [n]f32): [n]i64 = map (\\x -> i64.f32 (x * 10)) xs"
    core = stages.to_core(stages.check(Source("convert.fut", text)))
    code = stages.to_host_module(stages.to_kernels(core), "cpu", "convert")
    assert "= to_i64_f32_16(" in code
    assert "_sat(" not in code
