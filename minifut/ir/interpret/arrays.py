"""Operations on arrays: making, slicing, folding them, assembling them from tiles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NoReturn

import numpy as np

from minifut.errors import ProgramError

ArrayFunction = Callable[..., list[Any]]


def fail(parts: Iterable[Any], backtrace: tuple[str, ...]) -> NoReturn:
    """Raise the failure of an `Assert`, its atoms replaced by their values."""
    raise ProgramError("".join(map(show, parts)), backtrace)


def show(value: Any) -> str:
    """A part of a message: a text, or a scalar."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return str(value)


def trace(label: str, value: Any) -> Any:
    """Print a traced value on stderr, and return it."""
    print(f"{label}: {show(value)}", file=sys.stderr)
    return value


def numpy_index(part: int | tuple[int, int, int]) -> int | slice:
    """A part of an index; of a slice start, length and stride are given."""
    if not isinstance(part, tuple):
        return part
    start, length, stride = part
    if length <= 0:
        return slice(0, 0)
    stop = start + length * stride
    return slice(start, stop if stop >= 0 else None, stride)


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise ProgramError(f"an array of negative size: {tuple(shape)}")
    return tuple(shape)


def iota(start: int, length: int, stride: int, element: np.dtype) -> np.ndarray:
    """start, start + stride, ... wrapping as the element type does."""
    (length,) = _shape((length,))
    numbers = np.arange(length, dtype=np.uint64)
    with np.errstate(over="ignore"):
        wide = numbers * np.array(stride % 2**64, np.uint64)
        wide = wide + np.array(start % 2**64, np.uint64)
    return wide.astype(element)


def replicate(shape: tuple[int, ...], value: Any, element: np.dtype) -> np.ndarray:
    """An array with the value at every index."""
    inner = value.shape if isinstance(value, np.ndarray) else ()
    made = np.empty(_shape(shape) + inner, element)
    made[...] = value
    return made


def rows_of(array: np.ndarray) -> list[Any]:
    """The elements along the first dimension, scalars as Python numbers."""
    return array.tolist() if array.ndim == 1 else list(array)


def stack(
    values: list[Any], width: int, row_shape: tuple[int, ...], element: np.dtype
) -> np.ndarray:
    """Results per point as one array."""
    made = np.empty((width, *size_of_rows(row_shape)), element)
    if row_shape:
        for i, value in enumerate(values):
            made[i] = value
    elif values:
        made[:] = values
    return made


def size_of_rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of rows: sizes may be negative where there is no point that would have
    made a row."""
    return tuple(max(0, size) for size in shape)


def fold(
    function: ArrayFunction, neutral: list[Any], columns: list[list[Any]]
) -> list[Any]:
    """Reduce rows of operands, from the left, starting from the neutral element."""
    accumulator = neutral
    for row in zip(*columns, strict=True):
        accumulator = function(*accumulator, *row)
    return accumulator


def accumulate(
    function: ArrayFunction, neutral: list[Any], columns: list[list[Any]]
) -> list[list[Any]]:
    """All partial results of `fold`, column by column."""
    accumulator = neutral
    results: list[list[Any]] = [[] for _ in neutral]
    for row in zip(*columns, strict=True):
        accumulator = function(*accumulator, *row)
        for column, value in zip(results, accumulator, strict=True):
            column.append(value)
    return results


def fold_ufunc(ufunc: Any, neutral: Any, values: np.ndarray) -> Any:
    """Reduce an array with a ufunc, in the array's own type."""
    if not values.size:
        return neutral
    with np.errstate(all="ignore"):
        folded = ufunc.reduce(values, dtype=values.dtype)
        return ufunc(values.dtype.type(neutral), values.dtype.type(folded)).item()


def accumulate_ufunc(ufunc: Any, neutral: Any, values: np.ndarray) -> np.ndarray:
    """Scan an array with a ufunc, in the array's own type."""
    type_ = values.dtype
    chosen = {} if type_ == np.bool_ else {"dtype": type_}
    with np.errstate(all="ignore"):
        # The neutral element takes part: it is the least number before a NaN.
        started = np.concatenate([np.array([neutral], type_), values])
        return np.asarray(ufunc.accumulate(started, **chosen)[1:], type_)


