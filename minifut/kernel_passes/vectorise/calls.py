"""Calls of functions such as `exp`: of scalar ones the compiler of the device makes no
vectors, while its own functions on vectors take a quarter down to a sixteenth of the
time per element (PoCL with AVX-512, one core: `exp` and `sin` a quarter, `cos` and
`pow` a tenth, `log`, `atan2` and `tgamma` a fifteenth; of doubles a third on average).
So are quotients of up to 32 bits, but for those by constants, which are products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minifut.ir import core
from minifut.ir.scalar_opencl import calls_library
from minifut.ir.scalar_quotients import ROUNDED
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc


def calls_functions(node: Any) -> bool:
    """Whether there is a call of a function that is best done on whole vectors, in code
    of a kernel or of the core."""
    return any(calls_library(part.operator) for part in _operations(node))


def gains_in_vectors(node: Any) -> bool:
    """The same, or a quotient or remainder of integers that are no positions, of which
    the compiler of the device makes no vectors either."""
    return calls_functions(node) or any(map(_divides, _operations(node)))


def _operations(node: Any) -> Iterator[kc.Operation | core.ScalarOp]:
    return (
        part for part in walk(node) if isinstance(part, kc.Operation | core.ScalarOp)
    )


def _divides(part: kc.Operation | core.ScalarOp) -> bool:
    type_ = part.operator.type
    return (
        part.operator.name in ROUNDED
        and type_.is_integer
        and type_.bits <= 32
        and not isinstance(part.operands[1], kc.Literal | core.Constant)
    )
