"""Patterns without sizes: what they match and the names they bind.

A pattern is inferred from itself, below an ascription from the ascribed type; the
code that binds it unifies the result with the type of the value.
"""

from __future__ import annotations

from minifut.errors import CompileError, Location, error
from minifut.frontend import syntax
from minifut.frontend.check.environment import plain
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.inference.type_expressions import infer_type
from minifut.frontend.check.messages import quote, refuse_again, source_text
from minifut.frontend.syntax.traverse import binders
from minifut.frontend.types import Record, Scheme, Sum, Type, record, tuple_type
from minifut.names import Name


def infer_pattern(
    state: Inference, pattern: syntax.Pattern, expected: Type | None = None
) -> Type:
    """The type of a pattern; its names are created but not yet in scope."""
    type_ = _infer(state, pattern, expected)
    pattern.type = type_
    return type_


def bind_pattern(state: Inference, pattern: syntax.Pattern) -> None:
    """Bring the names of an inferred pattern into scope."""
    for node in binders(pattern):
        assert node.name_resolved is not None and node.type is not None
        state.scope.bind_value(node.name, node.name_resolved)
        state.types[node.name_resolved] = Scheme((), plain(node.type))


def refuse_repeated(
    patterns: tuple[syntax.Pattern, ...],
    parameters: tuple[syntax.TypeParameter, ...] = (),
) -> None:
    """Each name may be bound only once in what is bound together."""
    seen: dict[str, Location] = {
        p.name: p.location for p in parameters if isinstance(p, syntax.SizeParam)
    }
    for pattern in patterns:
        for node in binders(pattern):
            what = f"Name {quote(node.name)} also bound at"
            refuse_again(seen, node.name, node.location, what)


def parameter_name(pattern: syntax.Pattern) -> Name | None:
    """The name of a parameter that is a single name, perhaps ascribed."""
    while True:
        match pattern:
            case syntax.NamePattern():
                return pattern.name_resolved
            case (
                syntax.ParensPattern(_, inner)
                | syntax.AscribedPattern(_, inner, _)
                | syntax.AttributedPattern(_, _, inner)
            ):
                pattern = inner
            case _:
                return None


def _infer(state: Inference, pattern: syntax.Pattern, expected: Type | None) -> Type:
    match pattern:
        case syntax.ParensPattern(_, inner) | syntax.AttributedPattern(_, _, inner):
            return infer_pattern(state, inner, expected)
        case syntax.NamePattern():
            if pattern.name in ("&&", "||"):
                text = f"The {pattern.name} operator may not be redefined."
                raise error(pattern.location, text, "reserved-name")
            pattern.name_resolved = state.context.names.fresh(pattern.name)
            return state.free(pattern.location) if expected is None else expected
        case syntax.WildcardPattern():
            return state.free(pattern.location) if expected is None else expected
        case syntax.TuplePattern(_, elements):
            return _tuple(state, pattern, elements, expected)
        case syntax.RecordPattern():
            return _record(state, pattern, expected)
        case syntax.AscribedPattern(_, inner, ascription):
            type_, _, _ = infer_type(state, ascription)
            if expected is not None:
                headline = (
                    "Ascribed type does not match outer ascribed type, cannot unify"
                )
                state.unify(pattern.location, type_, expected, headline)
            infer_pattern(state, inner, type_)
            return type_
        case syntax.LiteralPattern(_, literal):
            type_ = state.literal(literal)
            literal.type = type_
            if expected is not None:
                state.unify(pattern.location, expected, type_)
            return type_
        case syntax.ConstructorPattern():
            return _constructor(state, pattern, expected)
    raise AssertionError(pattern)


def _cannot_match(
    state: Inference, pattern: syntax.Pattern, type_: Type
) -> CompileError:
    return error(
        pattern.location,
        f"Pattern\n  {source_text(pattern)}\ncannot match ascribed type\n"
        f"  {state.show(type_)}",
        "pattern-mismatch",
    )


def _tuple(
    state: Inference,
    pattern: syntax.TuplePattern,
    elements: tuple[syntax.Pattern, ...],
    expected: Type | None,
) -> Type:
    if expected is None:
        return tuple_type(tuple(infer_pattern(state, e) for e in elements))
    fields = () if not isinstance(expected, Record) else expected.fields
    if not (isinstance(expected, Record) and expected.is_tuple) or len(fields) != len(
        elements
    ):
        raise _cannot_match(state, pattern, expected)
    for element, (_, type_) in zip(elements, fields, strict=True):
        infer_pattern(state, element, type_)
    return expected


def _record(
    state: Inference, pattern: syntax.RecordPattern, expected: Type | None
) -> Type:
    names = [name for name, _ in pattern.fields]
    for name in names:
        if name.startswith("_"):
            raise error(
                pattern.location,
                "Underscore-prefixed fields are not allowed.\n"
                f"Did you mean {quote(name[1:] + '=_')}?",
                "underscore-use",
            )
    if len(set(names)) != len(names):
        text = f"Duplicate fields in record pattern {source_text(pattern)}."
        raise error(pattern.location, text, "duplicate-definition")
    if expected is None:
        return record({n: infer_pattern(state, p) for n, p in pattern.fields})
    if not isinstance(expected, Record) or dict(expected.fields).keys() != set(names):
        raise _cannot_match(state, pattern, expected)
    fields = dict(expected.fields)
    for name, inner in pattern.fields:
        infer_pattern(state, inner, fields[name])
    return expected


def _constructor(
    state: Inference, pattern: syntax.ConstructorPattern, expected: Type | None
) -> Type:
    if expected is None:
        payload = tuple(infer_pattern(state, a) for a in pattern.arguments)
        return state.with_constructor(pattern.constructor, payload, pattern.location)
    constructors = dict(expected.constructors) if isinstance(expected, Sum) else {}
    types = constructors.get(pattern.constructor)
    if types is None or len(types) != len(pattern.arguments):
        raise _cannot_match(state, pattern, expected)
    for argument, type_ in zip(pattern.arguments, types, strict=True):
        infer_pattern(state, argument, type_)
    return expected
