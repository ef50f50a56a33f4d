"""Types of the core: twelve scalars, arrays of scalars with a size per dimension, and
accumulators (see `ir.accumulators`).

    f32   [n][m]f32   [n * m + 1]i64   acc a [k] (f32)

Tuples, records, sums and functions are gone. A dimension is a `Size` (see `ir.sizes`),
so `[n*m]t` from a flatten is known to be just that.
"""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir.node import immutable
from minifut.ir.rounding import rounded
from minifut.ir.sizes import Size
from minifut.names import Name


@immutable
class ScalarType:
    """A scalar: `kind` is "int", "uint", "float" or "bool", `bits` its width."""

    name: str
    kind: str
    bits: int

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def bytes(self) -> int:
        """Size in memory; a bool takes one byte."""
        return max(1, self.bits // 8)

    def nearest(self, number: int | float | bool) -> int | float | bool:
        """The number as a value of this type: floats are rounded, integers wrap.

        f32: 0.1 → 0.10000000149011612, 1e39 → inf;   i8: 255 → -1;   bool: 2 → True
        """
        if self.kind == "float":
            return rounded(float(number), self.bits)
        if self.kind == "bool":
            return bool(number)
        wrapped = int(number) & (1 << self.bits) - 1
        negative = self.kind == "int" and wrapped >> (self.bits - 1)
        return wrapped - (1 << self.bits) if negative else wrapped


I8 = ScalarType("i8", "int", 8)
I16 = ScalarType("i16", "int", 16)
I32 = ScalarType("i32", "int", 32)
I64 = ScalarType("i64", "int", 64)
U8 = ScalarType("u8", "uint", 8)
U16 = ScalarType("u16", "uint", 16)
U32 = ScalarType("u32", "uint", 32)
U64 = ScalarType("u64", "uint", 64)
F16 = ScalarType("f16", "float", 16)
F32 = ScalarType("f32", "float", 32)
F64 = ScalarType("f64", "float", 64)
BOOL = ScalarType("bool", "bool", 1)

INTEGERS = (I8, I16, I32, I64, U8, U16, U32, U64)
FLOATS = (F16, F32, F64)
SCALARS = {t.name: t for t in (*INTEGERS, *FLOATS, BOOL)}


@immutable
class ArrayType:
    """An array of scalars; `shape` has at least one size."""

    element: ScalarType
    shape: tuple[Size, ...]

    def __str__(self) -> str:
        return "".join(f"[{size}]" for size in self.shape) + str(self.element)

    @property
    def rank(self) -> int:
        return len(self.shape)


DataType: TypeAlias = ScalarType | ArrayType


@immutable
class AccType:
    """An accumulator: an index of `shape` takes one value of each of `elements`.

    `root` is the parameter of the `WithAcc` that it began as: the type says which
    accumulator it is, and the type of the root mentions the root itself.
    """

    root: Name
    shape: tuple[Size, ...]
    elements: tuple[DataType, ...]

    def __str__(self) -> str:
        elements = ", ".join(map(str, self.elements))
        return f"acc {self.root} {''.join(f'[{n}]' for n in self.shape)} ({elements})"


Type: TypeAlias = DataType | AccType


def array_of(type_: Type, shape: tuple[Size, ...]) -> Type:
    """`type_` with the dimensions `shape` put in front. An accumulator has none: it is
    the same for all points of a map."""
    if not shape or isinstance(type_, AccType):
        return type_
    if isinstance(type_, ArrayType):
        return ArrayType(type_.element, shape + type_.shape)
    return ArrayType(type_, shape)


def row_type(type_: Type, dimensions: int = 1) -> Type:
    """What is left of an array type without its outermost dimensions; an accumulator
    is its own row."""
    if isinstance(type_, AccType):
        return type_
    assert isinstance(type_, ArrayType) and type_.rank >= dimensions
    rest = type_.shape[dimensions:]
    return ArrayType(type_.element, rest) if rest else type_.element


def element_of(type_: Type) -> ScalarType:
    """The scalar type of an array's elements, or the scalar type itself."""
    assert not isinstance(type_, AccType), f"{type_} has no elements of its own"
    return type_.element if isinstance(type_, ArrayType) else type_


def shape_of(type_: Type) -> tuple[Size, ...]:
    """The shape; empty for a scalar or an accumulator."""
    return type_.shape if isinstance(type_, ArrayType) else ()
