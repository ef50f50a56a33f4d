"""Register tiles: arrays of a thread whose elements are variables.

    let z: [ry][rx]f32 = segmap register (i < ry, j < rx) {..}
    →   float z_0_0, z_0_1, ..;         one `Register` per point, copies of the body

A tile of rank 0 is one variable. With `outer` sizes a tile is an array of the group
that is distributed over its threads (see `analysis.residency`): each has one element.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from minifut.ir.node import immutable
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType, Type, array_of, element_of, shape_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.threads.builder import KernelBuilder, LoweredValue


@immutable
class RegisterTile:
    """A family of variables, one for each point of `counts` (build constants)."""

    family: Name
    type: kc.VectorType
    counts: tuple[Size, ...]
    outer: tuple[Size, ...] = ()

    def at(self, indices: tuple[Name | Size, ...]) -> kc.Register:
        """The variable at indices of the `Unrolled` around it, or sizes over those."""
        return kc.Register(self.family, indices, self.type)

    @property
    def own(self) -> RegisterTile:
        """The part of one thread."""
        return RegisterTile(self.family, self.type, self.counts)


def new_tile(
    k: KernelBuilder, type_: Type, base: str, outer: tuple[Size, ...] = ()
) -> RegisterTile:
    """Declare a tile for values of a (resolved) type per thread."""
    family = k.names.fresh(base)
    if isinstance(type_, ScalarType):
        tile = RegisterTile(family, kc.VectorType(type_), (), outer)
    else:
        tile = RegisterTile(
            family, kc.VectorType(element_of(type_)), shape_of(type_), outer
        )
    return _declared(k, tile)


def like(k: KernelBuilder, tile: RegisterTile) -> RegisterTile:
    """Another tile of the same shape."""
    family = k.names.fresh(tile.family.base)
    return _declared(k, RegisterTile(family, tile.type, tile.counts, tile.outer))


def _declared(k: KernelBuilder, tile: RegisterTile) -> RegisterTile:
    with each_register(k, tile.counts) as at:
        k.emit(kc.Declare(tile.at(at)))
    return tile


def resolved(k: KernelBuilder, type_: Type, skipped: int = 0) -> Type:
    """A type with its sizes in build constants, without its outermost dimensions."""
    if isinstance(type_, ScalarType):
        return type_
    shape = k.shape(type_)[skipped:]
    return array_of(element_of(type_), shape)


@contextmanager
def each_register(
    k: KernelBuilder, counts: tuple[Size, ...]
) -> Iterator[tuple[Name, ...]]:
    """Copies of what is emitted inside, without a scope of their own."""
    with ExitStack() as nest:
        names = []
        for count in counts:
            index = nest.enter_context(k.unrolled("r", k.size_value(count)))
            names.append(index.name)
        yield tuple(names)


def move(k: KernelBuilder, target: RegisterTile, value: LoweredValue) -> None:
    """Copy another tile, or the elements of an array, into a tile."""
    if isinstance(value, RegisterTile):
        if value.family == target.family:
            return
        with each_register(k, target.counts) as at:
            k.assign(target.at(at), value.at(at))
    elif isinstance(value, Array):
        with each_register(k, target.counts) as at, k.scope():
            where = tuple(Size.of(name) for name in at)
            k.assign(target.at(at), k.read(value, where))
    else:
        k.assign(target.at(()), value)


def store(k: KernelBuilder, target: Array, tile: RegisterTile) -> None:
    """Write the variables of a tile to memory."""
    with each_register(k, tile.counts) as at, k.scope():
        k.write(target, tuple(Size.of(name) for name in at), tile.at(at))
