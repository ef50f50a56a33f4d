"""Reads at indices computed from clamped ones, in vectors and at their bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import minifut
from minifut.cli.dev import command
from minifut.errors import ProgramError

TABLE = """
entry main [m][n] (t: [m]f32) (xs: [n]f32): [n]f32 =
  map (\\x -> let k = i64.f32 x let f = x - f32.i64 k
             in t[k] * (1 - f) + {} * f) xs
"""
CERTIFIED = {
    "the next, or the last": "t[i64.min (k + 1) (m - 1)]",
    "half": "t[k / 2]",
    "the last but": "t[m - 1 - k]",
    "of a branch": "t[if k + 2 < m then k + 2 else k]",
}
REFUSED = {"a square": "#[unsafe] t[k * k]", "the next": "#[unsafe] t[k + 1]"}


def reference(name: str, m: int, k: np.ndarray) -> np.ndarray:
    return {
        "the next, or the last": np.minimum(k + 1, m - 1),
        "half": k // 2,
        "the last but": m - 1 - k,
        "of a branch": np.where(k + 2 < m, k + 2, k),
    }[name]


@pytest.mark.parametrize("name", [*CERTIFIED, *REFUSED])
def test_reads_are_certified_from_the_range_of_an_index(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "table.fut"
    file.write_text(TABLE.format({**CERTIFIED, **REFUSED}[name]))
    told = CliRunner().invoke(command, ["--explain", str(file)]).output
    assert ("no clamp_indices" in told) == (name in REFUSED), told


@pytest.mark.device
@pytest.mark.parametrize("name", CERTIFIED)
@pytest.mark.parametrize("lanes", [16, 1])
def test_certified_reads_are_right_and_fail_as_before(name: str, lanes: int) -> None:
    program = minifut.compile(
        TABLE.format(CERTIFIED[name]), schedule="cpu", params={"lanes": lanes}
    )
    random = np.random.default_rng(1)
    for m, n in ((1, 5), (7, 0), (7, 100), (1000, 5000)):
        t = random.normal(size=m).astype(np.float32)
        xs = (random.random(n) * m).astype(np.float32)
        k = np.minimum(xs.astype(np.int64), m - 1)
        xs = np.where(xs >= m, np.float32(m - 0.5), xs)
        f = xs - k.astype(np.float32)
        wanted = t[k] * (1 - f) + t[reference(name, m, k)] * f
        np.testing.assert_allclose(program.main(t, xs), wanted, rtol=1e-5, atol=1e-5)
    for wrong, shown in ((-1.0, "[-1]"), (7.0, "[7]"), (3e9, "[3000000000]")):
        xs = np.full(100, 3.5, np.float32)
        xs[61] = wrong
        with pytest.raises(ProgramError) as failure:
            program.main(np.ones(7, np.float32), xs)
        assert f"Index {shown} out of bounds for array of shape [7]" in str(
            failure.value
        )
    with pytest.raises(ProgramError):
        program.main(np.ones(0, np.float32), np.ones(100, np.float32))
