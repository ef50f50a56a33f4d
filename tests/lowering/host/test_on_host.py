"""What no kernel can do runs on the host, and says so."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from minifut import stages
from minifut.cli.dev import command
from minifut.errors import Source
from minifut.ir import kernels
from minifut.lowering.dispatch import LOWER
from minifut.lowering.program import lower_program
from minifut.lowering.threads.builder import NotInKernel

PROGRAM = """
entry main [n] (xs: [n]i64) (is: [n]i64) =
  let ys = map (\\x -> 2 * x + 1) xs
  in scatter (copy xs) is (map (\\y -> y * y) ys)
"""


@pytest.fixture
def no_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels without results of one value per point cannot be made."""

    def refuse(*_: Any) -> None:
        raise NotInKernel("maps are out of order")

    monkeypatch.setitem(LOWER, (kernels.SegMap, "cpu"), refuse)


@pytest.mark.usefixtures("no_maps")
def test_the_reason_is_kept_and_stands_in_the_module() -> None:
    core = stages.to_core(stages.check(Source("host.fut", PROGRAM)))
    program = stages.to_kernels(core)
    lowered = lower_program(stages.to_schedule(program, "cpu"), "cpu")
    assert lowered.on_host
    for line in lowered.on_host:
        assert line.startswith("host.fut:")
        assert line.endswith("maps are out of order")
    module = stages.to_host_module(program, "cpu")
    found = module.count("point by point: maps are out of order")
    assert found == len(lowered.on_host)


@pytest.mark.usefixtures("no_maps")
def test_explain_lists_it(tmp_path: Any) -> None:
    path = tmp_path / "host.fut"
    path.write_text(PROGRAM)
    result = CliRunner().invoke(command, ["--explain", str(path)])
    assert result.exit_code == 0, result.output
    section = result.output[result.output.index("point by point on the host") :]
    assert "maps are out of order" in section


def test_explain_says_nothing_of_what_kernels_do(tmp_path: Any) -> None:
    path = tmp_path / "device.fut"
    path.write_text(PROGRAM)
    result = CliRunner().invoke(command, ["--explain", str(path)])
    assert result.exit_code == 0, result.output
    assert "point by point" not in result.output


@pytest.mark.device
@pytest.mark.usefixtures("no_maps")
def test_it_means_the_same() -> None:
    import numpy as np

    import minifut

    program = minifut.compile(PROGRAM)
    xs = np.array([3, 1, 4, 1, 5])
    targets = np.array([4, -1, 0, 9, 1])
    got = program.main(xs, targets)
    expected = xs.copy()
    inside = (targets >= 0) & (targets < 5)
    expected[targets[inside]] = ((2 * xs + 1) ** 2)[inside]
    assert np.array_equal(np.asarray(got), expected)
