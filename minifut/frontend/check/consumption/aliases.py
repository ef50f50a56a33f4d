"""What a value may share memory with, as a tree in the shape of its type.

    ([n]i32, {a: [m]f32})   Parts(0: AliasLeaf{x, y}, 1: Parts(a: AliasLeaf{z}))

An `Alias` is a variable, still in scope or (free) left behind by one that no longer is;
free ones serve as equivalence classes: two components with the same free alias share
memory though no variable in scope does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from minifut.frontend import types
from minifut.frontend.types import Array, Arrow, Named, Record, Sum, Type, map_parts
from minifut.ir.node import immutable
from minifut.names import Name


@immutable
class Alias:
    """A variable, or a component of it, that a value may share memory with.

    `path`: the fields down to the component. Components of one variable are distinct
    memory; but to consume one is to consume the variable.
    """

    name: Name
    bound: bool = True
    path: tuple[str, ...] = ()


AliasSet: TypeAlias = frozenset[Alias]
NONE: AliasSet = frozenset()


@immutable
class AliasLeaf:
    """An array, an abstract value or (always without aliases) a scalar."""

    aliases: AliasSet = NONE


@immutable
class Parts:
    """A record by field, or a sum by constructor and position ("c", 0)."""

    parts: tuple[tuple[str | tuple[str, int], AliasTree], ...]

    def get(self, key: str | tuple[str, int]) -> AliasTree:
        """The tree of one component; no aliases if there is no such component."""
        return dict(self.parts).get(key, AliasLeaf())


@immutable
class AliasClosure:
    """A function with its type (whose `*` marks are the diets) and what it captures."""

    aliases: AliasSet
    type: Arrow


AliasTree: TypeAlias = AliasLeaf | Parts | AliasClosure


def keyed_parts(type_: Record | Sum) -> list[tuple[str | tuple[str, int], Type]]:
    """The types of the components, with their keys in `Parts`."""
    if isinstance(type_, Record):
        return list(type_.fields)
    return [((c, i), t) for c, ts in type_.constructors for i, t in enumerate(ts)]


def tree_of(type_: Type, aliases: AliasSet = NONE) -> AliasTree:
    """The tree of a type with the same aliases at every leaf that can have any."""
    match type_:
        case Array() | Named():
            return AliasLeaf(aliases)
        case Record() | Sum():
            return Parts(tuple((k, tree_of(t, aliases)) for k, t in keyed_parts(type_)))
        case Arrow():
            return AliasClosure(aliases, type_)
        case types.Scalar() | types.Meta():
            return AliasLeaf()


def own_tree(type_: Type, name: Name, path: tuple[str, ...] = ()) -> AliasTree:
    """The tree of a variable that shares memory with nothing but itself."""
    if isinstance(type_, Record):
        return Parts(tuple((f, own_tree(t, name, (*path, f))) for f, t in type_.fields))
    return tree_of(type_, frozenset({Alias(name, path=path)}))


def all_aliases(tree: AliasTree) -> AliasSet:
    """The aliases of all leaves, captured ones included."""
    match tree:
        case Parts(parts):
            return NONE.union(*(all_aliases(t) for _, t in parts))
        case AliasLeaf(aliases) | AliasClosure(aliases):
            return aliases


def array_aliases(tree: AliasTree) -> AliasSet:
    """The aliases of all leaves that are not functions."""
    match tree:
        case AliasLeaf(aliases):
            return aliases
        case Parts(parts):
            return NONE.union(*(array_aliases(t) for _, t in parts))
        case AliasClosure():
            return NONE


def components(tree: AliasTree) -> list[AliasSet]:
    """The aliases of each leaf, in order."""
    if isinstance(tree, Parts):
        return [aliases for _, part in tree.parts for aliases in components(part)]
    return [tree.aliases]


def without(tree: AliasTree, names: Iterable[Name]) -> AliasTree:
    """Drop the aliases of these variables."""
    consumed = set(names)
    if not consumed:
        return tree
    return map_aliases(
        tree, lambda als: frozenset(a for a in als if a.name not in consumed)
    )


def leave_scope(tree: AliasTree, names: Iterable[Name]) -> AliasTree:
    """The variables go out of scope: their aliases become free."""
    consumed = set(names)
    if not consumed:
        return tree

    def free(aliases: AliasSet) -> AliasSet:
        if not any(a.bound and a.name in consumed for a in aliases):
            return aliases
        return frozenset(
            replace(a, bound=False) if a.name in consumed else a for a in aliases
        )

    return map_aliases(tree, free)


def combine(left: AliasTree, right: AliasTree) -> AliasTree:
    """The union, leaf by leaf; where the shapes differ, the whole of the right."""
    match left, right:
        case Parts(a), Parts(b):
            others = dict(b)
            joined = [(k, combine(t, others.pop(k, AliasLeaf()))) for k, t in a]
            return Parts(tuple(joined) + tuple(others.items()))
        case AliasLeaf(), AliasLeaf() if left.aliases >= right.aliases:
            return left
        case AliasLeaf(aliases), AliasLeaf(more):
            return AliasLeaf(aliases | more)
        case AliasClosure(aliases, type_), _:
            return AliasClosure(aliases | all_aliases(right), type_)
        case AliasLeaf(aliases), _:
            return map_aliases(right, lambda als: als | aliases)
        case _:
            extra = all_aliases(right)
            return map_aliases(left, lambda als: als | extra)


def result_of(type_: Type, aliases: AliasSet) -> AliasTree:
    """What a call returns: fresh where the result type says `*`, else `aliases`."""
    match type_:
        case Array(_, _, unique) | Named(_, _, _, unique):
            return AliasLeaf(NONE if unique else aliases)
        case Record() | Sum():
            pairs = ((k, result_of(t, aliases)) for k, t in keyed_parts(type_))
            return Parts(tuple(pairs))
        case types.Scalar() | Arrow() | types.Meta():
            return tree_of(type_, aliases)


def mark_fresh(type_: Type, tree: AliasTree, consumable: set[Name]) -> Type:
    """The result type with `*` where it can alias nothing but consumed parameters and
    no other component: the uniqueness of an unannotated function."""
    counts: dict[Name, int] = {}
    for name in (a.name for part in _weighted(type_, tree) for a in part):
        counts[name] = counts.get(name, 0) + 1
    shared = {name for name, count in counts.items() if count > 1}
    return _mark_fresh(type_, tree, consumable, shared)


def _mark_fresh(
    type_: Type, tree: AliasTree, consumable: set[Name], shared: set[Name]
) -> Type:
    match type_, tree:
        case Record() | Sum(), Parts():
            keys = iter([key for key, _ in keyed_parts(type_)])
            return map_parts(
                type_,
                lambda t: _mark_fresh(t, tree.get(next(keys)), consumable, shared),
            )
        case _:
            own = array_aliases(tree)
            captured = any(a.bound and a.name not in consumable for a in own)
            if captured or any(a.name in shared for a in all_aliases(tree)):
                return types.strip_unique(type_)
            return types.mark_unique(type_)


def _weighted(type_: Type, tree: AliasTree) -> list[AliasSet]:
    """Leaves in order; an abstract value counts twice, it may share with itself."""
    match type_, tree:
        case Record(fields), Parts():
            return [x for f, t in fields for x in _weighted(t, tree.get(f))]
        case Named(), _:
            return [all_aliases(tree)] * 2
        case _:
            return [all_aliases(tree)]


def map_aliases(tree: AliasTree, change: Callable[[AliasSet], AliasSet]) -> AliasTree:
    """The tree with other aliases at its leaves."""
    match tree:
        case AliasLeaf(aliases):
            changed = change(aliases)
            return tree if changed is aliases else AliasLeaf(changed)
        case AliasClosure(aliases, type_):
            return AliasClosure(change(aliases), type_)
        case Parts(parts):
            return Parts(tuple((k, map_aliases(t, change)) for k, t in parts))
