"""Kernels whose work-items meet, where little is left to do before and after."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minifut import compiler, stages
from minifut.errors import Source
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.barriers import assigned, has_barrier
from minifut.names import NameSource
from minifut.opencl.runtime.kernels import MANY_BARRIERS
from tests.benchmarking.agreement import Agreement

pytestmark = pytest.mark.optimised(barriers=True)

CONSTANTS = """
entry any (xs: []i32) = reduce (||) false (map (\\_ -> true) xs)
entry lowest (xs: []i32) = reduce i32.min i32.highest (map (\\_ -> 7) xs)
entry rows (xss: [][]i32) = map (\\r -> reduce (*) 1 (map (\\_ -> 0i64) r)) xss
entry scanned (xs: []i32) = scan f64.max f64.lowest (map (\\_ -> 0.5f64) xs)
"""
CHECKS_ONLY = """
-- ==
-- input { 0i64 [[1, 2], [3, 4]] } output { [0, 0] [4u8, 4u8] }
-- input { 0i64 [[1]] } output { [0] [4u8] }
entry main [n][m] (k: i64) (yss: [m][n]i32) =
  unzip (map (\\_ -> let _ = tabulate_2d m n (\\i j ->
                       yss[i, j - k] - yss[i + k, j])
                     in (0i32, 4u8)) yss)
"""


@pytest.mark.device
@pytest.mark.parametrize("schedule", stages.SCHEDULES)
def test_constants_are_combined_by_few_and_many(schedule: str) -> None:
    options = stages.Options(schedule=schedule)
    program = compiler.compile_program(Source("a.fut", CONSTANTS), options)
    for n in (0, 1, 3, 255, 256, 3000):
        xs = np.zeros(n, np.int32)
        assert program.any(xs) == (n > 0), n
        assert program.lowest(xs) == (7 if n else 2**31 - 1), n
        assert program.rows(np.zeros((5, n), np.int32)).tolist() == [n == 0] * 5
        assert program.scanned(xs).tolist() == [0.5] * n


@pytest.mark.device
def test_groups_that_only_check(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text(CHECKS_ONLY)
    runs = list(Agreement(path, schedules=("gpu",)).runs())
    assert any("intra" in name for run in runs for name in run.version.settings)
    assert [run.complaint for run in runs] == [None] * len(runs)


@pytest.mark.device
def test_many_barriers_are_built_in_seconds() -> None:
    scans = "scan (+) 0 (" * 15 + "xs" + ")" * 15
    text = f"""entry main (xss: [][]i64): [][]i64 =
      #[flattening(only_intra)] map (\\xs -> {scans}) xss"""
    source = Source("a.fut", text)
    kernels = stages.to_kernels(stages.to_core(stages.check(source)))
    module = stages.to_host_module(kernels, "gpu", "a")
    assert module.count("barrier(") > MANY_BARRIERS
    program = compiler.compile_program(source, stages.Options(schedule="gpu"))
    xss = np.arange(4 * 300).reshape(4, 300)
    expected = xss
    for _ in range(15):
        expected = np.cumsum(expected, axis=1)
    np.testing.assert_array_equal(program.main(xss), expected)


def test_what_is_assigned_before() -> None:
    names = NameSource()
    outer, inner = (kc.Variable(n, kc.LONG) for n in map(names.fresh, ["a", "b"]))
    one = kc.Literal(1, kc.LONG)
    body = kc.Block((kc.Declare(inner, one), kc.Assign(inner, one)))
    branch = kc.Branch(one, kc.Block((kc.Assign(outer, inner), kc.Barrier("local"))))
    assert assigned([body, branch]) == [outer]
    assert assigned([kc.Assign(outer, one)]) == []
    assert has_barrier(kc.Block((branch,))) and not has_barrier(body)
