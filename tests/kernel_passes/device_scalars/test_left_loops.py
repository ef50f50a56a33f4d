"""Loops whose iterations are launches and a flag, which may be left to the device."""

from __future__ import annotations

import pytest

from minifut import stages
from minifut.errors import Source

LEFT = {
    "a residual": """
      loop (ys, t) = (xs, 1) while t > 1e-3 do
        let zs = map (/ 2) ys in (zs, f64.maximum zs)""",
    "iterations are counted": """
      loop (ys, t, i) = (xs, 1, 0i64) while i < k && t > 1e-3 do
        let zs = map (/ 2) ys in (zs, f64.maximum zs, i + 1)""",
    "a long condition": """
      loop (ys, t, u) = (xs, 1, 2) while f64.abs (f64.sqrt t - f64.sqrt u) > 1e-3 * u do
        let zs = map (/ 2) ys
        in (zs, f64.abs (f64.maximum zs) + 1, f64.sqrt (f64.abs (f64.sum zs)) + 1)""",
    "nothing changes": """
      loop (ys, changed) = (xs, true) while changed do
        let zs = map2 f64.min ys (rotate 1 ys) in (zs, or (map2 (!=) ys zs))""",
    "what it was before": """
      loop (ys, t, u) = (xs, 1, 2) while u - t > 1e-3 do
        let zs = map (/ 2) ys in (zs, f64.maximum zs, t)""",
    "a copy": """
      loop (ys, changed) = (xs, true) while changed do
        let zs = reduce_by_index (copy ys) f64.min f64.inf (map (n - 1 -) (iota n)) ys
        in (zs, or (map2 (!=) ys zs))""",
    "one in a loop": """
      loop ys = xs for _i < k do
        (loop (ys, t) = (ys, 1) while t > 1e-3 do
          let zs = map (/ 2) ys in (zs, f64.maximum zs)).0""",
}
KEPT = {
    "sizes change": """
      loop (m, ys, t) = (n, xs, 1) while t > 1e-3 do
        let zs = tabulate (m + 1) (\\i -> ys[i % m] / 2) in (m + 1, zs, f64.maximum zs)""",
    "the host decides": """
      loop (ys, t) = (xs, 1) while t > 1e-3 do
        let zs = if t > 5 then map (/ 2) ys else scan (+) 0 ys in (zs, f64.maximum zs)""",
    "the host counts": """
      loop (ys, i) = (xs, 0) while i < k do (map (/ 2) ys, i + 1)""",
    "it prints": """
      loop (ys, t) = (xs, 1) while t > 1e-3 do
        let zs = map (/ 2) ys in (zs, #[trace(t)] f64.maximum zs)""",
}


def host_program(body: str, schedule: str) -> str:
    text = f"entry main [n] (xs: [n]f64) (k: i64) = {body}"
    kernels = stages.to_kernels(
        stages.to_core(stages.check(Source("program.fut", text)))
    )
    return stages.to_host_module(kernels, schedule, "program")


@pytest.mark.parametrize("name", LEFT)
def test_the_device_says_whether_a_loop_goes_on(name: str) -> None:
    text = host_program(LEFT[name], "cpu")
    assert ".goes_on(" in text
    assert "run.copy(" not in text.partition("while ")[2].partition("goes_on")[0]
    assert "goes_on" not in host_program(LEFT[name], "gpu")


@pytest.mark.parametrize("name", KEPT)
def test_the_host_does(name: str) -> None:
    assert "goes_on" not in host_program(KEPT[name], "cpu")


def test_one_kernel_stores_all_scalars() -> None:
    text = host_program(LEFT["iterations are counted"], "cpu")
    assert text.count('rt.Kernel("main_store') == 1
