"""Sizes of functions and definitions: lambdas, `let`, `match`, top-level definitions.

What a definition leaves open is generalised: sizes become size parameters, unknown
sizes of its result the unknown sizes of the function.

A chain of `let`s is walked down in a loop, then up again: on the way up, sizes that
mention a name going out of scope become unknown.
"""

from __future__ import annotations

from minifut.errors import Location, error
from minifut.frontend import syntax, types
from minifut.frontend.check.environment import plain
from minifut.frontend.check.inference.patterns import parameter_name
from minifut.frontend.check.messages import quote
from minifut.frontend.check.mismatches import FUNCTION_BODY
from minifut.frontend.check.size_terms import has_binding
from minifut.frontend.check.sizing import expressions, patterns
from minifut.frontend.check.sizing.generalise import (
    Definition,
    function_type,
    generalise,
    normalised,
    recursive_scheme,
    unknown_to_one_name,
)
from minifut.frontend.check.sizing.scopes import unscope
from minifut.frontend.check.sizing.slices import updated
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.type_expressions import size_type
from minifut.frontend.check.witnesses import dimensions, free_sizes
from minifut.frontend.sizes import LONGEST, free_in_size, length
from minifut.frontend.syntax.node import filled
from minifut.frontend.syntax.traverse import binders
from minifut.frontend.types import I64, Scheme, Type, substitute
from minifut.names import Name


def bind_type_parameters(
    state: Sizing, parameters: tuple[syntax.TypeParameter, ...]
) -> None:
    """Size parameters are values, and sizes as themselves."""
    for node in parameters:
        if isinstance(node, syntax.SizeParam):
            assert node.name_resolved is not None
            state.values[node.name_resolved] = types.Scheme((), types.I64)
            state.bind_size_like(node.name_resolved, node.location)


def bind_parameters(state: Sizing, parameters: tuple[syntax.Pattern, ...]) -> None:
    """Parameters, each at a deeper level than the one before."""
    state.level += 1
    for parameter in parameters:
        patterns.size_pattern(state, parameter, None)
        patterns.bind_names(state, parameter)
        state.level += 1


def hidden_names(parameters: tuple[syntax.Pattern, ...]) -> list[Name]:
    """The names bound inside of parameters, which no type can mention."""
    shown = {parameter_name(p) for p in parameters}
    return [
        n.name_resolved
        for p in parameters
        for n in binders(p)
        if n.name_resolved not in shown and n.name_resolved is not None
    ]


def function_body(
    state: Sizing,
    parameters: tuple[syntax.Pattern, ...],
    body: syntax.Exp,
    declared: Type | None,
    location: Location,
) -> Type:
    """Check a body against its declared type; its type as seen from outside."""
    type_ = state.normal_type(expressions.size(state, body))
    hidden = hidden_names(parameters)
    type_, _ = unscope(state, location, hidden, type_)
    if declared is not None:
        hits = set(hidden) & free_sizes(state.normal_type(declared))
        if hits:
            name = min(hits, key=lambda n: n.tag).base
            raise error(
                location,
                f"The return type annotation\n  {state.show(declared)}\nrefers to the "
                f"name {quote(name)} which is bound to an inner component of a "
                "function parameter.",
                "inaccessible-size",
            )
        expressions.expect(
            state,
            body.location,
            "return type annotation",
            plain(declared),
            type_,
            FUNCTION_BODY,
        )
    return type_


