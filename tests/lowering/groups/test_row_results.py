"""Threads of groups write rows of results themselves, where nothing reads the rows."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source

ROWS = """entry main [n][m] (xss: [n][m]f64): [n][m]f64 =
  #[incremental_flattening(only_intra)]
  map (\\xs ->
    let sums = tabulate m (\\j -> xs[j] + xs[(j + 1) % m])
    in tabulate m (\\j -> sums[j] * sums[(j + 2) % m])) xss
"""
SCANNED = """entry main [n][m] (xss: [n][m]f64): [n][m]f64 =
  #[incremental_flattening(only_intra)]
  map (\\xs ->
    let sums = scan (+) 0 xs
    in map2 (+) sums (rotate 1 sums)) xss
"""
READ_AGAIN = """entry main [n][m] (xss: [n][m]f64): ([n][m]f64, [n][m]f64) =
  #[incremental_flattening(only_intra)]
  map (\\xs ->
    let sums = scan (+) 0 xs
    in (sums, map2 (-) xs (reverse sums))) xss |> unzip
"""


def kernels_of(text: str) -> str:
    """The OpenCL text of the program under the CPU schedule."""
    core = stages.to_core(stages.check(Source("rows.fut", text)))
    return stages.to_host_module(stages.to_kernels(core), "cpu")


@pytest.mark.parametrize(("text", "arrays"), [(ROWS, 1), (SCANNED, 1), (READ_AGAIN, 1)])
def test_only_rows_that_are_read_have_memory_of_their_own(
    text: str, arrays: int
) -> None:
    code = kernels_of(text)
    (kernel, *_) = [k for k in code.split("__kernel void")[1:] if "__local" in k]
    assert kernel.count("__local double *") == arrays


@pytest.mark.parametrize("text", [ROWS, SCANNED, READ_AGAIN])
@pytest.mark.parametrize("shape", [(5, 37), (1, 1), (3, 5000), (0, 4)])
def test_rows_are_right(text: str, shape: tuple[int, int]) -> None:
    xss = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) % 13
    program = minifut.compile(text)
    want = minifut.compile(text, backend="interpreter").main(xss)
    got = program.main(xss)
    if not isinstance(want, tuple):
        want, got = (want,), (got,)
    for one, other in zip(want, got, strict=True):
        np.testing.assert_allclose(np.asarray(other), np.asarray(one))
