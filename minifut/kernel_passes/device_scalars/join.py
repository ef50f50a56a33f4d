"""Read a scalar that both branches read at their ends once, after them.

    if c {                                 if c {
      launch sum_outer(xs, total)            launch sum_outer(xs, total)
      let t: f32 = read total[0]             move (joined) = (total)
      move (s) = (t)                       } else {
    } else {                         →       launch sum_inner(xs, parts)
      launch sum_inner(xs, parts)            move (joined) = (parts)
      let u: f32 = read parts[0]           }
      move (s) = (u)                       let s: f32 = read joined[0]
    }

Versions of a fold are such branches. The scalar may then stay on the device
(`plan.py`), and so may those that a loop passes on (`carry.py`).
"""

from __future__ import annotations

from minifut.ir import core, sizes, traverse
from minifut.ir.node import replace
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars import moves
from minifut.names import Name, NameSource


def join_reads(
    function: kc.HostFunction, names: NameSource
) -> tuple[kc.HostFunction, frozenset[Name]]:
    """The function with reads after its branches, and the memories that they give, by
    the names inside and outside of them."""
    joiner = _Joiner(names)
    body = joiner.block(function.body)
    if not joiner.joined:
        return function, frozenset()
    return replace(function, body=body), frozenset(joiner.joined)


class _Joiner:
    """Changes the branches of a function, the innermost ones first."""

    def __init__(self, names: NameSource) -> None:
        self.names = names
        self.joined: set[Name] = set()

    def block(self, block: kc.HostBlock) -> kc.HostBlock:
        """The block with the branches within it changed."""
        statements: list[kc.HostStatement] = []
        for statement in block.statements:
            inner = traverse.map_children(
                statement, lambda n: self.block(n) if isinstance(n, kc.HostBlock) else n
            )
            statements += (
                self.branch(inner) if isinstance(inner, kc.HostIf) else [inner]
            )
        return kc.HostBlock(tuple(statements))

    def branch(self, branch: kc.HostIf) -> list[kc.HostStatement]:
        """The branch, and the reads after it."""
        sides = (self.sources(branch.then), self.sources(branch.otherwise))
        given = {
            target: kc.Memory(self.names.like(target), memory.element)
            for target, memory in sides[0].items()
            if target in sides[1] and sides[1][target].element == memory.element
        }
        if not given:
            return [branch]
        for target, memory in given.items():
            self.joined |= {memory.name, *(side[target].name for side in sides)}
        then = self.moved(branch.then, sides[0], given)
        otherwise = self.moved(branch.otherwise, sides[1], given)
        reads = [
            kc.HostAssign(target, kc.ReadElement(memory, sizes.ZERO), memory.element)
            for target, memory in given.items()
        ]
        drop = kc.Drop(tuple(memory.name for memory in given.values()))
        return [kc.HostIf(branch.condition, then, otherwise), *reads, drop]

    def sources(self, side: kc.HostBlock) -> dict[Name, kc.Memory]:
        """The memories from which one side reads what it gives."""
        move = moves.last_move(side)
        if move is None:
            return {}
        definitions = moves.definitions_in(side)
        sources = moves.ScalarSources(side, frozenset(self.joined))
        found: dict[Name, kc.Memory] = {}
        for target, source in zip(move.targets, move.sources, strict=True):
            if isinstance(source, Name) and source in definitions:
                memory = sources.of(definitions[source])
                if memory is not None:
                    found[target] = memory
        return found

    def moved(
        self,
        side: kc.HostBlock,
        sources: dict[Name, kc.Memory],
        given: dict[Name, kc.Memory],
    ) -> kc.HostBlock:
        """One side that gives memories in the place of scalars."""
        move = moves.last_move(side)
        assert move is not None
        pairs: list[tuple[Name, core.Atom]] = [
            (given[target].name, sources[target].name)
            if target in given
            else (target, source)
            for target, source in zip(move.targets, move.sources, strict=True)
        ]
        new = kc.HostMove(tuple(t for t, _ in pairs), tuple(s for _, s in pairs))
        kept = dict.fromkeys(sources[target].name for target in given)
        statements: list[kc.HostStatement] = []
        for statement in moves.without_drops(side.statements, set(kept)):
            statements += (
                [new, kc.Drop(tuple(kept))] if statement is move else [statement]
            )
        return kc.HostBlock(tuple(statements))
