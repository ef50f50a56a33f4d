"""What the verifier requires of operands that several expressions have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.ir.core import Atom, DimSlice
from minifut.ir.sizes import Size
from minifut.ir.types import I64, AccType, Type, array_of, row_type
from minifut.ir.typing import sliced_shape
from minifut.ir.verify import Verifier, require
from minifut.names import Name


def check_atom(v: Verifier, atom: Atom, type_: Type, what: str) -> None:
    v.same(type_, v.atom(atom), what)


def check_slice(v: Verifier, array: Name, slice_: tuple[Atom | DimSlice, ...]) -> Type:
    """The type of a slice of an array."""
    type_ = v.array(array)
    require(len(slice_) <= type_.rank, f"{array} has {type_.rank} dimensions")
    for part in slice_:
        if isinstance(part, DimSlice):
            check_atom(v, part.start, I64, "the start of a slice")
            check_atom(v, part.stride, I64, "the stride of a slice")
            v.size(part.length)
        else:
            check_atom(v, part, I64, f"an index of {array}")
    return array_of(type_.element, sliced_shape(type_.shape, slice_))


def check_rows(v: Verifier, arrays: Iterable[Name], width: Size) -> list[Type]:
    rows = []
    for array in arrays:
        if isinstance(v.atom(array), AccType):
            rows.append(v.atom(array))
            continue
        type_ = v.array(array)
        require(
            v.same_size(type_.shape[0], width),
            f"{array} has outer size {type_.shape[0]}, not {width}",
        )
        rows.append(row_type(type_))
    return rows


def check_fold(v: Verifier, fold: Any, values: list[Type]) -> list[Type]:
    """Check an operator with its neutral element; the types it folds."""
    types = v.types(fold.neutral)
    v.lambda_(fold.operator, types * 2, "the operator")
    v.same_types(types, fold.operator.results, "the operator gives")
    v.same_types(
        [array_of(t, getattr(fold, "shape", ())) for t in types],
        values[: len(types)],
        "operands of the operator",
    )
    return types


def check_bins(
    v: Verifier, operators: Any, results: list[Type], segments: tuple[Size, ...]
) -> None:
    bins = sum(len(operator.shape) for operator in operators)
    v.same_types([I64] * bins, results[:bins], "the bins")
    values = results[bins:]
    for operator in operators:
        types = v.types(operator.neutral)
        vector = getattr(operator, "vector", ())
        v.lambda_(operator.operator, types * 2, "the operator")
        v.same_types(types, operator.operator.results, "the operator gives")
        full = [array_of(type_, vector) for type_ in types]
        v.same_types(full, values[: len(types)], "the values")
        values = values[len(types) :]
        wanted = [array_of(type_, segments + operator.shape) for type_ in full]
        v.same_types(wanted, v.types(operator.destinations), "the destinations")
    require(not values, "more values than operators take")
