"""Combining the values of a space: by segment, and tiles into arrays."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from minifut.ir.interpret.arithmetic import NUMPY_TYPES
from minifut.ir.interpret.operations import accumulate, element, fold, size_of_rows

Function = Callable[..., tuple[Any, ...]]
RowTypes = list[tuple[str, tuple[int, ...]]]


def vectorised(function: Function, rank: int) -> Function:
    """The operator on arrays, applied elementwise over their `rank` leading dimensions.

    A segmented operator with a shape combines values of that shape element by element.
    """
    if rank == 0:
        return function

    def apply(*operands: np.ndarray) -> tuple[Any, ...]:
        first = operands[0]
        results = [np.empty_like(o) for o in operands[: len(operands) // 2]]
        for at in product(*(range(n) for n in first.shape[:rank])):
            given = [element(np.asarray(o), at) for o in operands]
            for result, value in zip(results, function(*given), strict=True):
                result[at] = value
        return tuple(results)

    return apply


def _starting(neutral: tuple[Any, ...], types: RowTypes) -> tuple[Any, ...]:
    """Neutral elements as values of the operand types (a scalar fills an array)."""
    values = []
    for value, (name, shape) in zip(neutral, types, strict=True):
        if shape:
            filled = np.empty(shape, NUMPY_TYPES[name])
            filled[...] = value
            values.append(filled)
        else:
            values.append(value)
    return tuple(values)


def fold_segments(
    function: Function,
    neutral: tuple[Any, ...],
    columns: list[list[Any]],
    outer: tuple[int, ...],
    inner: int,
    rank: int,
    types: RowTypes,
) -> tuple[Any, ...]:
    """Reduce every run of `inner` values; arrays of shape `outer`, or plain values."""
    operator = vectorised(function, rank)
    start = _starting(neutral, types)
    rows = [
        fold(operator, start, [c[s * inner : (s + 1) * inner] for c in columns])
        for s in range(int(np.prod(outer, dtype=np.int64)))
    ]
    if not outer:
        return rows[0]
    return tuple(
        _array([row[i] for row in rows], outer, name, shape)
        for i, (name, shape) in enumerate(types)
    )


def scan_segments(
    function: Function,
    neutral: tuple[Any, ...],
    columns: list[list[Any]],
    outer: tuple[int, ...],
    inner: int,
    rank: int,
    types: RowTypes,
) -> tuple[Any, ...]:
    """Scan every run of `inner` values; arrays over the whole space."""
    operator = vectorised(function, rank)
    start = _starting(neutral, types)
    results: list[list[Any]] = [[] for _ in types]
    for s in range(int(np.prod(outer, dtype=np.int64))):
        part = [column[s * inner : (s + 1) * inner] for column in columns]
        scanned = accumulate(operator, start, part)
        for result, values in zip(results, scanned, strict=True):
            result.extend(values)
    return tuple(
        _array(values, (*outer, inner), name, shape)
        for values, (name, shape) in zip(results, types, strict=True)
    )


def _array(
    values: list[Any], outer: tuple[int, ...], name: str, shape: tuple[int, ...]
) -> np.ndarray:
    rows = size_of_rows(shape)
    made = np.empty((len(values), *rows), NUMPY_TYPES[name])
    for i, value in enumerate(values):
        made[i] = value
    return made.reshape(outer + rows)


def collective_copy(
    array: np.ndarray, parts: tuple[int | tuple[int, int, int], ...]
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
    totals: tuple[int, ...],
    sizes: tuple[int, ...],
    name: str,
) -> np.ndarray:
    """Put the tile of every group at its place; what lies beyond the total is lost."""
    made = np.zeros(totals, NUMPY_TYPES[name])
    for tile, at in zip(tiles, product(*(range(n) for n in space)), strict=True):
        where = tuple(
            slice(min(i * s, t), min((i + 1) * s, t))
            for i, s, t in zip(at, sizes, totals, strict=True)
        )
        shape = made[where].shape
        whole = np.asarray(tile).reshape(sizes)
        made[where] = whole[tuple(slice(0, n) for n in shape)]
    return made


def assemble_register_tiles(
    tiles: list[np.ndarray],
    space: tuple[int, ...],
    totals: tuple[int, ...],
    blocks: tuple[int, ...],
    registers: tuple[int, ...],
    name: str,
) -> np.ndarray:
    """Each group returns block x register tiles, thread dimensions first: a tile of
    block * register elements per dimension, laid out block by block."""
    rank = len(totals)
    order = [axis for i in range(rank) for axis in (i, rank + i)]
    sizes = tuple(b * r for b, r in zip(blocks, registers, strict=True))
    full = [np.asarray(t).reshape(blocks + registers) for t in tiles]
    flat = [tile.transpose(order).reshape(sizes) for tile in full]
    return assemble_tiles(flat, space, totals, sizes, name)


EXPORTS: dict[str, Any] = {
    "vectorised": vectorised,
    "fold_segments": fold_segments,
    "scan_segments": scan_segments,
    "collective_copy": collective_copy,
    "assemble_tiles": assemble_tiles,
    "assemble_register_tiles": assemble_register_tiles,
}
