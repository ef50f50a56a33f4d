"""Patterns, for the consumption analysis: which name gets which part of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend import syntax, types
from minifut.frontend.check.consumption import aliases
from minifut.frontend.syntax.traverse import binders, children, sub_patterns
from minifut.frontend.types import Record, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minifut.frontend.check.consumption.aliases import AliasTree
    from minifut.frontend.check.consumption.scope import State
    from minifut.frontend.types import Type
    from minifut.names import Name


def leaves(
    pattern: syntax.Pattern, tree: AliasTree
) -> Iterator[tuple[syntax.NamePattern, AliasTree]]:
    """Each name of the pattern with the part of the tree that it is matched with."""
    if isinstance(pattern, syntax.NamePattern):
        yield pattern, tree
    for key, inner in sub_patterns(pattern):
        yield from leaves(inner, tree if key is None else part(tree, key))


def part(tree: AliasTree, key: str | tuple[str, int]) -> AliasTree:
    """A component of a tree; of an unstructured one, the whole."""
    return tree.get(key) if isinstance(tree, aliases.Parts) else tree


def names_of(pattern: syntax.Pattern) -> set[Name]:
    """The unique names that a pattern binds."""
    names = {binder.name_resolved for binder in binders(pattern)}
    return {name for name in names if name is not None}


def bind_pattern(state: State, pattern: syntax.Pattern, tree: AliasTree) -> set[Name]:
    """Bind the names to parts of a value's tree; each also aliases itself."""
    bound = set()
    for leaf, part_tree in leaves(pattern, tree):
        name = leaf.name_resolved
        if name is None:
            continue
        bound.add(name)
        state.bind(name, _with_self(leaf, part_tree))
    return bound


def _with_self(leaf: syntax.NamePattern, tree: AliasTree) -> AliasTree:
    assert leaf.name_resolved is not None and leaf.type is not None
    return aliases.combine(tree, aliases.own_tree(leaf.type, leaf.name_resolved))


def bind_parameter(state: State, pattern: syntax.Pattern) -> set[Name]:
    """Bind the names of a parameter, consumable where its declared type says `*`."""
    bound = set()
    for leaf, diet in zip(binders(pattern), leaf_diets(pattern, None), strict=True):
        name = leaf.name_resolved
        if name is None or leaf.type is None:
            continue
        bound.add(name)
        state.bind(name, aliases.own_tree(leaf.type, name), consumable=diet)
    return bound


def leaf_diets(pattern: syntax.Pattern, declared: Type | None) -> Iterator[bool]:
    """For each name, in order: is it declared consumed, by an ascription around it?"""
    if isinstance(pattern, syntax.NamePattern):
        yield declared is not None and types.has_unique(declared)
    elif isinstance(pattern, syntax.AscribedPattern):
        declared = pattern.ascription.type
    for key, inner in sub_patterns(pattern):
        part = declared if key is None else component(declared, key)
        yield from leaf_diets(inner, part)


def leaf_ascribed(pattern: syntax.Pattern, inside: bool = False) -> Iterator[bool]:
    """For each name, in order: does an ascription around it decide its diet?"""
    if isinstance(pattern, syntax.NamePattern):
        yield inside
    inside = inside or isinstance(pattern, syntax.AscribedPattern)
    for _, inner in sub_patterns(pattern):
        yield from leaf_ascribed(inner, inside)


def written_sizes(pattern: syntax.Pattern) -> list[syntax.Exp]:
    """The size expressions in the ascriptions of a pattern, but those that are names
    or constants."""
    found: list[syntax.Exp] = []
    waiting: list[syntax.Node] = [pattern]
    while waiting:
        node = waiting.pop()
        if isinstance(node, syntax.Exp):
            if not isinstance(node, (syntax.Var, syntax.Literal)):
                found.append(node)
        else:
            waiting.extend(children(node))
    return found


def parameter_type(pattern: syntax.Pattern, declared: Type | None = None) -> Type:
    """The type of a parameter with the `*` marks of the ascriptions in it."""
    match pattern:
        case syntax.AscribedPattern(inner=inner, ascription=ascription):
            return parameter_type(inner, ascription.type or declared)
        case syntax.ParensPattern(inner=inner) | syntax.AttributedPattern(inner=inner):
            return parameter_type(inner, declared)
        case syntax.TuplePattern(elements=elements) if elements:
            inner_types = [
                parameter_type(e, component(declared, str(i)))
                for i, e in enumerate(elements)
            ]
            return types.tuple_type(tuple(inner_types))
        case syntax.RecordPattern(fields=fields):
            return types.record(
                {n: parameter_type(p, component(declared, n)) for n, p in fields}
            )
        case _:
            plain = declared if declared is not None else pattern.type
            assert plain is not None
            return plain if declared is not None else types.strip_unique(plain)


def component(type_: Type | None, key: str | tuple[str, int]) -> Type | None:
    """The type of a field or of a constructor's payload."""
    return (
        dict(aliases.keyed_parts(type_)).get(key)
        if isinstance(type_, Record | Sum)
        else None
    )