def _lambda(state: Sizing, node: syntax.Lambda) -> Type:
    assert node.type is not None
    whole = state.inference.finish(node.type)
    for _ in node.parameters:
        assert isinstance(whole, types.Arrow)
        whole = whole.result
    level = state.level
    state.level += 1
    bind_parameters(state, node.parameters)
    # The function returns whatever type is required of it.
    wanted = state.inferred(plain(whole), node.location, "^")
    declared = None
    if node.result is not None:
        declared, _ = size_type(state, node.result)
        expressions.expect(
            state,
            node.result.location,
            "lambda return type ascription",
            wanted,
            plain(declared),
            "Function does not have its declared type.",
        )
    body = function_body(state, node.parameters, node.body, declared, node.location)
    expressions.expect(
        state, node.body.location, "inferred return type", wanted, body, FUNCTION_BODY
    )
    result = state.normal_type(body if declared is None else declared)
    exts = _computed_inside(state, node.parameters, result)
    patterns.refuse_inner_sizes(None, normalised(state, node.parameters))
    state.level = level
    return function_type(state, node.parameters, result, exts)


def _computed_inside(
    state: Sizing, parameters: tuple[syntax.Pattern, ...], result: Type
) -> tuple[Name, ...]:
    """The unknown sizes that a lambda's body creates."""
    taken = _parameter_sizes(function_type(state, parameters, result))
    found = [
        name
        for name in free_sizes(result) - taken
        if isinstance(name, Name)
        and (rigid := state.rigid.get(name)) is not None
        and not rigid.is_parameter
        and rigid.level >= state.level
    ]
    return tuple(sorted(found, key=lambda name: name.tag))


def _parameter_sizes(type_: Type) -> set[Name | int]:
    """The sizes in the parameters of a function that are not functions."""

    def on_parameter(term: Type) -> set[Name | int]:
        match term:
            case types.Arrow():
                return set()
            case types.Record(fields):
                return {n for _, t in fields for n in on_parameter(t)}
            case types.Named(_, arguments):
                return {
                    n
                    for a in arguments
                    for n in (free_in_size(a) if types.is_size(a) else on_parameter(a))
                }
            case types.Array() | types.Scalar() | types.Sum() | types.Meta():
                return free_sizes(term)

    found: set[Name | int] = set()
    while isinstance(type_, types.Arrow):
        found |= on_parameter(type_.argument)
        type_ = type_.result
    return found


def size_definition(
    state: Sizing,
    name: str,
    resolved: Name | None,
    inferred: tuple[tuple[Name, str], ...],
    type_parameters: tuple[syntax.TypeParameter, ...],
    parameters: tuple[syntax.Pattern, ...],
    result: syntax.TypeExp | None,
    body: syntax.Exp,
    location: Location,
) -> Definition:
    """Sizes of a named function or value; `resolved` if it may call itself."""
    level = state.level
    state.level += 1
    bind_type_parameters(state, type_parameters)
    bind_parameters(state, parameters)
    declared = None
    own_names = ((filled(p.name_resolved), _kind(p)) for p in type_parameters)
    names = (*inferred, *own_names)
    if result is not None:
        declared, _ = size_type(state, result)
    if resolved is not None:
        if declared is None:
            state.recursive = resolved
        else:
            own = function_type(state, parameters, declared)
            loose = {n for n in free_sizes(own) if isinstance(n, int)}
            state.values[resolved] = recursive_scheme(state, names, own, loose)
    where = result.location if result is not None else location
    found = function_body(state, parameters, body, declared, where)
    type_ = state.normal_type(found if declared is None else declared)
    if declared is None:
        type_ = plain(type_)
    patterns.refuse_inner_sizes(name, normalised(state, parameters))
    type_ = unknown_to_one_name(state, type_, location)
    done = generalise(state, name, names, parameters, type_, location)
    state.level = level
    if not parameters and done.exts and any(k == "size" for _, k in done.parameters):
        raise error(
            location,
            "A size-polymorphic value binding may not have a type with an existential "
            f"size.\nType of this binding is:\n  {state.show(done.result)}",
            "size-polymorphic-value",
        )
    return done


def _kind(parameter: syntax.TypeParameter) -> str:
    return "size" if isinstance(parameter, syntax.SizeParam) else parameter.lifted


expressions.RULES[syntax.Lambda] = _lambda


