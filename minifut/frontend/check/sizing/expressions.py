"""Sizes of the simple expressions.

`size` dispatches on the kind of node, gives its type with sizes and notes it in the
node, together with the unknown sizes that come into being there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minifut.errors import Location
from minifut.frontend import syntax, types
from minifut.frontend.check.environment import plain
from minifut.frontend.check.inference.type_expressions import to_size
from minifut.frontend.check.messages import Mismatch, quote
from minifut.frontend.check.mismatches import (
    BRANCHES,
    EXPECTED,
    FORMER,
    from_annotation,
    size_mismatch,
)
from minifut.frontend.check.size_terms import arithmetic, has_binding
from minifut.frontend.check.sizing.pairwise import match_sizes
from minifut.frontend.check.sizing.state import Sizing, is_constant
from minifut.frontend.check.sizing.type_expressions import size_type
from minifut.frontend.check.sizing.unify import join, unify
from minifut.frontend.check.sizing.unknowns import Usage
from minifut.frontend.check.witnesses import free_sizes
from minifut.frontend.types import Type
from minifut.names import Name

BINDING_WARNING = "Size expression with binding is replaced by unknown size."


def size(state: Sizing, node: syntax.Exp) -> Type:
    """The sized type of an expression, noted in the node."""
    type_ = RULES[type(node)](state, node)
    node.type = type_
    state.unfinished.nodes.append(node)
    return type_


def expect(
    state: Sizing,
    location: Location,
    purpose: str,
    wanted: Type,
    found: Type,
    headline: str,
    labels: tuple[str, str] = EXPECTED,
) -> None:
    """Unify sizes; the message of a failure has a headline with both types."""
    try:
        unify(state, Usage(purpose, location), wanted, found)
    except Mismatch as fault:
        raise size_mismatch(
            state, location, fault, headline, wanted, found, labels
        ) from None


def as_size(state: Sizing, node: syntax.Exp) -> types.Size:
    """The size that an (already sized) expression denotes."""
    return state.normal(to_size(state.inference, node))


def _as_inferred(state: Sizing, node: syntax.Exp) -> Type:
    assert node.type is not None
    return state.inference.finish(node.type)


def _variable(state: Sizing, node: syntax.Var) -> Type:
    assert node.name_resolved is not None
    return project(state.value_type(node.name_resolved, node), node.fields)


def project(type_: Type, fields: tuple[str, ...]) -> Type:
    for field in fields:
        assert isinstance(type_, types.Record)
        type_ = dict(type_.fields)[field]
    return type_


def _array(state: Sizing, node: syntax.ArrayExp) -> Type:
    assert node.type is not None
    count = types.SizeConst(len(node.elements))
    if not node.elements:
        assert isinstance(node.type, types.Array)
        return types.Array(count, state.inferred(node.type.element, node.location))
    first = size(state, node.elements[0])
    for other in node.elements[1:]:
        found = size(state, other)
        if found is not first:
            expect(
                state,
                other.location,
                "type of first array element",
                first,
                found,
                "The elements of an array must have one type and size.",
                ("First", "Here"),
            )
    return types.Array(count, first)


def _range(state: Sizing, node: syntax.RangeExp) -> Type:
    start = size(state, node.start)
    if node.second is not None:
        size(state, node.second)
        _warn_if_equal(state, node)
    end = size(state, node.end)
    known = None
    if end == types.I64:
        known = _range_size(state, node)
    if known is not None and not (has_binding(node.end) or has_binding(node.start)):
        return types.Array(known, start)
    if known is not None:
        state.context.warn(node.end.location, BINDING_WARNING)
    name = state.unknown(node.location, "the unknown length of range", "range_dim")
    node.exts = (name,)
    return types.Array(types.SizeVar(name), start)


def _warn_if_equal(state: Sizing, node: syntax.RangeExp) -> None:
    match node.start, node.second:
        case syntax.Literal(_, one), syntax.Literal(_, other) if one == other:
            pass
        case syntax.Var(), syntax.Var() if (
            node.start.name_resolved == node.second.name_resolved
        ):
            pass
        case _:
            return
    state.context.warn(
        node.location,
        "First and second element of range are identical, this will produce an empty "
        "array.",
    )


def _range_size(state: Sizing, node: syntax.RangeExp) -> types.Size | None:
    """The size of `a..<b`, `a...b`, `0..1..<n` and `1..2...n`, if it is one of them."""
    start, end = as_size(state, node.start), as_size(state, node.end)
    second = None if node.second is None else as_size(state, node.second)
    by_one = second is None or is_constant(second, 1)
    if node.kind == "..<" and is_constant(start, 0) and by_one:
        return end
    if second is None and node.kind == "..<":
        return arithmetic("-", end, start)
    if second is None and node.kind == "...":
        return arithmetic("+", arithmetic("-", end, start), types.SizeConst(1))
    if node.kind == "..." and is_constant(start, 1) and is_constant(second, 2):
        return end
    return None


def _if(state: Sizing, node: syntax.If) -> Type:
    size(state, node.condition)
    then = size(state, node.then)
    otherwise = size(state, node.otherwise)
    type_, node.exts = join_branches(
        state, [(node.location, then), (node.otherwise.location, otherwise)]
    )
    return type_


def join_branches(
    state: Sizing, branches: Sequence[tuple[Location, Type]]
) -> tuple[Type, tuple[Name, ...]]:
    """The type of all branches, joined from the last to the first, and the sizes that
    are unknown because they differ."""
    _, joined = branches[-1]
    made: list[Name] = []
    for location, former in reversed(branches[:-1]):
        usage = Usage("unification of branch results", location)
        try:
            joined, exts = join(state, usage, former, joined)
        except Mismatch as fault:
            raise size_mismatch(
                state, location, fault, BRANCHES, former, joined, FORMER
            ) from None
        made += exts
    free = free_sizes(joined) if made else set()
    return joined, tuple(name for name in made if name in free)


def _constructor(state: Sizing, node: syntax.Constructor) -> Type:
    assert node.type is not None
    type_ = state.inferred(node.type, node.location, "^")
    arguments = [size(state, a) for a in node.arguments]
    assert isinstance(type_, types.Sum)
    payload = dict(type_.constructors)[node.name]
    for wanted, found, argument in zip(payload, arguments, node.arguments, strict=True):
        expect(
            state,
            argument.location,
            "inferred variant",
            wanted,
            found,
            f"Wrong payload of constructor #{node.name}.",
        )
    return type_


def _ascription(state: Sizing, node: syntax.Ascription) -> Type:
    wanted, _ = size_type(state, node.ascription)
    found = size(state, node.value)
    expect(
        state,
        node.value.location,
        "type ascription",
        plain(wanted),
        found,
        from_annotation("explicit ascription"),
    )
    return plain(wanted)


def _coercion(state: Sizing, node: syntax.Coercion) -> Type:
    wanted, anonymous = size_type(state, node.target)
    wanted = plain(wanted)
    found = size(state, node.value)

    def loosen(target: types.Size) -> types.Size:
        if target in anonymous:
            return target
        purpose = (
            "a size coercion where the underlying expression size cannot be determined"
        )
        return state.fresh(node.location, purpose, "coerce")

    loose = types.map_type(wanted, lambda _: None, loosen)
    expect(
        state,
        node.value.location,
        "size coercion",
        found,
        loose,
        from_annotation("explicit ascription"),
        EXPECTED[::-1],
    )
    return match_sizes(wanted, state.normal_type(found), lambda target, _: target)


def _assert(state: Sizing, node: syntax.Assert) -> Type:
    size(state, node.condition)
    return size(state, node.value)


def update_fields(
    state: Sizing,
    location: Location,
    fields: tuple[str, ...],
    value: Type,
    whole: Type,
    seen: tuple[str, ...] = (),
) -> Type:
    """The type of a record in which a field has got a new value."""
    if not fields:
        old = state.freshen(whole, location, base="any")
        expect(
            state,
            location,
            "record update",
            old,
            value,
            f"Type mismatch when updating record field {quote('.'.join(seen))}.",
            ("Existing", "New"),
        )
        return value
    assert isinstance(whole, types.Record)
    parts = dict(whole.fields)
    first = fields[0]
    parts[first] = update_fields(
        state, location, fields[1:], value, parts[first], (*seen, first)
    )
    return types.record(parts)


def arrow(argument: Type, result: Type, exts: tuple[Name, ...] = ()) -> Type:
    """A function type without a named parameter."""
    return types.Arrow(None, argument, result, exts)


RULES: dict[type, Callable[[Sizing, Any], Type]] = {
    syntax.Literal: _as_inferred,
    syntax.StringLiteral: lambda _, e: e.type,
    syntax.Hole: lambda s, e: s.inferred(e.type, e.location, "^"),
    syntax.Var: _variable,
    syntax.Project: lambda s, e: project(size(s, e.record), (e.field,)),
    syntax.Parens: lambda s, e: size(s, e.inner),
    syntax.QualParens: lambda s, e: size(s, e.inner),
    syntax.TupleExp: lambda s, e: types.tuple_type(
        tuple(size(s, x) for x in e.elements)
    ),
    syntax.RecordExp: lambda s, e: types.record(
        {f.name: size(s, f.value) for f in e.fields}
    ),
    syntax.ArrayExp: _array,
    syntax.RangeExp: _range,
    syntax.Negate: lambda s, e: size(s, e.operand),
    syntax.Not: lambda s, e: size(s, e.operand),
    syntax.If: _if,
    syntax.Constructor: _constructor,
    syntax.Ascription: _ascription,
    syntax.Coercion: _coercion,
    syntax.Assert: _assert,
    syntax.Attributed: lambda s, e: size(s, e.value),
}
