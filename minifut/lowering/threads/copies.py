"""Copies of arrays by one work-item of a GPU.

    for i = 0 to n / 4 * 4 by 4 {
      let x = source[i]  ..  let x_3 = source[i + 3]
      target[i] = x      ..  target[i + 3] = x_3
    }
    for i = n / 4 * 4 to n {target[i] = source[i]}

A store may be to what is loaded next, for all that a compiler knows, so that it issues
no load before it: each element would wait for the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.sizes import ZERO, Size
from minifut.lowering.index_functions import Array

if TYPE_CHECKING:
    from minifut.lowering.threads.builder import KernelBuilder

AHEAD = 4


def copy_elements(k: KernelBuilder, target: Array, source: Array) -> None:
    """Copy an array, with four loads before the stores of what they load where that
    gains."""
    if k.loads_ahead and target.shape:
        k.each(target.shape[:-1], lambda at: _copy_row(k, target, source, at))
    else:
        k.each(target.shape, lambda at: k.write(target, at, k.read(source, at)))


def _copy_row(
    k: KernelBuilder, target: Array, source: Array, at: tuple[Size, ...]
) -> None:
    length = target.shape[-1]
    whole = length // AHEAD * AHEAD
    if whole != ZERO:
        with k.loop("i", k.size_value(whole), step=AHEAD) as i:
            places = [(*at, k.as_size(i + number, "i")) for number in range(AHEAD)]
            values = [k.declare("x", k.read(source, place)) for place in places]
            for place, value in zip(places, values, strict=True):
                k.write(target, place, value)
    if whole != length:
        with k.loop("i", k.size_value(length), k.size_value(whole)) as i:
            place = (*at, Size.of(i.name))
            k.write(target, place, k.read(source, place))