def _let_chain(state: Sizing, node: syntax.Exp) -> Type:
    level = state.level
    chain: list[tuple[syntax.Exp, int]] = []
    body: syntax.Exp = node
    while True:
        before = state.level
        if isinstance(body, syntax.Let):
            _let(state, body)
        elif isinstance(body, syntax.LetFunction):
            _let_function(state, body)
        elif isinstance(body, syntax.LetUpdate):
            _let_update(state, body)
        else:
            break
        chain.append((body, before))
        body = body.body
    type_ = expressions.size(state, body)
    for link, before in reversed(chain):
        state.level = before
        type_ = _leave(state, link, state.normal_type(type_))
        link.type = type_
        if link is not node:
            state.unfinished.nodes.append(link)
    state.level = level
    return type_


def _leave(state: Sizing, node: syntax.Exp, body: Type) -> Type:
    """The type of a `let` from outside, given that of its body."""
    unscoped: list[Name]
    match node:
        case syntax.Let(_, sizes, pattern, value):
            names = [n.name_resolved for n in binders(pattern)]
            if value.type == I64 and len(names) == 1 and not has_binding(value):
                assert names[0] is not None
                mapping = {names[0]: expressions.as_size(state, value)}
                outside = substitute(body, mapping)
                # a chain of squares doubles with each `let`
                if all(length(s) <= LONGEST for s, *_ in dimensions(outside)):
                    return state.normal_type(outside)
            unscoped = [*(filled(s.name_resolved) for s in sizes), *map(filled, names)]
        case syntax.LetFunction() | syntax.LetUpdate():
            assert node.name_resolved is not None
            unscoped = [node.name_resolved]
        case _:
            raise AssertionError(node)
    type_, node.exts = unscope(state, node.location, unscoped, body)
    return type_


def _let(state: Sizing, node: syntax.Let) -> None:
    value = expressions.size(state, node.value)
    metas = patterns.bind_let_sizes(state, node.sizes)
    state.level += 1
    patterns.size_pattern(state, node.pattern, state.normal_type(value), metas)
    patterns.refuse_useless_sizes(node.sizes, node.pattern)
    patterns.bind_names(state, node.pattern)
    state.level += 1


def _let_function(state: Sizing, node: syntax.LetFunction) -> None:
    assert node.name_resolved is not None
    done = size_definition(
        state,
        node.name,
        None,
        (),
        node.type_parameters,
        node.parameters,
        node.result,
        node.value,
        node.location,
    )
    node.function_type = done.type
    state.unfinished.functions.append(node)
    state.values[node.name_resolved] = Scheme(done.parameters, done.type)


def _let_update(state: Sizing, node: syntax.LetUpdate) -> None:
    assert node.source_resolved is not None and node.name_resolved is not None
    whole = state.scheme(node.source_resolved).type
    type_ = updated(state, whole, node.steps, node.value, node.location)
    state.values[node.name_resolved] = Scheme((), type_)
    state.bind_size_like(node.name_resolved, node.location)


def _match(state: Sizing, node: syntax.Match) -> Type:
    scrutinee = state.normal_type(expressions.size(state, node.scrutinee))
    branches = []
    unscoped: list[Name] = []
    level = state.level
    for case in node.cases:
        state.level += 1
        patterns.size_pattern(state, case.pattern, scrutinee)
        names = patterns.bind_names(state, case.pattern)
        state.level += 1
        body = state.normal_type(expressions.size(state, case.body))
        state.level = level
        type_, exts = unscope(state, case.location, names, body)
        branches.append((case.location, type_))
        unscoped += exts
    joined, made = expressions.join_branches(state, branches)
    free = free_sizes(joined) if unscoped else set()
    node.exts = (*(name for name in unscoped if name in free), *made)
    return joined


expressions.RULES.update(
    {
        syntax.Let: _let_chain,
        syntax.LetFunction: _let_chain,
        syntax.LetUpdate: _let_chain,
        syntax.Match: _match,
    }
)
