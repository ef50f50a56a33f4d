"""Types of values: `i32`, `[][]f32`, and with sizes `[10][20]f32`.

value_type(np.zeros((2, 3), np.float32))   ->  [][]f32
parse_shaped("[10][20]f32")                ->  ShapedType("f32", (10, 20))
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import numpy as np

from minifut.errors import UsageError
from minifut.immutables import immutable

Value: TypeAlias = "np.ndarray[Any, np.dtype[Any]] | np.generic"

DTYPES: dict[str, np.dtype[Any]] = {
    "i8": np.dtype("int8"),
    "i16": np.dtype("int16"),
    "i32": np.dtype("int32"),
    "i64": np.dtype("int64"),
    "u8": np.dtype("uint8"),
    "u16": np.dtype("uint16"),
    "u32": np.dtype("uint32"),
    "u64": np.dtype("uint64"),
    "f16": np.dtype("float16"),
    "f32": np.dtype("float32"),
    "f64": np.dtype("float64"),
    "bool": np.dtype("bool"),
}
ELEMENT_NAMES = {dtype: name for name, dtype in DTYPES.items()}

MAXIMAL_BYTES = 1 << 35
"""No value larger than this is read or made; checked before any allocation."""


@immutable
class ValueType:
    """An element type and a rank, as entry points declare them."""

    element: str
    rank: int

    def __str__(self) -> str:
        return "[]" * self.rank + self.element


@immutable
class ShapedType:
    """An element type and all sizes."""

    element: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return "".join(f"[{n}]" for n in self.shape) + self.element

    @property
    def bytes(self) -> int:
        """How much memory a value of the type takes."""
        total = DTYPES[self.element].itemsize
        for n in self.shape:
            total *= n
        return total


def element_name(dtype: np.dtype[Any]) -> str | None:
    """The Futhark name of a NumPy element type, None where there is none."""
    return ELEMENT_NAMES.get(dtype.newbyteorder("="))


def value_type(value: Value) -> ValueType:
    """The type of a value."""
    name = element_name(value.dtype)
    if name is None:
        raise UsageError(f"NumPy's {value.dtype} is not an element type of Futhark")
    return ValueType(name, value.ndim)


def shaped_type(value: Value) -> ShapedType:
    """The type of a value with its sizes."""
    return ShapedType(value_type(value).element, value.shape)


def as_value(array: Any) -> Value:
    """A value in normal form: C order, native bytes, a NumPy scalar for rank 0."""
    array = np.asarray(array)
    name = element_name(array.dtype)
    if name is None:
        raise UsageError(f"NumPy's {array.dtype} is not an element type of Futhark")
    if array.ndim == 0:
        scalar: Value = DTYPES[name].type(array[()])
        return scalar
    return np.ascontiguousarray(array, DTYPES[name])


_SHAPED = re.compile(r"\s*((?:\[\s*[0-9][0-9_]{0,30}\s*\]\s*)*)([a-z]+[0-9]*)\s*\Z")


def parse_shaped(text: str) -> ShapedType:
    """Read `[10][20]f32` or `i32`; the total size is limited."""
    found = _SHAPED.match(text)
    if found is None or found[2] not in DTYPES:
        raise UsageError(
            f"'{text}' is not the type of a value: write for example i32 or [10]f64"
        )
    sizes = tuple(int(n) for n in re.findall(r"[0-9]+", found[1].replace("_", "")))
    return limited(ShapedType(found[2], sizes))


def limited(type_: ShapedType) -> ShapedType:
    """The type itself, unless its values would be too large to handle."""
    if type_.bytes > MAXIMAL_BYTES or any(n >= 1 << 62 for n in type_.shape):
        raise UsageError(
            f"a value of type {type_} is larger than {MAXIMAL_BYTES >> 30} GiB"
        )
    return type_
