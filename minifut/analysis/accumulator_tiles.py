"""Accumulators: arrays of register tiles of a group that need no memory of their own.

    let zeros = segmap thread (y, x) {..}
    let acc = loop (acc_1 = zeros) for .. do {
      let acc_2 = segmap thread (y, x) { .. acc_1[y, x] .. }
      return acc_2 }
    return regtile acc of (n by ty by ry, p by tx by rx)

Here zeros, acc_1, acc_2 and acc form an accumulator chain, which shares the memory of
the fresh result: each thread reads its own tile there, and then overwrites it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from minifut.ir import core, kernels
from minifut.ir.core import Atom, Body, Constant, Stm
from minifut.ir.kernels import REGISTER, THREAD, KernelBody, Returns, SegMap
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import own_names, used_names, walk
from minifut.names import Name


@dataclass(slots=True)
class AccumulatorChain:
    """A chain of names for one array of register tiles, up to result `result`; the
    threads that make it have the space `blocks`; `others` are names of other chains. It
    `extends` to arrays that threads make these from. The names in `constants` are
    filled with a constant and only start a loop: their initialisation can be deferred
    to its first iteration.
    """

    result: int
    blocks: tuple[Size, ...]
    others: frozenset[Name] = frozenset()
    extends: bool = True
    names: set[Name] = field(default_factory=set)
    constants: dict[Name, Constant] = field(default_factory=dict)


def accumulator_chains(body: KernelBody) -> list[AccumulatorChain]:
    """The accumulators of the body of a group."""
    found: list[AccumulatorChain] = []
    made = _made_in(body)
    for position, result in enumerate(body.result):
        if not isinstance(result, kernels.RegTileReturns):
            continue
        blocks = tuple(b for _, b, r in result.dimensions if (b, r) != (ONE, ONE))
        others = frozenset(name for other in found for name in other.names)
        for extends in (True, False):
            chain = AccumulatorChain(position, blocks, others, extends)
            good = _follow(chain, result.tile, made) and _only_own(chain, body)
            if good and _is_read_before_overwritten(chain, body):
                found.append(chain)
                break
    return found


def _made_in(body: KernelBody | core.Body) -> dict[Name, tuple[Stm, int]]:
    """The statement that makes each name inside, and the position in its pattern."""
    return {
        bound.name: (statement, at)
        for statement in walk(body)
        if isinstance(statement, Stm)
        for at, bound in enumerate(statement.pattern)
    }


def _follow(
    chain: AccumulatorChain, name: Atom, made: dict[Name, tuple[Stm, int]]
) -> bool:
    """Add the names that lead to this one; gives whether all of them may be chained."""
    known = chain.names | chain.others
    if not isinstance(name, Name) or name in known or name not in made:
        return False
    stm, at = made[name]
    chain.names.add(name)
    match stm.exp:
        case SegMap(level, space, body, _) if level == THREAD:
            good = space.sizes == chain.blocks and isinstance(body.result[at], Returns)
            if good and chain.extends:
                _extend(chain, stm, at, made)
            return good
        case core.Loop() as loop:
            parameter = loop.parameters[at].name
            chain.names.add(parameter)
            makers = _makers_below(loop.body.statements, parameter)
            if len(makers) != 1 or loop.body.result[at] not in makers[0]:
                return False
            start, end = loop.initial[at], loop.body.result[at]
            # Arrays from before the loop may be read in every iteration.
            inside = replace(chain, extends=False, names=set(chain.names))
            good = _follow(chain, start, made) and _follow(
                inside, end, _made_in(loop.body)
            )
            chain.names |= inside.names
            if good and _is_made_by_threads(end, made):
                _defer(chain, start, made)
            return good
    return False


def _extend(
    chain: AccumulatorChain, stm: Stm, at: int, made: dict[Name, tuple[Stm, int]]
) -> None:
    """Add the tiles from which threads make these, element by element: one such array
    can share the memory, for each thread reads its own tile before it writes it."""
    exp = stm.exp
    assert isinstance(exp, SegMap)
    rank = len(exp.space.indices)
    for read in walk(exp.body):
        if not isinstance(read, core.Index) or read.slice[:rank] != exp.space.indices:
            continue
        if len(read.slice) == rank or read.array not in made:
            continue
        source, position = made[read.array]
        if source.pattern[position].type != stm.pattern[at].type:
            continue
        other = AccumulatorChain(chain.result, chain.blocks, chain.others)
        if _follow(other, read.array, made):
            chain.names |= other.names
            chain.constants.update(other.constants)
            return


def _is_made_by_threads(name: Atom, made: dict[Name, tuple[Stm, int]]) -> bool:
    return isinstance(name, Name) and isinstance(made[name][0].exp, SegMap)


def _defer(
    chain: AccumulatorChain, start: Atom, made: dict[Name, tuple[Stm, int]]
) -> None:
    assert isinstance(start, Name)
    stm, at = made[start]
    value = constant_tiles(stm, at) if len(stm.pattern) == 1 else None
    if value is not None:
        chain.constants[start] = value


def _makers_below(statements: Sequence[Stm], name: Name) -> list[set[Name]]:
    """The names made by the statements that mention a name."""
    return [{p.name for p in s.pattern} for s in statements if name in used_names(s)]


def _only_own(chain: AccumulatorChain, body: KernelBody) -> bool:
    """Whether threads only read their own tiles: all other mentions are in the loops
    and the result of the chain."""
    allowed: dict[Name, int] = dict.fromkeys(chain.names, 0)
    mentions: dict[Name, int] = dict.fromkeys(chain.names, 0)
    for node in walk(body):
        match node:
            case core.Loop():
                for parameter, *atoms in zip(
                    node.parameters, node.initial, node.body.result, strict=True
                ):
                    for atom in atoms if parameter.name in allowed else ():
                        if atom in allowed:
                            allowed[atom] += 1
            case SegMap(level, space, inner, _) if level == THREAD:
                for read in walk(inner):
                    if (
                        isinstance(read, core.Index)
                        and read.array in allowed
                        and read.slice[: len(space.indices)] == space.indices
                    ):
                        allowed[read.array] += 1
        for name in _mentioned(node):
            if name in mentions:
                mentions[name] += 1
    result = body.result[chain.result]
    assert isinstance(result, kernels.RegTileReturns)
    allowed[result.tile] += 1
    return mentions == allowed


def _is_read_before_overwritten(chain: AccumulatorChain, body: KernelBody) -> bool:
    """Whether nothing mentions an array of the chain after the next one has overwritten
    it."""
    made = [
        (at, bound.name)
        for at, statement in enumerate(body.statements)
        for bound in statement.pattern
        if bound.name in chain.names
    ]
    for (_, name), (following, _) in pairwise(made):
        later = body.statements[following + 1 :]
        if any(name in used_names(statement) for statement in later):
            return False
    return True


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


def constant_tiles(stm: Stm, at: int) -> Constant | None:
    """The constant that fills the tiles made by a statement, if it is one."""
    exp = stm.exp
    if not isinstance(exp, SegMap) or len(exp.body.statements) != 1:
        return None
    (inner,), result = exp.body.statements, exp.body.result[at]
    match inner.exp:
        case SegMap(level, _, KernelBody((), results), _) if level == REGISTER:
            for bound, value in zip(inner.pattern, results, strict=True):
                if isinstance(result, Returns) and bound.name == result.value:
                    assert isinstance(value, Returns)
                    return value.value if isinstance(value.value, Constant) else None
    return None


# --- tiles in registers ---------------------------------------------------------------


def find_tiles(body: KernelBody) -> set[Name]:
    """The arrays that register nests make, and what they are handed over to."""
    found: set[Name] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for node in walk(body):
            if isinstance(node, Stm):
                found.update(_handed_over(node, found))
    return found


def _handed_over(stm: Stm, tiles: set[Name]) -> list[Name]:
    names = [bound.name for bound in stm.pattern]
    match stm.exp:
        case SegMap(level, _, body, _) if level == REGISTER:
            return [
                name
                for name, result in zip(names, body.result, strict=True)
                if isinstance(result, kernels.Returns)
            ]
        case core.Loop() as loop:
            found = []
            for position, atom in enumerate(loop.body.result):
                if atom in tiles:
                    found += [loop.parameters[position].name, names[position]]
            return found
        case core.If() | core.Match() as branch:
            return [
                name
                for position, name in enumerate(names)
                if any(b.result[position] in tiles for b in bodies_of(branch))
            ]
        case core.Copy(atom) | core.Opaque(atom) if atom in tiles:
            return names
    return []


def bodies_of(exp: core.If | core.Match) -> tuple[Body, ...]:
    """The alternatives of a branch."""
    match exp:
        case core.If(_, then, otherwise):
            return then, otherwise
        case core.Match(_, cases, default):
            return (*[case.body for case in cases], default)
