"""Sizes of patterns."""

from __future__ import annotations

from collections.abc import Mapping

from minifut.errors import error
from minifut.frontend import syntax, types
from minifut.frontend.check.environment import plain
from minifut.frontend.check.messages import quote, source_text
from minifut.frontend.check.sizing.expressions import expect
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.type_expressions import size_type
from minifut.frontend.check.witnesses import free_sizes, must_be_explicit
from minifut.frontend.syntax.traverse import binders, sub_patterns
from minifut.frontend.types import Type
from minifut.names import Name


def size_pattern(
    state: Sizing,
    pattern: syntax.Pattern,
    given: Type | None,
    sizes: Mapping[Name, types.SizeMeta] | None = None,
) -> Type:
    """The sized type of a pattern; `sizes` are bound by it, to be found in `given`."""
    type_ = _size(state, pattern, given, sizes or {})
    if given is None:
        state.choose_outside(type_)
    pattern.type = type_
    state.unfinished.nodes.append(pattern)
    return type_


def _size(
    state: Sizing,
    pattern: syntax.Pattern,
    given: Type | None,
    sizes: Mapping[Name, types.SizeMeta],
) -> Type:
    assert pattern.type is not None
    match pattern:
        case syntax.ParensPattern(_, inner) | syntax.AttributedPattern(_, _, inner):
            return size_pattern(state, inner, given, sizes)
        case syntax.NamePattern() | syntax.WildcardPattern():
            if given is not None:
                return given
            return state.inferred(pattern.type, pattern.location)
        case syntax.TuplePattern(_, elements):
            if given is None:
                done = (size_pattern(state, e, None, sizes) for e in elements)
                return types.tuple_type(tuple(done))
            assert isinstance(given, types.Record)
            for element, (_, type_) in zip(elements, given.fields, strict=True):
                size_pattern(state, element, type_, sizes)
            return given
        case syntax.RecordPattern(_, fields):
            if given is None:
                return types.record(
                    {n: size_pattern(state, p, None, sizes) for n, p in fields}
                )
            assert isinstance(given, types.Record)
            parts = dict(given.fields)
            for name, inner in fields:
                size_pattern(state, inner, parts[name], sizes)
            return given
        case syntax.AscribedPattern(_, inner, ascription):
            return _ascribed(state, pattern, inner, ascription, given, sizes)
        case syntax.LiteralPattern(_, literal):
            literal.type = state.inference.finish(pattern.type)
            state.unfinished.nodes.append(literal)
            return literal.type
        case syntax.ConstructorPattern(_, name, arguments):
            whole = given
            if whole is None:
                whole = state.inferred(pattern.type, pattern.location)
            assert isinstance(whole, types.Sum)
            payload = dict(whole.constructors)[name]
            for argument, type_ in zip(arguments, payload, strict=True):
                size_pattern(state, argument, type_, sizes)
            return whole
    raise AssertionError(pattern)


def _ascribed(
    state: Sizing,
    pattern: syntax.AscribedPattern,
    inner: syntax.Pattern,
    ascription: syntax.TypeExp,
    given: Type | None,
    sizes: Mapping[Name, types.SizeMeta],
) -> Type:
    wanted, _ = size_type(state, ascription)
    if given is not None:
        loose = types.substitute(wanted, sizes) if sizes else wanted
        expect(
            state,
            pattern.location,
            "explicit type ascription",
            plain(loose),
            plain(given),
            f"Pattern\n  {source_text(pattern)}\ncannot match value of type\n"
            f"  {state.show(given)}",
        )
    size_pattern(state, inner, wanted, sizes)
    return wanted


def bind_names(state: Sizing, pattern: syntax.Pattern) -> list[Name]:
    """Bring the names of a sized pattern into scope; returns them."""
    names = []
    for node in binders(pattern):
        assert node.name_resolved is not None and node.type is not None
        state.values[node.name_resolved] = types.Scheme((), plain(node.type))
        state.bind_size_like(node.name_resolved, node.location)
        names.append(node.name_resolved)
    return names


def bind_let_sizes(
    state: Sizing, sizes: tuple[syntax.SizeParam, ...]
) -> dict[Name, types.SizeMeta]:
    """Bring `let [n] ...` sizes into scope, with metas to find them by."""
    metas = {}
    for node in sizes:
        assert node.name_resolved is not None
        state.values[node.name_resolved] = types.Scheme((), types.I64)
        state.bind_size_like(node.name_resolved, node.location)
        purpose = "ambiguous size of bound expression"
        metas[node.name_resolved] = state.fresh(node.location, purpose, node.name)
    return metas


def _types_in(pattern: syntax.Pattern) -> list[Type]:
    """The types written in a pattern."""
    if isinstance(pattern, syntax.AscribedPattern):
        assert pattern.type is not None
        return [pattern.type]
    return [t for _, inner in sub_patterns(pattern) for t in _types_in(inner)]


def refuse_useless_sizes(
    sizes: tuple[syntax.SizeParam, ...], pattern: syntax.Pattern
) -> None:
    """Each size bound by a `let` must be read off the bound value."""
    if not sizes:
        return
    assert pattern.type is not None
    uses: dict[Name | int, bool] = {}
    for type_ in _types_in(pattern):
        for name, explicit in must_be_explicit(type_).items():
            uses[name] = uses.get(name, True) and explicit
    used = free_sizes(pattern.type) | uses.keys()
    for size in sizes:
        assert size.name_resolved is not None
        if size.name_resolved not in used:
            raise error(
                size.location, f"Size [{size.name}] unused in pattern.", "unused-size"
            )
        if uses.get(size.name_resolved, False):
            raise error(
                size.location,
                f"Cannot bind [{size.name}] as it is never used as the size of a "
                "concrete (non-function) value.",
                "nonconstructive-size",
            )


def refuse_inner_sizes(
    name: str | None, parameters: tuple[syntax.Pattern, ...]
) -> None:
    """A parameter's type may mention only what a caller can see."""
    from minifut.frontend.check.inference.patterns import parameter_name

    forbidden = {
        n.name_resolved for p in parameters for n in binders(p) if n.name_resolved
    }
    for parameter in parameters:
        hits: set[Name] = set()
        for node in (parameter, *binders(parameter)):
            assert node.type is not None
            hits |= forbidden & free_sizes(node.type)
        if hits:
            hit = min(hits, key=lambda n: n.tag)
            where = quote(name) if name else "anonymous function"
            raise error(
                parameter.location,
                f"Invalid use of parameters in {where}.\n"
                f"Parameter {quote(source_text(parameter))} refers to size "
                f"{quote(hit.base)}, which will not be accessible to the caller, "
                "possibly because it is nested in a tuple or record.\n"
                "Consider ascribing an explicit type that does not reference "
                f"{quote(hit.base)}.",
                "inaccessible-size",
            )
        forbidden.discard(parameter_name(parameter))
