"""How parameters and results of entry points look from outside."""

from __future__ import annotations

from minifut.frontend import syntax, types
from minifut.frontend.elaborate import values
from minifut.frontend.elaborate.values import Value
from minifut.frontend.types import field_key
from minifut.ir.core import EntryType


def name_and_type(
    pattern: syntax.Pattern | None, place: int
) -> tuple[str, syntax.TypeExp | None]:
    """The name of a parameter, and its type as written."""
    written: syntax.TypeExp | None = None
    while pattern is not None:
        match pattern:
            case syntax.AscribedPattern(inner=inner, ascription=ascription):
                written = written or ascription
                pattern = inner
            case (
                syntax.ParensPattern(inner=inner)
                | syntax.AttributedPattern(inner=inner)
            ):
                pattern = inner
            case syntax.NamePattern(name=name):
                return name, written
            case _:
                break
    return f"arg{place}", written


def describe(
    name: str, type_: types.Type, written: syntax.TypeExp | None, leaves: int
) -> EntryType:
    """One parameter or result with this many leaves."""
    unique = types.has_unique(type_)
    core_text = array_text(type_)
    if core_text is not None:
        return EntryType(name, core_text, "array", leaves, unique)
    text = show(type_, written)
    if isinstance(type_, types.Record):
        parts = _parts(type_, written)
        if parts is not None:
            kind = "tuple" if type_.is_tuple else "record"
            return EntryType(name, text, kind, leaves, unique, parts)
    return EntryType(name, text, "opaque", leaves, unique)


def _parts(
    type_: types.Record, written: syntax.TypeExp | None
) -> tuple[EntryType, ...] | None:
    found = []
    inner = dict(_written_fields(written))
    for name, part in type_.fields:
        count = count_leaves(part)
        if count is None:
            return None
        found.append(describe(name, part, inner.get(name), count))
    return tuple(found)


def _written_fields(
    written: syntax.TypeExp | None,
) -> list[tuple[str, syntax.TypeExp]]:
    match written:
        case syntax.TypeParens(inner=inner) | syntax.TypeUnique(inner=inner):
            return _written_fields(inner)
        case syntax.TypeTuple(elements=elements):
            return [(str(i), e) for i, e in enumerate(elements)]
        case syntax.TypeRecord(fields=fields):
            return list(fields)
        case _:
            return []


def count_leaves(type_: types.Type) -> int | None:
    """How many leaves a value of a type has; None where that is not plain."""
    match type_:
        case types.Scalar():
            return 1
        case types.Array(_, element):
            return count_leaves(element)
        case types.Record(fields):
            counts = [count_leaves(part) for _, part in fields]
            return None if None in counts else sum(c for c in counts if c is not None)
        case _:
            return None


def describe_results(
    type_: types.Type, written: syntax.TypeExp | None, value: Value
) -> tuple[EntryType, ...]:
    """A tuple gives several results."""
    if isinstance(type_, types.Record) and type_.is_tuple and type_.fields:
        inner = dict(_written_fields(written))
        return tuple(
            describe(name, part, inner.get(name), len(values.leaves(element)))
            for (name, part), element in zip(
                type_.fields, values.elements(value), strict=True
            )
        )
    return (describe("", type_, written, len(values.leaves(value))),)


def array_text(type_: types.Type) -> str | None:
    """`[][]f32` for scalars and arrays of them, else None."""
    dimensions = 0
    while isinstance(type_, types.Array):
        dimensions += 1
        type_ = type_.element
    if not isinstance(type_, types.Scalar):
        return None
    return "[]" * dimensions + type_.name


def show(type_: types.Type, written: syntax.TypeExp | None) -> str:
    """A type without its sizes, by the name that the program gives it."""
    match written:
        case syntax.TypeParens(inner=inner) | syntax.TypeUnique(inner=inner):
            return show(type_, inner)
        case syntax.TypeRef(name=name) if not isinstance(type_, types.Scalar):
            return str(name)
        case syntax.TypeArray(element=written_element):
            if isinstance(type_, types.Array):
                return "[]" + show(type_.element, written_element)
    return _show_structure(type_, dict(_written_fields(written)))


def _show_structure(type_: types.Type, written: dict[str, syntax.TypeExp]) -> str:
    match type_:
        case types.Array(_, element):
            return "[]" + show(element, None)
        case types.Record(fields):
            parts = [(n, show(t, written.get(n))) for n, t in fields]
            if type_.is_tuple:
                return "(" + ", ".join(text for _, text in parts) + ")"
            parts.sort(key=lambda part: field_key(part[0]))
            return "{" + ", ".join(f"{n}: {text}" for n, text in parts) + "}"
        case types.Sum(constructors):
            return " | ".join(
                " ".join((f"#{c}", *(show(t, None) for t in payload)))
                for c, payload in constructors
            )
        case types.Named(name, _):
            return name.base
        case _:
            return types.show(type_)
