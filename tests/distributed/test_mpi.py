"""The example for MPI, on two ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minifut

pytest.importorskip("mpi4py")
# of this environment, where pip puts it (`pip install mpich`), or of the system
MPIRUN = shutil.which("mpirun", path=f"{sys.prefix}/bin") or shutil.which("mpirun")
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""more ranks than cores, and in containers; options of its `mpirun`, which MPICH's does
not have"""
pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(MPIRUN is None, reason="there is no mpirun"),
]

ROOT = Path(__file__).parent.parent.parent


def test_two_ranks_give_what_one_process_gives(tmp_path: Path) -> None:
    points = np.random.default_rng(5).random((20_000, 3), np.float32)
    np.save(tmp_path / "points.npy", points)
    command = [str(MPIRUN), "-n", "2"]
    command += [sys.executable, "-m", "mpi4py", str(ROOT / "examples" / "ranks.py")]
    environment = {**os.environ, **OPEN_MPI, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "points.npy"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 ranks, chunks of each: [2, 2]" in done.stdout
    program = minifut.compile(ROOT / "examples" / "clusters.fut")
    found = np.load(tmp_path / "ranks.npz")
    centres = program.kmeans(points, points[:4].copy(), 3)
    np.testing.assert_allclose(found["centres"], centres, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found["density"], program.density(points, 8))
    means = program.running_mean(points)
    np.testing.assert_allclose(found["means"], means, rtol=1e-5)
