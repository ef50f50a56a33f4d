"""What the translated text calls: arrays, failures, folds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minifut.errors import ProgramError
from minifut.ir.interpret.arithmetic import NUMPY_TYPES


class TooManySteps(Exception):
    """The interpreter has used up the steps that it was given."""


class Steps:
    """A budget: one step for a round of a loop or for a point of a SOAC."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def take(self, count: int) -> None:
        """Use some. Raises `TooManySteps` when there are none left."""
        self.left -= count
        if self.left < 0:
            raise TooManySteps

    def take_lanes(self, count: int) -> None:
        """Use what evaluating so many points at once amounts to."""
        self.take(STEPS_OF_LANES + count // LANES_OF_A_STEP)


STEPS_OF_LANES, LANES_OF_A_STEP = 4, 64


def fail(
    message: tuple[Any, ...], values: tuple[Any, ...], backtrace: tuple[str, ...]
) -> None:
    """Raise the failure of an `Assert`, its atoms replaced by their values."""
    rest = iter(values)
    parts = [part if isinstance(part, str) else show(next(rest)) for part in message]
    raise ProgramError("".join(parts), backtrace)


def show(value: Any) -> str:
    """A scalar in a message."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return str(value)


def trace(label: str, value: Any) -> Any:
    """Print a traced value on stderr, and return it."""
    print(f"{label}: {show(value)}", file=sys.stderr)
    return value


def stretch(start: int, length: int, stride: int) -> slice:
    """start, start + stride, ... as a NumPy slice."""
    if length <= 0:
        return slice(0, 0)
    stop = start + length * stride
    return slice(start, stop if stop >= 0 else None, stride)


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise ProgramError(f"an array of negative size: {tuple(shape)}")
    return tuple(shape)


def iota(length: int, start: int, stride: int, element: str) -> np.ndarray:
    """start, start + stride, ... wrapping as the element type does."""
    (length,) = _shape((length,))
    numbers = np.arange(length, dtype=np.uint64)
    with np.errstate(over="ignore"):
        wide = numbers * np.array(stride % 2**64, np.uint64)
        wide = wide + np.array(start % 2**64, np.uint64)
    return wide.astype(NUMPY_TYPES[element])


def replicate(shape: tuple[int, ...], value: Any, element: str) -> np.ndarray:
    """An array with the value at every index."""
    inner = value.shape if isinstance(value, np.ndarray) else ()
    made = np.empty(_shape(shape) + inner, NUMPY_TYPES[element])
    made[...] = value
    return made


def scratch(shape: tuple[int, ...], element: str) -> np.ndarray:
    """An array with unspecified contents (zeros here, so that runs repeat)."""
    return np.zeros(_shape(shape), NUMPY_TYPES[element])


def literal(
    rows: tuple[Any, ...], row_shape: tuple[int, ...], element: str
) -> np.ndarray:
    """An array of the given rows."""
    made = np.empty((len(rows), *row_shape), NUMPY_TYPES[element])
    for i, row in enumerate(rows):
        made[i] = row
    return made


def concat(arrays: tuple[np.ndarray, ...], dimension: int) -> np.ndarray:
    """The arrays joined."""
    return np.concatenate(arrays, dimension)


def rows_of(array: np.ndarray) -> list[Any]:
    """The elements along the first dimension, scalars as Python numbers."""
    return array.tolist() if array.ndim == 1 else list(array)


def stack(
    values: list[Any], width: int, row_shape: tuple[int, ...], element: str
) -> np.ndarray:
    """Results per point as one array."""
    made = np.empty((width, *size_of_rows(row_shape)), NUMPY_TYPES[element])
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
    function: Callable[..., tuple[Any, ...]],
    neutral: tuple[Any, ...],
    columns: list[list[Any]],
) -> tuple[Any, ...]:
    """Reduce rows of operands, from the left, starting from the neutral element."""
    accumulator = neutral
    for row in zip(*columns, strict=True):
        accumulator = function(*accumulator, *row)
    return accumulator


def accumulate(
    function: Callable[..., tuple[Any, ...]],
    neutral: tuple[Any, ...],
    columns: list[list[Any]],
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


def check_lanes(
    condition: Any,
    count: int,
    message: tuple[Any, ...],
    values: tuple[Any, ...],
    backtrace: tuple[str, ...],
) -> None:
    """An `Assert` for all points at once: fails with the values of the first point
    where it does not hold."""
    holds = np.broadcast_to(np.asarray(condition), (count,))
    if not holds.all():
        first = int(np.argmin(holds))
        at = [np.broadcast_to(np.asarray(v), (count,))[first].item() for v in values]
        fail(message, tuple(at), backtrace)


def spread(value: Any, count: int, element: str) -> np.ndarray:
    """A value in lanes (or the same for all points) as an array of its own."""
    return np.array(np.broadcast_to(value, (count,)), NUMPY_TYPES[element])


def whole(part: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    """A slice, if all of it was there: NumPy leaves out what is out of bounds."""
    if part.shape[: len(lengths)] != lengths:
        raise IndexError(f"slice out of bounds: {part.shape} elements of {lengths}")
    return part


class Accumulator:
    """What an accumulator is when it runs: copies of its arrays, updated in place."""

    def __init__(
        self,
        arrays: Sequence[np.ndarray],
        rank: int,
        operator: Callable[..., tuple[Any, ...]] | None,
    ) -> None:
        self.arrays = tuple(array.copy() for array in arrays)
        self.rank = rank
        self.operator = operator

    def update(self, indices: tuple[int, ...], values: tuple[Any, ...]) -> Accumulator:
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


EXPORTS: dict[str, Any] = {
    "np": np,
    "getrefcount": sys.getrefcount,
    "fail": fail,
    "trace": trace,
    "stretch": stretch,
    "iota": iota,
    "replicate": replicate,
    "scratch": scratch,
    "literal": literal,
    "concat": concat,
    "rows_of": rows_of,
    "stack": stack,
    "fold": fold,
    "accumulate": accumulate,
    "fold_ufunc": fold_ufunc,
    "accumulate_ufunc": accumulate_ufunc,
    "inside": inside,
    "check_lanes": check_lanes,
    "spread": spread,
    "whole": whole,
    "Accumulator": Accumulator,
    "element": element,
}
