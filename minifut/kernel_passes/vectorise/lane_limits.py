"""What limits the lanes of a point besides the vectors of the device."""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.kernels import Parameter
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.long_integers import (
    LONG_INTEGERS,
    has_long_integers,
)
from minifut.kernel_passes.vectorise.registers import CROWDED, crowded_rounds
from minifut.kernel_passes.vectorise.varying import find_varying
from minifut.names import Name


def lane_limits(
    body: Sequence[kc.Statement], index: Name
) -> tuple[tuple[Parameter, ...], tuple[kc.Comment, ...]]:
    """Parameters that have at most as many lanes as they allow for the point `index`,
    and why, for those who read the code."""
    varying = find_varying(body, [index])
    crowd = crowded_rounds(body, varying)
    limits = () if crowd is None else (CROWDED,)
    comments = () if crowd is None else (kc.Comment(str(crowd)),)
    if has_long_integers(body, varying):
        limits = (*limits, LONG_INTEGERS)
    return limits, comments
