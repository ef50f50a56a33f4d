"""Dependences of a part of a nest on statements before it: recomputed, or carried.

When a nest is divided, the second part starts from the same indices. Views, sizes and
scalars are computed again there; what is expensive or has effects is returned by the
first part and read back (array expansion).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Index, Param, Stm
from minifut.ir.kernels import KernelBody, Returns, SegMap, SegSpace
from minifut.ir.node import immutable
from minifut.ir.traverse import free_names, rename
from minifut.ir.types import array_of
from minifut.names import Name
from minifut.passes.flatten.cheap import is_cheap
from minifut.passes.simplify.dead_code import has_effects


@immutable
class Dependences:
    """Statements to do again, in order, and names whose values must be carried."""

    again: tuple[Stm, ...]
    carried: tuple[Name, ...]


def dependences_of(above: Sequence[Stm], wanted: Iterable[Name]) -> Dependences:
    """What code that uses the `wanted` names needs of the statements `above` it."""
    needed = set(wanted)
    again: list[Stm] = []
    carried: list[Name] = []
    for statement in reversed(above):
        used = [p.name for p in statement.pattern if p.name in needed]
        if not used:
            continue
        if is_cheap(statement) and not has_effects(statement.exp):
            again.append(statement)
            needed |= free_names(statement)
        else:
            carried.extend(reversed(used))
    return Dependences(tuple(reversed(again)), tuple(reversed(carried)))


def nest_over(
    build: Builder,
    like: SegMap,
    indices: tuple[Name, ...],
    statements: Iterable[Stm],
    results: tuple[Atom, ...],
) -> SegMap:
    """A nest of the same level and sizes with this body."""
    body = KernelBody(tuple(statements), tuple(Returns(atom) for atom in results))
    space = SegSpace(indices, like.space.sizes)
    return SegMap(like.level, space, body, build.types(results))


def fresh_nest(build: Builder, nest: SegMap) -> SegMap:
    """The nest with names of its own throughout."""
    made: SegMap = rename(nest, build.names)
    return made


def expanded(build: Builder, like: SegMap, parameters: Iterable[Param]) -> list[Param]:
    """Arrays of such values, one for each point of the nest."""
    made = [
        Param(build.names.like(p.name), array_of(p.type, like.space.sizes))
        for p in parameters
    ]
    build.scope.update((p.name, p.type) for p in made)
    return made


def reads(
    arrays: Iterable[Name], bound: Iterable[Param], indices: tuple[Name, ...]
) -> list[Stm]:
    """Each value bound again to its element at the point."""
    return [
        Stm((p,), Index(array, indices)) for array, p in zip(arrays, bound, strict=True)
    ]
