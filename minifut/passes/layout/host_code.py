"""Properties of host code for the plan: the bodies within an expression, and in
which orders a slice lies if its array lies in some."""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Body


def kept_orders(
    slice_: tuple[core.Atom | core.DimSlice, ...], lies: tuple[int, ...]
) -> tuple[int, ...]:
    """The orders of a slice: those whose innermost dimension it keeps."""
    kept: dict[int, int] = {}
    rank = max((*lies, len(slice_) - 1)) + 1
    for dimension in range(rank):
        entry = slice_[dimension] if dimension < len(slice_) else None
        if entry is None or isinstance(entry, core.DimSlice):
            kept[dimension] = len(kept)
    return tuple(kept[d] for d in lies if d in kept)


def bodies_of(exp: object) -> tuple[Body, ...]:
    """The bodies of the host within an expression."""
    match exp:
        case core.If(_, then, otherwise):
            return then, otherwise
        case core.Match(_, cases, default):
            return (*[case.body for case in cases], default)
        case core.Loop(body=body):
            return (body,)
    return ()
