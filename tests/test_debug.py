"""`MINIFUT_DEBUG`: each topic shows or checks what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import minifut
from minifut import stages
from minifut.cli import main
from minifut.errors import Source
from minifut.opencl.runtime import binaries

ROOT = Path(__file__).parent.parent
PROGRAM = "entry main (xs: []f32): f32 = f32.sum (map (* 3) xs)\n"


def test_passes_and_rules_are_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    core = stages.to_core(stages.check(Source("a.fut", PROGRAM)))
    stages.to_kernels(core)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("MINIFUT_DEBUG", "passes")
    stages.to_kernels(core)
    shown = capsys.readouterr().err
    assert "pass fuse: " in shown and "fuse_map_into_redomap" not in shown
    monkeypatch.setenv("MINIFUT_DEBUG", "rules")
    stages.to_kernels(core)
    shown = capsys.readouterr().err
    assert "pass fuse: " not in shown and "fuse_map_into_redomap" in shown


@pytest.mark.device
def test_kernels_are_reported_when_they_are_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINIFUT_DEBUG", "kernels")
    for _ in range(2):  # built, or loaded from the cache
        program = minifut.compile(PROGRAM)
        assert program.main(np.ones(4, np.float32)) == 12
        assert "__kernel" in capsys.readouterr().err
        binaries.store_binaries()


def test_frozen_nodes_cannot_be_changed() -> None:
    change = (
        "from minifut.ir.soacs import Scatter\n"
        "scatter = Scatter(1, (), (), None)\n"
        "scatter.width = 2\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", change],
        env={"PYTHONPATH": str(ROOT), "MINIFUT_DEBUG": "freeze"},
        capture_output=True,
        text=True,
    )
    assert "FrozenInstanceError" in done.stderr
    assert (
        subprocess.run(
            [sys.executable, "-c", change], env={"PYTHONPATH": str(ROOT)}
        ).returncode
        == 0
    )


def test_what_is_no_topic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIFUT_DEBUG", "passes,rule")
    result = CliRunner().invoke(main, ["devices"])
    assert result.exit_code == 2
    assert "there is no topic 'rule'; did you mean 'rules'?" in result.output
