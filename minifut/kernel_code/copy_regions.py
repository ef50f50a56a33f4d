"""The parts of a `CollectiveCopy`: what is copied of each dimension of the source."""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.core import DimSlice, Param
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is copied of one dimension: `length` positions from `start`; None: one."""

    start: Size
    length: Size | None
    step: Size
    total: Size
    panel: Size | None = None
    """the width of the panels that it is cut into"""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be copied, under which name; `has_elements` tells whether the array
    has any."""

    bound: Param
    exp: CollectiveCopy
    source: Array
    stretches: list[Stretch]
    has_elements: kc.Expression

    @property
    def source_name(self) -> str:
        """What the array is called where its memory is made."""
        return self.source.memory.name.base

    @property
    def dense(self) -> int | None:
        """The dimension of the copy whose elements lie side by side in the array."""
        steps = [
            part.step * stride
            for part, stride in zip(self.stretches, self.source.strides, strict=True)
            if part.length is not None
        ]
        return steps.index(ONE) if ONE in steps else None


def stretches(k: KernelBuilder, exp: CollectiveCopy, source: Array) -> list[Stretch]:
    """The part of each dimension."""
    found = []
    for dimension, total in enumerate(source.shape):
        if dimension >= len(exp.slice):
            found.append(Stretch(ZERO, total, ONE, total))
            continue
        part = exp.slice[dimension]
        if isinstance(part, DimSlice):
            start, step = k.index(part.start), k.index(part.stride)
            found.append(Stretch(start, k.resolve(part.length), step, total))
        else:
            found.append(Stretch(k.index(part), None, ONE, total))
    return found


def clamped(k: KernelBuilder, part: Stretch, position: Size) -> Size:
    """The position in the array that stands for one which may lie beyond it."""
    if position == ZERO:
        return position
    last = k.size_value(part.total - 1)
    least = kc.Literal(0, kc.LONG)
    inside = kc.Call("clamp", (k.size_value(position), least, last), kc.LONG)
    return k.as_size(k.named(inside, "at"))
