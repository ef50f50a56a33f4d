"""Entry points on a cluster of dask (`pip install minifut[dask]`).

import minifut.dask
total = minifut.dask.distribute(prog.total, over="n")
total(array_of_dask)
"""

from __future__ import annotations

from minifut.errors import UsageError

try:
    from minifut.distributed.on_dask import Distributed, distribute
except ImportError as missing:
    raise UsageError(
        f"minifut.dask needs dask ({missing}): pip install 'minifut[dask]'"
    ) from None

__all__ = ["Distributed", "distribute"]
