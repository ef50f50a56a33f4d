"""Kernels that differ in names only."""

from __future__ import annotations

from cProfile import Profile

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_passes.deduplicate import deduplicate
from minifut.names import NameSource

VERSIONS = {"cpu": 1, "gpu": 2}
"""of each kernel: for GPUs with indices of 64 bits, and of 32"""
PROGRAM = """
entry main [n][m] (xss: [n][m]f32) (yss: [n][m]f32): ([m][n]f32, [m][n]f32) =
  (copy (transpose xss), copy (transpose yss))
"""


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_a_module_holds_alike_kernels_once(schedule: str) -> None:
    core = stages.to_core(stages.check(Source("p.fut", PROGRAM)))
    module = stages.to_host_module(stages.to_kernels(core), schedule, "p")
    assert module.count("rt.Kernel(") == VERSIONS[schedule]
    assert module.count(" kernels[0]") == 2
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
    core = stages.to_core(stages.check(Source("p.fut", DIFFERENT_SIZES)))
    module = stages.to_host_module(stages.to_kernels(core), schedule, "p")
    assert module.count("rt.Kernel(") == VERSIONS[schedule]
    assert module.count(" kernels[0]") == 2


CHECKED = """
def at [n] (xs: [n]i32) (is: []i64) = map (\\i -> 2 * xs[i]) is
entry main [n] (xs: [n]i32) (is: []i64) (js: []i64) =
  (at xs is,
   at xs js)
"""


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_one_kernel_fails_with_the_backtrace_of_each_call(schedule: str) -> None:
    program = minifut.compile(CHECKED, schedule=schedule)
    assert len(program.kernels) == VERSIONS[schedule]
    xs, good = np.arange(5, dtype=np.int32), np.array([4, 0])
    for line, arguments in ((4, (good + 1, good)), (5, (good, good - 1))):
        with pytest.raises(ProgramError, match="out of bounds") as caught:
            program.main(xs, *arguments)
        assert f":{line}:" in str(caught.value)
        assert f":{9 - line}:" not in str(caught.value)
    first, second = program.main(xs, good, good)
    np.testing.assert_array_equal(first, [8, 0])
    np.testing.assert_array_equal(second, [8, 0])


@pytest.mark.device
def test_scalars_of_the_device_and_of_the_host_go_to_one_loop() -> None:
    """Kernels that differ in where their scalar comes from, and a sum."""
    text = "def f xs (c: f32) = map (\\x -> x * c) xs\n" + "".join(
        f"entry main{i} [n] (xs: [n]f32) (c: f32) = (f xs c, f xs (f32.sum xs))\n"
        for i in range(3)
    )
    program = minifut.compile(text, schedule="cpu")
    assert len(program.kernels) == 3
    xs = np.arange(4, dtype=np.float32)
    for main in (program.main0, program.main1, program.main2):
        for factor in (2.0, 3.0):
            given, summed = main(xs, factor)
            np.testing.assert_array_equal(given, xs * factor)
            np.testing.assert_array_equal(summed, xs * 6)


def test_kernels_are_compared_as_far_as_they_are_equal() -> None:
    count = 2000
    names, kernels = NameSource(1), []
    for number in range(9):
        k = CodeBuilder(names, "main")
        value: kc.Expression = k.declare("value", kc.Literal(number, kc.LONG))
        for step in range(count):
            value = k.declare("value", value + (step + 1))
        kernels.append(k.finish(f"main_{number}", (1,)))
    program = KernelProgram("cpu", tuple(kernels), (), (), (), ())
    profile = Profile()
    assert profile.runcall(deduplicate, program, names) is program
    assert sum(entry.callcount for entry in profile.getstats()) < 9 * count
