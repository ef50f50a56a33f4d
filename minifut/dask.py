"""Entry points on a cluster of dask (`pip install minifut[dask]`).

import minifut.dask
total = minifut.dask.distribute(prog.total, over="n")
total(array_of_dask)
"""

from __future__ import annotations

from minifut.errors import needing

with needing("dask"):
    from minifut.distributed.on_dask import Distributed, distribute

__all__ = ["Distributed", "distribute"]
