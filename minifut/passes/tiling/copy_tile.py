r"""Copy what the threads of a group read in common, once for each block.

    loop for b < .. { segmap thread (y < t) { loop for l < d { a[g * t + y, b * d + l]
  →
    loop for b < .. {
      tile = collective_copy a[g * t :+ t, b * d :+ d]
      segmap thread (y < t) { loop for l < d { tile[y, l]

A read is worth a copy if it changes with the step and is the same for points that
differ in some index of the nest. The tile is laid out rows, steps, columns, whatever
the layout of the array: a transposed operand is transposed on its way in.

Where positions are limited to a part of the array, that part is copied from, so that
elements outside of it are never seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, DimSlice, Index, Loop, Stm
from minifut.ir.kernels import THREAD, CollectiveCopy, KernelBody, SegMap
from minifut.ir.node import immutable, replace
from minifut.ir.scope import array_type
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.traverse import bound_names, map_children, walk
from minifut.names import Name
from minifut.passes.tiling.marks import LECTURE, REDUCTION
from minifut.passes.tiling.positions import IndexRange, Places, is_tile_size, places_in
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

Stretches = tuple[IndexRange, ...]
MADE_HERE = (CollectiveCopy, SegMap, Loop)


@immutable
class Reach:
    """The names of a nest of threads: those of steps in a block, and per dimension the
    indices of threads and of their registers."""

    steps: frozenset[Name]
    dimensions: tuple[frozenset[Name], ...]


@rule(SegMap, label="Step 3", paper=LECTURE)
def copy_tile(statement: Stm, context: StatementContext) -> Outcome:
    r"""Read from a tile in local memory that the group copies collectively.

    before:
        given (n: i64, m: i64, a: [m][n]f32)
        let t: i64 = get_parameter("main.map_redomap.block_columns" "tile_side"
          ("cpu" = 8, "gpu" = 256) bounds 1 1024)
        let d: i64 = get_parameter("main.map_redomap.block_depth" "tile_depth"
          ("cpu" = 4, "gpu" = 16) bounds 1 4096)
        let deep: i64 = size(min(d, m))
        let us: [t][t]f32 = segmap thread (y < t, x < t) -> (f32) {
          #[reduction] let s: f32 = loop (u: f32 = 0f32) for l: i64 < deep do {
            let j: i64 = size(min(t + x, n - 1))
            let e: f32 = a[l, j]
            return add_f32(u, e)
          }
          return returns s
        }
    after:
        like before, with
        let us
        => let tile_1: [d][t]f32 =
        =>   collective_copy a[0i64 :+ d by 1i64, t :+ t by 1i64]
        => let us
        a[l, j] => tile_1[l, x]
    declines: a is read by each point at places of its own
        like before, with
        t + x => l + x
    """
    nest = statement.exp_of(SegMap)
    if nest.level != THREAD:
        return None
    reach = _reach(nest)
    if not reach.steps:
        return None
    places = places_in(nest, context.definitions)
    reasons: dict[str, None] = {}
    for read in _reads(nest, context):
        found = _index_ranges(read, places, reach, context)
        if isinstance(found, str):
            if found:
                reasons[found] = None
            continue
        return _with_copy(statement, nest, read, found, reach, places, context)
    return Declined("; ".join(reasons)) if reasons else None


def _reach(nest: SegMap) -> Reach:
    steps: set[Name] = set()
    dimensions: list[set[Name]] = [set() for _ in nest.space.indices]
    for node in walk(nest):
        if isinstance(node, Stm) and isinstance(node.exp, Loop):
            index = getattr(node.exp.form, "index", None)
            if REDUCTION in node.attributes and index is not None:
                steps.add(index)
        elif isinstance(node, SegMap) and len(node.space.indices) == len(dimensions):
            for found, name in zip(dimensions, node.space.indices, strict=True):
                found.add(name)
    return Reach(frozenset(steps), tuple(frozenset(d) for d in dimensions))


def _reads(nest: SegMap, context: StatementContext) -> Iterator[Index]:
    """Reads of single elements of arrays that the group has not made itself."""
    local = set(bound_names(nest))
    for node in walk(nest):
        if not isinstance(node, Index) or node.array in local:
            continue
        known = context.definitions.get(node.array)
        if known is not None and isinstance(known.exp, MADE_HERE):
            continue
        whole = len(node.slice) == array_type(node.array, context.scope).rank
        if whole and not any(isinstance(part, DimSlice) for part in node.slice):
            yield node


def _index_ranges(
    read: Index, places: Places, reach: Reach, context: StatementContext
) -> Stretches | str:
    """Where the group reads, or why that is not worth or open to a copy."""
    name = read.array.base
    atoms = [part for part in read.slice if not isinstance(part, DimSlice)]
    used = {
        n
        for atom in atoms
        if isinstance(atom, Name)
        for n in places.meanings.get(atom, Size.of(atom)).names()
    }
    if used & places.unknown:
        return f"where {name} is read depends on values"
    if not used & reach.steps:
        return ""
    found = [places.index_range(atom) for atom in atoms]
    index_ranges = tuple(s for s in found if s is not None)
    owned = [_differing(s, places) for s in index_ranges]
    apart = all(a.isdisjoint(b) for i, a in enumerate(owned) for b in owned[i + 1 :])
    if len(index_ranges) < len(atoms) or not apart:
        return f"{name} is read by each point at places of its own"
    if any(len(own & reach.steps) and len(own) > 1 for own in owned):
        return f"{name} is read by each point at places of its own"
    if not all(is_tile_size(s.length, context.definitions) for s in index_ranges):
        return f"how much of {name} a group reads is not decided by parameters"
    used = set[Name]().union(*owned)
    if all(used & dimension for dimension in reach.dimensions):
        return f"{name} varies with every dimension: nothing is shared"
    return index_ranges


def _differing(index_range: IndexRange, places: Places) -> frozenset[Name]:
    return index_range.own.names() & places.bounds.keys()


def _with_copy(
    statement: Stm,
    nest: SegMap,
    read: Index,
    index_ranges: Stretches,
    reach: Reach,
    places: Places,
    context: StatementContext,
) -> tuple[Stm, ...]:
    build = Builder(context.names, context.scope, statement.location)
    order = _order(index_ranges, reach, places)
    tile = _copied(build, read.array, index_ranges, order)
    key = (read.array, index_ranges)

    def instead(index: Index) -> list[Size] | None:
        if index.array != read.array:
            return None
        atoms = [part for part in index.slice if not isinstance(part, DimSlice)]
        if (index.array, tuple(places.index_range(a) for a in atoms)) != key:
            return None
        return [index_ranges[at].own for at in order]

    body = _Redirect(build, tile, instead).node(nest)
    return (*build.statements, replace(statement, exp=body))


def _order(index_ranges: Stretches, reach: Reach, places: Places) -> list[int]:
    """The index_ranges as dimensions of the tile: rows, steps, columns."""

    def rank(at: int) -> int:
        own = _differing(index_ranges[at], places)
        if own & reach.steps:
            return 1
        return 2 if own & reach.dimensions[-1] else 0

    return sorted((at for at, s in enumerate(index_ranges) if not s.is_place), key=rank)


def _copied(
    build: Builder, array: Name, index_ranges: Stretches, order: list[int]
) -> Name:
    """Emit the copy."""
    source, parts = _source(build, array, index_ranges)
    kept = [at for at, s in enumerate(index_ranges) if not s.is_place]
    permutation = [kept.index(at) for at in order]
    if permutation != sorted(permutation):
        if len(kept) < len(index_ranges):
            fixed = [
                part if s.is_place else DimSlice(i64(0), size, i64(1))
                for part, s, size in zip(
                    parts, index_ranges, build.shape(source), strict=True
                )
            ]
            source = build.index(source, *fixed)
        source = build.rearrange(source, permutation)
        parts = [parts[at] for at in order]
    return build.let(CollectiveCopy(source, tuple(parts)), "tile")


def _source(
    build: Builder, array: Name, index_ranges: Stretches
) -> tuple[Name, list[Atom | DimSlice]]:
    """The array, or the part of it that positions are limited to, and what to copy."""
    shape = build.shape(array)
    whole: list[Atom | DimSlice] = []
    parts: list[Atom | DimSlice] = []
    for index_range, size in zip(index_ranges, shape, strict=True):
        part = DimSlice(i64(0), size, i64(1))
        if index_range.is_place:
            parts.append(build.size_atom(index_range.start, "place"))
        else:
            first = build.size_atom(index_range.start, "first")
            parts.append(DimSlice(first, index_range.length, i64(index_range.apart)))
            limit = size if index_range.limit is None else index_range.limit
            if (limit, index_range.offset, index_range.stride) != (size, ZERO, ONE):
                offset = build.size_atom(index_range.offset, "offset")
                part = DimSlice(offset, limit, build.size_atom(index_range.stride))
        whole.append(part)
    plain = all(
        isinstance(p, DimSlice) and p.start == i64(0) and p.length == size
        for p, size in zip(whole, shape, strict=True)
    )
    return (array if plain else build.index(array, *whole)), parts


class _Redirect:
    """Replaces reads of the array by reads of the tile, throughout a nest."""

    def __init__(self, build: Builder, tile: Name, instead: Any) -> None:
        self.build = build
        self.tile = tile
        self.instead = instead

    def node(self, node: Any) -> Any:
        if isinstance(node, (Body, KernelBody)):
            made = self.build.nested()
            for statement in node.statements:
                self.statement(made, statement)
            return replace(node, statements=tuple(made.statements))
        return map_children(node, self.node)

    def statement(self, made: Builder, statement: Stm) -> None:
        exp = statement.exp
        if isinstance(exp, Index):
            places = self.instead(exp)
            if places is not None:
                atoms = tuple(made.size_atom(place, "at") for place in places)
                exp = Index(self.tile, atoms)
        made.append(replace(statement, exp=self.node(exp)))
