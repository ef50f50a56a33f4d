"""Tuning of a loaded program by the arguments of calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minifut
from minifut.parameters.file import read_tuning

SOURCE = """
entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
entry fail (xs: []f32): f32 = xs[1000000]
"""


@pytest.mark.device
def test_the_best_is_set_and_results_stay() -> None:
    program = minifut.compile(SOURCE)
    wide, high = np.ones((2, 4096), np.float32), np.ones((4096, 2), np.float32)
    found = program.autotune([(wide,), {"xss": high}], runs=1)
    assert "#0 (2, 4096)" in str(found)
    assert "#1 (4096, 2)" in str(found)
    assert {n: program.tuning[n] for n in found.changed} == dict(found.changed)
    assert program.main(wide).tolist() == [4096, 4096]
    assert program.main(high).tolist() == [2] * 4096


@pytest.mark.device
def test_a_gradient_is_tuned_by_its_own_calls(tmp_path: Path) -> None:
    program = minifut.compile(SOURCE)
    sums = program.main.derivative("vjp")
    assert sums.program is not None
    wide, adjoint = np.ones((2, 4096), np.float32), np.float32([1, 2])
    found = sums.program.autotune([(wide, adjoint)], sums.name, runs=1)
    assert all(name.startswith(sums.name) for name in found.changed)
    file = tmp_path / "sums.tuning"
    program.tuning.save(file)
    sums.program.tuning.save(file)
    assert {*program.tuning, *sums.program.tuning} == set(read_tuning(file))


@pytest.mark.device
def test_what_cannot_be_tuned() -> None:
    program = minifut.compile(SOURCE)
    with pytest.raises(minifut.UsageError, match="give the arguments of a call"):
        program.autotune([])
    with pytest.raises(minifut.ProgramError, match="out of bounds"):
        program.autotune([(np.ones(3, np.float32),)], "fail")
    with pytest.raises(minifut.ArgumentError, match="1 argument expected"):
        program.autotune([(1, 2)])
    interpreted = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(minifut.UsageError, match="no kernels"):
        interpreted.autotune([(np.ones((2, 2), np.float32),)])
