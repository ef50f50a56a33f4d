"""What scans store of their results, and from which end."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.analysis.scan_results import scan_results
from minifut.ir.parser import parse_program

SCAN = """fun f (n: i64, m: i64, xs: [n][m]f64) -> (result: [n][m]f64) {{
  let (a: [n][m]f64, b: [n][m]f64) = segscan grid (i < n, j < m)
      operator(\\(c: f64, d: f64, e: f64, g: f64) -> (f64, f64) {{
    let h: f64 = mul_f64(e, d)
    let k: f64 = add_f64(c, h)
    return k, g
  }}, (0.0f64, 1.0f64), []) -> (f64, f64) {{
    let x: f64 = xs[i, j]
    return returns x, returns x
  }}
  let last: i64 = size(m - 1)
  {uses}
}}
"""


@pytest.mark.parametrize(
    "uses, found",
    [
        ("return a", {"b": False}),
        ("let r: [n][m]f64 = a[0i64 :+ n by 1i64, last :+ m by -1i64] return r",
         {"a": True, "b": False}),
        ("let r: [n][m]f64 = a[1i64 :+ n by 1i64, last :+ m by -1i64] return r",
         {"b": False}),
        ("let r: [n]f64 = a[0i64 :+ n by 1i64, last] return r", {"b": False}),
        ("let r: [n][m]f64 = b[0i64 :+ n by 1i64, last :+ m by -1i64] "
         "let s: [m]f64 = b[0i64] return r", {"a": False}),
    ],
)  # fmt: skip
def test_the_slice_that_alone_uses_a_result_is_found(
    uses: str, found: dict[str, bool]
) -> None:
    (function,) = parse_program(SCAN.format(uses=uses)).functions
    body = function.body
    made = scan_results(body.statements, body.result)
    assert {name.base: slice_ is not None for name, slice_ in made.items()} == found


PROGRAM = """
def sums [n] (xs: [n]f64): [n]f64 = reverse (scan (+) 0 (reverse xs))
entry both [n] (xs: [n]f64) = (sums xs, scan (*) 1 xs)
entry rows [n][m] (xss: [n][m]f64) = map sums xss
entry constants [n] (xs: [n]f64): [n]f64 =
  let follow (c, m) (d, k) = (d + k * c, k * m)
  in map (.0) (scan follow (0, 1) (map (\\x -> (x, 0.5)) xs))
"""


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("n", [0, 1, 37, 100_001])
def test_reversed_and_partly_used_scans_give_what_they_should(
    n: int, schedule: str
) -> None:
    program = minifut.compile(PROGRAM, schedule=schedule)
    xs = np.random.default_rng(n).uniform(0.9, 1.1, size=n)
    sums, products = program.both(xs)
    assert np.allclose(sums, np.cumsum(xs[::-1])[::-1])
    assert np.allclose(products, np.cumprod(xs))
    for xss in (xs[: n // 7 * 7].reshape(7, -1), xs[: n // 7 * 7].reshape(-1, 7)):
        assert np.allclose(program.rows(xss), np.cumsum(xss[:, ::-1], 1)[:, ::-1])
    wanted, last = [], 0.0
    for x in xs:
        wanted.append(last := x + 0.5 * last)
    assert np.allclose(program.constants(xs), wanted)


@pytest.mark.device
def test_a_scan_from_the_end_needs_no_copy_and_stores_what_is_used() -> None:
    program = minifut.compile(PROGRAM, schedule="cpu")
    assert not any("copy" in name for name in program.kernels if "both" in name)
    (text,) = (k for name, k in program.kernels.items() if name == "constants_scan")
    assert text.count("__global double *") == 1
