"""Writes of points by index, which do nothing where an index is out of bounds."""

from __future__ import annotations

from minifut.ir.core import Atom
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder


def write_if_inside(
    k: KernelBuilder, output: Array, where: tuple[Atom, ...], value: Atom
) -> None:
    """`output[where] = value`, unless an index is out of bounds."""
    places: list[kc.Expression] = []
    tests: list[kc.Expression] = []
    for atom, size in zip(where, output.shape, strict=False):
        index = k.named(kc.Cast(k.scalar(atom), kc.LONG), "place")
        places.append(index)
        tests.append(kc.all_of((index >= 0, index < k.size_value(size))))
    with k.branch(kc.all_of(tests)):
        k.write(output, tuple(places), k.atom(value))
