"""The statistics of `clusters.fut` on the ranks of MPI.

    mpirun -n 2 python -m mpi4py examples/ranks.py POINTS.npy

All ranks run this script; each reads its own chunks of the file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import minifut
from minifut.mpi import distribute

HERE = Path(__file__).parent


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: mpirun -n 2 python -m mpi4py ranks.py POINTS.npy")
    points = np.load(sys.argv[1], mmap_mode="r")
    comm = MPI.COMM_WORLD
    program = minifut.compile(HERE / "clusters.fut")
    options = {"over": "n", "comm": comm, "chunk_bytes": 1 << 16}
    centres = distribute(program.kmeans, **options)(points, points[:4].copy(), 3)
    density = distribute(program.density, **options)(points, 8)
    means = distribute(program.running_mean, **options)(points)
    chunks = comm.gather(means)
    if comm.Get_rank() == 0:
        every = {start: chunk for part in chunks for start, chunk in part.items()}
        joined = np.concatenate([every[start] for start in sorted(every)])
        shared = [len(part) for part in chunks]
        print(f"{comm.Get_size()} ranks, chunks of each: {shared}")
        np.savez("ranks.npz", centres=centres, density=density, means=joined)
    return 0


if __name__ == "__main__":
    sys.exit(main())
