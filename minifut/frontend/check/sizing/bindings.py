"""Sizes of `let`, local functions and `match`.

A chain of `let`s is walked down in a loop, then up again: on the way up, sizes that
mention a name going out of scope become unknown.
"""

from minifut.frontend import syntax
from minifut.frontend.check.size_terms import has_binding
from minifut.frontend.check.sizing.expressions import (
    RULES,
    as_size,
    join_branches,
    size,
)
from minifut.frontend.check.sizing.functions import size_definition
from minifut.frontend.check.sizing.patterns import (
    bind_let_sizes,
    bind_names,
    refuse_useless_sizes,
    size_pattern,
)
from minifut.frontend.check.sizing.scopes import unscope
from minifut.frontend.check.sizing.slices import updated
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.witnesses import dimensions, free_sizes
from minifut.frontend.sizes import LONGEST, length
from minifut.frontend.syntax.node import filled
from minifut.frontend.syntax.traverse import binders
from minifut.frontend.types import I64, Scheme, Type, substitute
from minifut.names import Name


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
    type_ = size(state, body)
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
                mapping = {names[0]: as_size(state, value)}
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
    value = size(state, node.value)
    metas = bind_let_sizes(state, node.sizes)
    state.level += 1
    size_pattern(state, node.pattern, state.normal_type(value), metas)
    refuse_useless_sizes(node.sizes, node.pattern)
    bind_names(state, node.pattern)
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
    scrutinee = state.normal_type(size(state, node.scrutinee))
    branches = []
    unscoped: list[Name] = []
    level = state.level
    for case in node.cases:
        state.level += 1
        size_pattern(state, case.pattern, scrutinee)
        names = bind_names(state, case.pattern)
        state.level += 1
        body = state.normal_type(size(state, case.body))
        state.level = level
        type_, exts = unscope(state, case.location, names, body)
        branches.append((case.location, type_))
        unscoped += exts
    joined, made = join_branches(state, branches)
    free = free_sizes(joined) if unscoped else set()
    node.exts = (*(name for name in unscoped if name in free), *made)
    return joined


RULES.update(
    {
        syntax.Let: _let_chain,
        syntax.LetFunction: _let_chain,
        syntax.LetUpdate: _let_chain,
        syntax.Match: _match,
    }
)
