"""Kernels that differ in names only."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import compiler
from minifut.errors import Source
from minifut.opencl.deduplication import KernelDeduplication, without_names

TEXT = """\
__kernel void {name}(
        __global int *failure,
        long {n},
        __global const float *restrict {xs})
{{
    long i = get_global_id(0);
    if (i < {n}) {xs}[i] = {value};
}}
"""


def text(name: str, n: str, xs: str, value: str = "1.0f") -> str:
    return TEXT.format(name=name, n=n, xs=xs, value=value)


def test_names_of_kernel_and_parameters_do_not_matter() -> None:
    one = without_names("main_copy", text("main_copy", "n", "xs"))
    other = without_names("main_copy_2", text("main_copy_2", "rows", "mapped_1"))
    assert one == other
    assert one != without_names("k", text("k", "n", "xs", "2.0f"))


def test_alike_kernels_share_a_number() -> None:
    alike = KernelDeduplication()
    found = [
        alike.number("a", text("a", "n", "xs"), "shape"),
        alike.number("b", text("b", "n", "xs", "2.0f"), "shape"),
        alike.number("c", text("c", "m", "ys"), "shape"),
        alike.number("d", text("d", "m", "ys"), "other"),
        alike.number("e", text("e", "k", "zs", "2.0f"), "shape"),
    ]
    assert found == [(0, True), (1, True), (0, False), (2, True), (1, False)]


PROGRAM = """
entry main [n][m] (xss: [n][m]f32) (yss: [n][m]f32): ([m][n]f32, [m][n]f32) =
  (copy (transpose xss), copy (transpose yss))
"""


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_a_module_holds_alike_kernels_once(schedule: str) -> None:
    core = compiler.to_core(compiler.check(Source("p.fut", PROGRAM)))
    module = compiler.to_host_module(compiler.to_kernels(core), schedule, "p")
    assert module.count("rt.Kernel(") == 1 and module.count(" kernels[0]") == 2
    program = minifut.compile(PROGRAM, schedule=schedule)
    xss = np.arange(600, dtype=np.float32).reshape(20, 30)
    first, second = program.main(xss, xss + 1)
    np.testing.assert_array_equal(first, xss.T)
    np.testing.assert_array_equal(second, xss.T + 1)


DIFFERENT_SIZES = """
entry main [n][m] (xss: [n][m]f32) (yss: [m][n + m]f32): ([m][n]f32, [n + m][m]f32) =
  (copy (transpose xss), copy (transpose yss))
"""


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_transpositions_of_different_sizes_are_alike(schedule: str) -> None:
    core = compiler.to_core(compiler.check(Source("p.fut", DIFFERENT_SIZES)))
    module = compiler.to_host_module(compiler.to_kernels(core), schedule, "p")
    assert module.count("rt.Kernel(") == 1 and module.count(" kernels[0]") == 2
