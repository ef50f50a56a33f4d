"""The layout orders of a slice of an array that has some."""

from __future__ import annotations

from minifut.ir import core


def kept_orders(
    slice_: tuple[core.Atom | core.DimSlice, ...], orders: tuple[int, ...]
) -> tuple[int, ...]:
    """The orders of a slice: those whose innermost dimension it keeps."""
    kept: dict[int, int] = {}
    rank = max((*orders, len(slice_) - 1)) + 1
    for dimension in range(rank):
        entry = slice_[dimension] if dimension < len(slice_) else None
        if entry is None or isinstance(entry, core.DimSlice):
            kept[dimension] = len(kept)
    return tuple(kept[d] for d in orders if d in kept)
