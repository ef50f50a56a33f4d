"""Replacing abstract types, which may have parameters, inside of types.

    t  ↦  ?[n].[n]bool      in  t -> t      gives  [n]bool -> ?[m].[m]bool

Unknown sizes of what is put in are bound at the nearest function result; those that
find none are returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from minifut.frontend import types
from minifut.frontend.check.environment import TypeBinding
from minifut.frontend.types import Type
from minifut.names import Name, NameSource

Replacement: TypeAlias = "TypeBinding | types.Size"


class Replacements(dict["Name", "Replacement"]):
    """A mapping that will not change, with those that stand for sizes apart."""

    def __init__(self, mapping: Mapping[Name, Replacement]) -> None:
        super().__init__(mapping)
        self.sizes = _only_sizes(mapping)


def _only_sizes(mapping: Mapping[Name, Replacement]) -> dict[Name, types.Size]:
    return {n: r for n, r in mapping.items() if not isinstance(r, TypeBinding)}


def replace_types(
    names: NameSource, type_: Type, mapping: Mapping[Name, Replacement]
) -> tuple[Type, tuple[Name, ...]]:
    """The type with names replaced, and the unknown sizes left over."""
    if mapping.keys().isdisjoint(types.mentioned(type_)):
        return type_, ()
    sizes = mapping.sizes if isinstance(mapping, Replacements) else _only_sizes(mapping)
    left_over: list[Name] = []
    expanded: dict[TypeBinding, Type] = {}

    def of_abstract(term: Type) -> Type:
        # In `ctx -> map ctx` the type that the map is for is that of the parameter.
        if isinstance(term, types.Named) and not term.arguments:
            binding = mapping.get(term.name)
            if isinstance(binding, TypeBinding) and binding.exts:
                known = expanded.get(binding)
                if known is not None:
                    return known
        return go(term)

    def go(term: Type) -> Type:
        match term:
            case types.Arrow(parameter, argument, result, exts):
                argument = go(argument)
                before = len(left_over)
                result = go(result)
                if not isinstance(result, types.Arrow):
                    exts = (*left_over[before:], *exts)
                    del left_over[before:]
                return types.Arrow(parameter, argument, result, exts)
            case types.Named(name, arguments, lifted, unique):
                done = tuple(
                    types.substitute_size(a, sizes)
                    if types.is_size(a)
                    else of_abstract(a)
                    for a in arguments
                )
                binding = mapping.get(name)
                if not isinstance(binding, TypeBinding):
                    return types.Named(name, done, lifted, unique)
                found, exts = apply_binding(names, binding, done)
                left_over.extend(exts)
                expanded.setdefault(binding, found)
                return types.mark_unique(found) if unique else found
            case _:
                return types.map_parts(
                    term, go, lambda size: types.substitute_size(size, sizes)
                )

    return go(type_), tuple(left_over)


def apply_binding(
    names: NameSource, binding: TypeBinding, arguments: tuple[Type | types.Size, ...]
) -> tuple[Type, tuple[Name, ...]]:
    """A type abbreviation applied to arguments; its unknown sizes are new."""
    if not binding.exts and not binding.parameters:
        return binding.type, ()
    fresh = tuple(names.like(e) for e in binding.exts)
    mapping: dict[Name, Type | types.Size] = {
        e: types.SizeVar(f) for e, f in zip(binding.exts, fresh, strict=True)
    }
    for (parameter, _), argument in zip(binding.parameters, arguments, strict=True):
        mapping[parameter] = argument
    return (types.substitute(binding.type, mapping) if mapping else binding.type), fresh