def whole(part: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    """A slice, if all of it was there: NumPy leaves out what is out of bounds."""
    if part.shape[: len(lengths)] != lengths:
        raise IndexError(f"slice out of bounds: {part.shape} elements of {lengths}")
    return part


class AccValue:
    """What an accumulator is when it runs: copies of its arrays, updated in place."""

    def __init__(
        self, arrays: Sequence[np.ndarray], rank: int, operator: ArrayFunction | None
    ) -> None:
        self.arrays = tuple(array.copy() for array in arrays)
        self.rank = rank
        self.operator = operator

    def update(self, indices: tuple[int, ...], values: list[Any]) -> AccValue:
        """Combine what is at an index with the values, if there is such an index."""
        if inside(indices, self.arrays[0].shape[: self.rank]):
            if self.operator is not None:
                old = (element(array, indices) for array in self.arrays)
                values = self.operator(*old, *values)
            for array, value in zip(self.arrays, values, strict=True):
                array[indices] = value
        return self


def element(array: np.ndarray, at: tuple[int, ...]) -> Any:
    """The element (a Python number) or row at an index."""
    return array.item(*at) if array.ndim == len(at) else array[at].copy()


def inside(indices: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Are the indices in bounds?"""
    return all(0 <= i < n for i, n in zip(indices, shape, strict=True))


# --- segments and tiles -----------------------------------------------------------


def vectorised(function: ArrayFunction, rank: int) -> ArrayFunction:
    """The operator on arrays, applied elementwise over their `rank` leading dimensions.

    A segmented operator with a shape combines values of that shape element by element.
    """
    if rank == 0:
        return function

    def apply(*operands: np.ndarray) -> list[Any]:
        first = operands[0]
        results = [np.empty_like(o) for o in operands[: len(operands) // 2]]
        for at in product(*(range(n) for n in first.shape[:rank])):
            given = [element(np.asarray(o), at) for o in operands]
            for result, value in zip(results, function(*given), strict=True):
                result[at] = value
        return results

    return apply


def collective_copy(
    array: np.ndarray, parts: Sequence[int | tuple[int, int, int]]
) -> Any:
    """A slice whose positions are clamped to the array; zeros if it is empty."""
    full = (*parts, *((0, n, 1) for n in array.shape[len(parts) :]))
    wanted = [
        start + stride * np.arange(length)
        for start, length, stride in (
            p if isinstance(p, tuple) else (p, 1, 1) for p in full
        )
    ]
    shape = tuple(p[1] for p in full if isinstance(p, tuple))
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    clamped = [w.clip(0, n - 1) for w, n in zip(wanted, array.shape, strict=True)]
    copied = array[np.ix_(*clamped)].reshape(shape)
    return copied if shape else copied.item()


def assemble_tiles(
    tiles: list[np.ndarray],
    space: tuple[int, ...],
    element: np.dtype,
    totals: tuple[int, ...],
    blocks: tuple[int, ...],
    registers: tuple[int, ...] | None = None,
) -> np.ndarray:
    """Put the tile of every group at its place; what is beyond the total is lost.

    With `registers`, a group returns block x register tiles, thread dimensions first: a
    tile of block * register elements per dimension, laid out block by block.
    """
    rank = len(totals)
    registers = registers or (1,) * rank
    order = [axis for i in range(rank) for axis in (i, rank + i)]
    sizes = tuple(b * r for b, r in zip(blocks, registers, strict=True))
    made = np.zeros(totals, element)
    for tile, at in zip(tiles, product(*(range(n) for n in space)), strict=True):
        where = tuple(
            slice(min(i * s, t), min((i + 1) * s, t))
            for i, s, t in zip(at, sizes, totals, strict=True)
        )
        full = np.asarray(tile).reshape(blocks + registers)
        whole = full.transpose(order).reshape(sizes)
        made[where] = whole[tuple(slice(0, n) for n in made[where].shape)]
    return made
