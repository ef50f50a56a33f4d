"""How parameters and results of entry points appear from outside."""

from __future__ import annotations

from minifut.frontend import syntax, types
from minifut.frontend.elaborate import static_types, values
from minifut.frontend.elaborate.values import Value
from minifut.frontend.types import field_key
from minifut.ir.entries import EntryType


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
    name: str,
    type_: types.Type,
    static: static_types.Static,
    written: syntax.TypeExp | None,
) -> EntryType:
    """One parameter or result; `static` is what its type is inside the program."""
    unique, leaves = types.has_unique(type_), len(static_types.leaf_types(static))
    core_text = array_text(type_)
    if core_text is not None:
        return EntryType(name, core_text, "array", leaves, unique)
    text = show(type_, written)
    kind, parts = _parts(type_, static, written)
    return EntryType(name, text, kind, leaves, unique, parts)


def _parts(
    type_: types.Type, static: static_types.Static, written: syntax.TypeExp | None
) -> tuple[str, tuple[EntryType, ...]]:
    """The kind of what is no array of scalars, and its components."""
    match type_, static:
        case types.Record(fields), static_types.StaticRecord():
            inner, own = dict(_written_fields(written)), dict(static.fields)
            kind = "tuple" if type_.is_tuple else "record"
            return kind, tuple(
                describe(name, part, own[name], inner.get(name))
                for name, part in fields
            )
        case types.Array(_, element), static_types.StaticArray():
            part = describe("", element, static.element, _written_element(written))
            if part.kind != "opaque":
                return "array_of", (part,)
        case types.Sum(constructors), static_types.StaticSum():
            return "sum", _constructors(constructors, static)
    return "opaque", ()


def _constructors(
    constructors: tuple[tuple[str, tuple[types.Type, ...]], ...],
    static: static_types.StaticSum,
) -> tuple[EntryType, ...]:
    """What a sum is one of: the payload, and which leaves of the sum it has."""
    _, uses = static_types.slot_types(static)
    own = dict(static.constructors)
    found = []
    for name, payload in constructors:
        parts = tuple(
            describe(str(i), part, inner, None)
            for i, (part, inner) in enumerate(zip(payload, own[name], strict=True))
        )
        slots = tuple(1 + slot for slot in uses[name])
        text = " ".join((f"#{name}", *(part.text for part in parts)))
        found.append(
            EntryType(name, text, "constructor", len(slots), False, parts, slots)
        )
    return tuple(found)


def _written_element(written: syntax.TypeExp | None) -> syntax.TypeExp | None:
    match written:
        case syntax.TypeParens(inner=inner) | syntax.TypeUnique(inner=inner):
            return _written_element(inner)
        case syntax.TypeArray(element=element):
            return element
        case _:
            return None


def _written_fields(written: syntax.TypeExp | None) -> list[tuple[str, syntax.TypeExp]]:
    match written:
        case syntax.TypeParens(inner=inner) | syntax.TypeUnique(inner=inner):
            return _written_fields(inner)
        case syntax.TypeTuple(elements=elements):
            return [(str(i), e) for i, e in enumerate(elements)]
        case syntax.TypeRecord(fields=fields):
            return list(fields)
        case _:
            return []


def describe_results(
    type_: types.Type, written: syntax.TypeExp | None, value: Value
) -> tuple[EntryType, ...]:
    """A tuple gives several results."""
    if isinstance(type_, types.Record) and type_.is_tuple and type_.fields:
        inner = dict(_written_fields(written))
        return tuple(
            describe(name, part, static_types.static_of(element), inner.get(name))
            for (name, part), element in zip(
                type_.fields, values.elements(value), strict=True
            )
        )
    return (describe("", type_, static_types.static_of(value), written),)


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
        case types.Scalar() | types.Arrow() | types.Meta():
            return types.show(type_)
