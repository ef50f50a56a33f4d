"""Interleave the register tiles of threads, so that local memory is read in vectors.

    x * 8 + j    →    (j / 4) * 4 * 16 + x * 4 + j % 4          16 threads, 8 registers

A thread whose columns are consecutive reads words that are eight apart from those of
its neighbour: four words in each bank. With elements in pieces of 16 bytes, and the
pieces of neighbours side by side, each piece is one vector load, and a warp reads
consecutive words. The last piece is smaller where the number of registers is not a
multiple; the map from threads and registers to elements is a bijection all the same.

The group is rewritten before it is lowered, and results are stored by the same map.
Conditions: all that depends on the index of a thread depends on the position of an
element, thread * registers + register; arrays of threads are in registers.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from minifut.analysis.residency.distributed import RegisterArrays
from minifut.ir import traverse
from minifut.ir.core import Index, SizeExp
from minifut.ir.kernels import REGISTER, THREAD, CollectiveCopy, RegTileReturns, SegMap
from minifut.ir.node import immutable, replace
from minifut.ir.sizes import ONE, ZERO, Size, minimum
from minifut.ir.types import ArrayType
from minifut.names import Name

VECTOR_BYTES = 16
"""of the widest load from local memory"""


def vector_width(element_bytes: int) -> int:
    """The elements of the widest load."""
    return max(1, VECTOR_BYTES // element_bytes)


def interleaved_position(
    thread: Size, register: Size, threads: Size, registers: Size, width: int
) -> Size:
    """The element of a tile that a register of a thread holds."""
    piece = register // width * width
    size = minimum(Size.constant(width), registers - piece)
    return threads * piece + thread * size + (register - piece)


@immutable
class Interleaved:
    """A group, whose threads' elements are in pieces of `width`; 0: consecutive."""

    operation: SegMap
    width: int


class _Irregular(Exception):
    """Something depends on a thread in another way than by an element's position."""


def interleave(operation: SegMap, registers: RegisterArrays) -> Interleaved:
    """The group with interleaved register tiles, if that is possible."""
    plain = Interleaved(operation, 0)
    body = operation.body
    tiles = [result for result in body.result if isinstance(result, RegTileReturns)]
    shapes = {
        tuple((b, r) for _, b, r in tile.dimensions if not b == r == ONE)
        for tile in tiles
    }
    widths = [
        stm.pattern[0].type.element.bytes
        for stm in traverse.walk(body)
        if isinstance(getattr(stm, "exp", None), CollectiveCopy)
        and isinstance(stm.pattern[0].type, ArrayType)
    ]
    if len(shapes) != 1 or len(tiles) < len(body.result) or not widths:
        return plain
    (shape,) = shapes
    if len({r for _, r in shape}) < len(shape):
        return plain
    width = vector_width(max(widths))
    own = registers.tiles | registers.distributed.keys()
    nest = _Threads(tuple(shape), frozenset(own), width)
    try:
        return Interleaved(replace(operation, body=nest.group(body)), width)
    except _Irregular:
        return plain


@immutable
class _Threads:
    """The rewriting: threads and registers of each dimension, the arrays that are in
    registers, the width of a piece."""

    shape: tuple[tuple[Size, Size], ...]
    own: frozenset[Name]
    width: int

    def group(self, node: Any) -> Any:
        """The body of the group, with that of each nest of threads rewritten."""
        if not isinstance(node, SegMap) or node.level != THREAD:
            return traverse.map_children(node, self.group)
        if node.space.sizes != tuple(b for b, _ in self.shape):
            raise _Irregular
        return replace(node, body=_Thread(self, node.space.indices).changed(node.body))


@immutable
class _Thread:
    """The rewriting of a nest of threads; `active`: register indices by dimension."""

    of: _Threads
    threads: tuple[Name, ...]
    active: dict[int, Name] = field(default_factory=dict)

    def changed(self, node: Any) -> Any:
        """A part of the body outside of register nests."""
        if isinstance(node, SegMap) and node.level == REGISTER:
            return self.register_nest(node)
        self.check(node)
        return traverse.map_children(node, self.changed)

    def register_nest(self, nest: SegMap) -> SegMap:
        """The elements of a thread."""
        registers = [r for _, r in self.of.shape]
        active = {
            registers.index(size): index
            for index, size in zip(nest.space.indices, nest.space.sizes, strict=True)
            if size in registers
        }
        inside = _Thread(self.of, self.threads, active)
        for part in (*nest.body.statements, *nest.body.result):
            inside.check_all(part)
        places: dict[Name, Size] = {}
        for dimension, index in active.items():
            thread = self.threads[dimension]
            count, size = self.of.shape[dimension]
            register = Size.of(index)
            places[thread] = ZERO
            places[index] = interleaved_position(
                Size.of(thread), register, count, size, self.of.width
            )
        return replace(nest, body=traverse.substitute_sizes(nest.body, places))

    def check_all(self, node: Any) -> None:
        if isinstance(node, SegMap):
            raise _Irregular
        self.check(node)
        if not isinstance(node, Index) or node.array not in self.of.own:
            for child in traverse.children(node):
                self.check_all(child)

    def check(self, node: Any) -> None:
        """Raise `_Irregular` unless the node itself depends on positions only."""
        match node:
            case SizeExp(size):
                self.check_size(size)
            case Index(array, _) if array in self.of.own:
                pass
            case _:
                found: set[Name] = set()
                traverse.own_names(node, found)
                if not found.isdisjoint((*self.threads, *self.active.values())):
                    raise _Irregular

    def check_size(self, size: Size) -> None:
        """With register := position - thread * registers, no thread must be left."""
        for dimension, index in self.active.items():
            thread = Size.of(self.threads[dimension])
            _, registers = self.of.shape[dimension]
            # the index now stands for the position
            position = Size.of(index) - thread * registers
            size = size.substitute({index: position})
        if not size.names().isdisjoint(self.threads):
            raise _Irregular
