"""The trees of values of which a part was replaced."""

from __future__ import annotations

from minifut.errors import CompileError
from minifut.frontend import syntax
from minifut.frontend.check.consumption.aliases import (
    NONE,
    Alias,
    AliasTree,
    Parts,
    all_aliases,
    map_aliases,
)
from minifut.frontend.check.consumption.scope import State
from minifut.names import Name


def aliasing_itself(tree: AliasTree, name: Name) -> AliasTree:
    return map_aliases(tree, lambda aliases: aliases | {Alias(name)})


def updated(
    state: State,
    exp: syntax.Update | syntax.LetUpdate,
    source: AliasTree,
    value: AliasTree,
    shown: str,
) -> AliasTree:
    """An indexed update consumes its source, which the new value must not alias; an
    update of a field only replaces that component."""
    if not any(not isinstance(step, str) for step in exp.steps):
        return replaced(source, [s for s in exp.steps if isinstance(s, str)], value)
    if not all_aliases(source).isdisjoint(all_aliases(value)):
        raise CompileError(
            exp.value.location,
            f"Source array for in-place update\n  {shown}\nmight alias update value\n"
            f"  {exp.value.location.text()}",
            hint='use "copy" to remove aliases from the value',
            anchor="in-place-alias",
        )
    state.consume(exp.location, all_aliases(source))
    return without_aliases(source)


def without_aliases(tree: AliasTree) -> AliasTree:
    """The shape alone."""
    return map_aliases(tree, lambda _: NONE)


def replaced(tree: AliasTree, path: list[str], value: AliasTree) -> AliasTree:
    """A record's tree with one component, deep inside, replaced."""
    if not path:
        return value
    if not isinstance(tree, Parts):
        return tree
    return Parts(
        tuple(
            (k, replaced(t, path[1:], value) if k == path[0] else t)
            for k, t in tree.parts
        )
    )
