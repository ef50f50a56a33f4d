"""Calls of functions such as `exp`: of scalar ones the compiler of the device makes no
vectors, while its own functions on vectors take a quarter down to a sixteenth of the
time per element (PoCL with AVX-512, one core: `exp` and `sin` a quarter, `cos` and
`pow` a tenth, `log`, `atan2` and `tgamma` a fifteenth; of doubles a third on average).
So are quotients of integers, but for those by constants, which are products, and of
64 bits only those of loaded numbers: others are positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minifut.ir import core, scalar_opencl, scalar_quotients, search
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.varying import find_loaded, varies


def calls_functions(node: Any) -> bool:
    """Whether there is a call of a function that is best done on whole vectors, in code
    of a kernel or of the core."""
    return any(scalar_opencl.calls_library(part.operator) for part in _operations(node))


def gains_in_vectors(node: Any) -> bool:
    """The same, or a quotient or remainder of integers that are no positions, of which
    the compiler of the device makes no vectors either."""
    operations = list(_operations(node))
    if any(scalar_opencl.calls_library(part.operator) for part in operations):
        return True
    quotients = list(filter(_divides, operations))
    if any(part.operator.type.bits <= 32 for part in quotients):
        return True
    if not quotients or not isinstance(node, kc.For | kc.Block):
        return False
    body = node.body if isinstance(node, kc.For) else node
    loaded = find_loaded(body)
    return any(
        isinstance(part, kc.Operation) and varies(part.operands[0], loaded)
        for part in quotients
    )


def _operations(node: Any) -> Iterator[kc.Operation | core.ScalarOp]:
    return search.nodes_of(kc.Operation | core.ScalarOp, node)


def _divides(part: kc.Operation | core.ScalarOp) -> bool:
    return (
        part.operator.name in scalar_quotients.ROUNDED
        and part.operator.type.is_integer
        and not isinstance(part.operands[1], kc.Literal | core.Constant)
    )
