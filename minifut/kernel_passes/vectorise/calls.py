"""Calls of functions such as `exp`: of scalar ones the compiler of the device makes no
vectors, while its own functions on vectors take a quarter down to a sixteenth of the
time per element (PoCL with AVX-512, one core: `exp` and `sin` a quarter, `cos` and
`pow` a tenth, `log`, `atan2` and `tgamma` a fifteenth; of doubles a third on average).
"""

from __future__ import annotations

from typing import Any

from minifut.ir import core
from minifut.ir.scalar_opencl import calls_library
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc


def calls_functions(node: Any) -> bool:
    """Whether there is a call of a function that is best done on whole vectors, in code
    of a kernel or of the core."""
    return any(
        isinstance(part, kc.Operation | core.ScalarOp) and calls_library(part.operator)
        for part in walk(node)
    )
