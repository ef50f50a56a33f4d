"""How the body of a group uses arrays, and which arrays of threads are register tiles.

    loop (acc_1 = acc) .. do {                 acc is passed to acc_1
      segmap thread (y < ty, x < tx) {
        .. acc_1[y, x] .. } }                  each thread reads its own element

Threads *own* the element of an array at their indices. An array whose mentions are all
transfers, reads of own elements and results needs no communication between threads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import field

from minifut.ir import core, kernels
from minifut.ir.core import Atom, Body, Param, Stm
from minifut.ir.kernels import REGISTER, THREAD, KernelBody, SegMap
from minifut.ir.node import mutable
from minifut.ir.search import nodes_of
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import own_names, walk
from minifut.names import Name


@mutable
class Uses:
    """The uses of one name: all `mentions`; the names of loop parameters and results of
    branches in `carriers` that it is passed to; reads by threads of a part or all
    of their own element, and those of all of it; the `results` that it is, and the
    `spaces` of threads that read or return their elements."""

    mentions: int = 0
    carriers: list[Name] = field(default_factory=list)
    own_reads: int = 0
    own_elements: int = 0
    results: list[int] = field(default_factory=list)
    spaces: set[tuple[Size, ...]] = field(default_factory=set)

    def passed_to(self, members: Collection[Name]) -> int:
        """The transfers to some names."""
        return sum(carrier in members for carrier in self.carriers)


def uses_of(body: KernelBody) -> defaultdict[Name, Uses]:
    """The uses of all names in the body of a group."""
    found: defaultdict[Name, Uses] = defaultdict(Uses)
    for node in walk(body):
        for name in _mentioned(node):
            found[name].mentions += 1
        if isinstance(node, Stm):
            for bound, atom in passed(node):
                if isinstance(atom, Name):
                    found[atom].carriers.append(bound)
        if isinstance(node, SegMap) and node.level == THREAD:
            _count_own_reads(node, found)
    for position, result in enumerate(body.result):
        match result:
            case kernels.Returns(Name() as tile):
                found[tile].results.append(position)
            case kernels.TileReturns(dimensions, tile):
                found[tile].results.append(position)
                sizes = tuple(size for _, size in dimensions if size != ONE)
                found[tile].spaces.add(sizes)
            case kernels.RegTileReturns(blocked, tile):
                found[tile].results.append(position)
                sizes = tuple(b for _, b, r in blocked if (b, r) != (ONE, ONE))
                found[tile].spaces.add(sizes)
    return found


def _count_own_reads(exp: SegMap, found: defaultdict[Name, Uses]) -> None:
    indices = exp.space.indices
    for read in walk(exp.body):
        if isinstance(read, core.Index) and read.slice[: len(indices)] == indices:
            uses = found[read.array]
            uses.own_reads += 1
            if len(read.slice) == len(indices):
                uses.own_elements += 1
                uses.spaces.add(exp.space.sizes)


def passed(stm: Stm) -> Iterator[tuple[Name, Atom]]:
    """The parameters of a loop with what they start from and become, or the results of
    a branch with what they are."""
    match stm.exp:
        case core.Loop(parameters, initial, _, body):
            for bound, start, end in zip(parameters, initial, body.result, strict=True):
                yield bound.name, start
                yield bound.name, end
        case core.If() | core.Match() as branch:
            for inner in branch.branches:
                yield from _results(stm.pattern, inner)


def _results(pattern: tuple[Param, ...], body: Body) -> Iterator[tuple[Name, Atom]]:
    for bound, atom in zip(pattern, body.result, strict=True):
        yield bound.name, atom


def _mentioned(node: object) -> list[Name]:
    """The names that this node itself mentions, with repetitions."""
    match node:
        case core.Loop():
            return [a for a in node.initial if isinstance(a, Name)]
        case core.Body():
            return [a for a in node.result if isinstance(a, Name)]
    found: set[Name] = set()
    own_names(node, found)
    return list(found)


# --- tiles in registers ---------------------------------------------------------------


def find_tiles(body: KernelBody) -> set[Name]:
    """The arrays that register nests make, and those to which they are passed."""
    found: set[Name] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for statement in nodes_of(Stm, body):
            found.update(_tiles_of(statement, found))
    return found


def _tiles_of(stm: Stm, tiles: set[Name]) -> list[Name]:
    names = [bound.name for bound in stm.pattern]
    match stm.exp:
        case SegMap(level, _, body, _) if level == REGISTER:
            return [
                name
                for name, result in zip(names, body.result, strict=True)
                if isinstance(result, kernels.Returns)
            ]
        case core.Loop(parameters, _, _, body):
            return [
                name
                for bound, own, atom in zip(parameters, names, body.result, strict=True)
                if atom in tiles
                for name in (bound.name, own)
            ]
        case core.If() | core.Match():
            return [bound for bound, atom in passed(stm) if atom in tiles]
        case core.Copy(atom) | core.Opaque(atom) if atom in tiles:
            return names
    return []
