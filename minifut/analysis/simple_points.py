"""Which points may be vectorised: they only compute scalars, and cannot fail."""

from __future__ import annotations

from minifut.ir import core, kernels
from minifut.ir.accumulators import UpdateAcc
from minifut.ir.traverse import walk
from minifut.ir.types import ArrayType

SERIALISING = (
    core.Assert,
    core.Apply,
    core.Loop,
    core.Replicate,
    core.Iota,
    core.Concat,
    core.Manifest,
    core.Update,
    kernels.SegMap,
    UpdateAcc,
)


def is_simple(
    operation: kernels.SegMap | kernels.SegRed | kernels.SegScan,
) -> bool:
    """Whether points may be vectorised: they only compute scalars, each writes elements
    of its own, and none can fail."""
    return all(
        isinstance(r, kernels.Returns) for r in operation.body.result
    ) and not any(
        isinstance(node, SERIALISING)
        or (
            isinstance(node, core.Stm)
            and not isinstance(node.exp, core.Index | core.Rearrange | core.Reshape)
            and any(isinstance(p.type, ArrayType) for p in node.pattern)
        )
        for node in walk(operation.body)
    )
