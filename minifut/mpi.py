"""Entry points on the ranks of MPI (`pip install minifut[mpi]`).

from mpi4py import MPI
total = minifut.mpi.distribute(prog.total, over="n", comm=MPI.COMM_WORLD)
total(mapped_file)                    # in all ranks; each reads its own chunks
"""

from __future__ import annotations

from minifut.distributed.on_mpi import OverRanks, distribute

__all__ = ["OverRanks", "distribute"]
