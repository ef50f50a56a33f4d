"""Reductions and scans by shuffles. Where a device has none, local memory stands for
them, so that the same kernels run with any width of subgroups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.opencl.runtime.device_family import subgroup_of
from minifut.opencl.runtime.sessions import open_session
from minifut.opencl.runtime.templates import expanded
from tests.lowering.gpu.test_segmented_gpu import FAILING_OPERATOR
from tests.lowering.printed_programs import check
from tests.opencl.device_programs import check as check_ir
from tests.opencl.device_programs import entry

GROUPS = Path(__file__).parents[1] / "groups"
FOLDS = """
def after (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
def more (x: f64, i: i64) (y: f64, j: i64) =
  if x > y || (x == y && i < j) then (x, i) else (y, j)
entry main [n] (xs: [n]i32) (ys: [n]f64) =
  (i32.sum xs, any (> 7) xs, reduce after (1, 0) (zip xs xs),
   reduce more (f64.lowest, i64.highest) (zip ys (iota n)),
   unzip (scan after (1, 0) (zip xs xs)))
entry rows [n][m] (xss: [n][m]i32) =
  (map i32.sum xss, map (\\xs -> (reduce after (1, 0) (zip xs xs)).1) xss,
   map (\\xs -> (unzip (scan after (1, 0) (zip xs xs))).1) xss)
"""
SMALL: Mapping[str, int] = {
    "gpu.fold.group_size": 16,
    "gpu.fold.staged_elements": 3,
    "gpu.scan.look_back": 1,
}
"""four subgroups of four in a group"""


@pytest.fixture
def subgroup(request: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """The device has shuffles in subgroups of so many work-items."""
    session, width = open_session(None), int(request.param)
    monkeypatch.setattr(session, "device", replace(session.device, subgroup=width))
    return width


@pytest.mark.device
@pytest.mark.parametrize("subgroup", [4], indirect=True)
def test_lanes_in_several_subgroups_and_in_one(subgroup: int) -> None:
    program = minifut.compile(FOLDS, schedule="gpu")
    oracle = minifut.compile(FOLDS, backend="interpreter")
    thresholds = {
        n: 1 << 62 for n in program.tuning if n.endswith((".outer", ".intra"))
    }
    program.tuning.update({**thresholds, **SMALL})
    assert any("SHUFFLE_32(up" in text for text in program.kernels.values())
    random = np.random.default_rng(1)
    for n in (0, 1, 3, 5, 16, 17, 1000):
        given = random.integers(-3, 9, n).astype(np.int32), random.random(n)
        assert_same(program.main(*given), oracle.main(*given))
    for shape in ((1, 1), (40, 3), (9, 6), (3, 200)):
        xss = random.integers(-3, 9, shape).astype(np.int32)
        assert_same(program.rows(xss), oracle.rows(xss))


def assert_same(results: Any, expected: Any) -> None:
    """Equal, in tuples of any depth."""
    if isinstance(expected, tuple):
        for result, wanted in zip(results, expected, strict=True):
            assert_same(result, wanted)
    else:
        np.testing.assert_array_equal(results, expected)


@pytest.mark.device
@pytest.mark.parametrize("subgroup", [4], indirect=True)
def test_operators_that_fail(subgroup: int) -> None:
    """Work-items that fail take part in the shuffles that follow."""
    text = entry(2, "[][]i64 i64", "[]i64 [][]i64") + FAILING_OPERATOR
    ones = np.ones((1, 300), np.int64)
    cases = [(ones, np.int64(most)) for most in (300, 299, 3)]
    check_ir(text, cases, settings=(("gpu", SMALL),))


@pytest.mark.device
@pytest.mark.parametrize("subgroup", [16], indirect=True)
@pytest.mark.parametrize("name", ["in_order", "control"])
def test_groups_agree_with_the_interpreter(subgroup: int, name: str) -> None:
    """All lanes have the result of a group, which branches with barriers depend on."""
    assert check((GROUPS / f"{name}.ir").read_text(), "gpu") > 0


def test_kernels_without_subgroups_have_no_shuffles() -> None:
    """And others no steps in local memory, with fewer barriers."""
    core = stages.to_core(stages.check(Source("a.fut", "entry main = f32.sum")))
    module = stages.to_host_module(stages.to_kernels(core), "gpu", "a")
    namespace: dict[str, Any] = {}
    exec(compile(module, "a.py", "exec"), namespace)
    texts = [kernel.text or "" for kernel in namespace["program"].kernels]
    (text,) = [each for each in texts if "main_reduce_narrow(" in each]
    body = text[text.index("__kernel") :]

    def built(subgroup: int, group: int) -> str:
        return expanded(body, {"SUBGROUP": subgroup, "WORK_ITEMS": group})

    alone = built(1, 256)
    assert "SHUFFLE_32" not in alone
    assert "<< bits" in alone
    assert alone == built(32, 96) == built(8, 256)
    shuffling = built(32, 256)
    assert "SHUFFLE_32(down, moved, word, (uint)offset);" in shuffling
    assert "<< bits" not in shuffling
    assert shuffling.count("barrier(") < alone.count("barrier(")


def test_widths_of_subgroups() -> None:
    shuffles = ["cl_khr_subgroup_shuffle", "cl_intel_required_subgroup_size"]
    assert subgroup_of("sm_90", ["cl_khr_fp64"]) == 32
    assert subgroup_of("cdna", []) == 64
    assert subgroup_of("intel", shuffles) == 16
    assert subgroup_of("intel", shuffles[:1]) == subgroup_of("", []) == 1
