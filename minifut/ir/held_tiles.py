"""Register tiles of a group that live where the group finally returns them.

    let zeros = segmap thread (y, x) {..}
    let acc = loop (acc_1 = zeros) for .. do {
      let acc_2 = segmap thread (y, x) { .. acc_1[y, x] .. }
      return acc_2 }
    return regtile acc of (n by ty by ry, p by tx by rx)

Here zeros, acc_1, acc_2 and acc need no memory: each thread reads its own tile, and
then writes it, in the fresh result of the whole operation. A `Chain` is such a row of
names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from minifut.ir import core, kernels
from minifut.ir.core import Atom, Constant, Stm
from minifut.ir.kernels import REGISTER, THREAD, KernelBody, Returns, SegMap
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import own_names, used_names, walk
from minifut.names import Name


@dataclass(slots=True)
class Chain:
    """The names that hand over one array of register tiles, to result `result`; the
    threads that make it have the space `blocks`; `others` are names of other chains. It
    `extends` to arrays that threads make these from. Of the names in `delayed` all
    elements have the given value, and they only start a loop, which need not find them
    written.
    """

    result: int
    blocks: tuple[Size, ...]
    others: frozenset[Name] = frozenset()
    extends: bool = True
    names: set[Name] = field(default_factory=set)
    delayed: dict[Name, Atom] = field(default_factory=dict)


def chains(body: KernelBody) -> list[Chain]:
    """Those of the body of a group."""
    found: list[Chain] = []
    made = _made_in(body)
    for position, result in enumerate(body.result):
        if not isinstance(result, kernels.RegTileReturns):
            continue
        blocks = tuple(b for _, b, r in result.dimensions if (b, r) != (ONE, ONE))
        others = frozenset(name for other in found for name in other.names)
        for extends in (True, False):
            chain = Chain(position, blocks, others, extends)
            good = _follow(chain, result.tile, made) and _only_own(chain, body)
            if good and _is_read_in_time(chain, body):
                found.append(chain)
                break
    return found


def _made_in(body: KernelBody | core.Body) -> dict[Name, tuple[Stm, int]]:
    """The statements that make the names inside, and at which place."""
    return {
        bound.name: (statement, at)
        for statement in walk(body)
        if isinstance(statement, Stm)
        for at, bound in enumerate(statement.pattern)
    }


def _follow(chain: Chain, name: Atom, made: dict[Name, tuple[Stm, int]]) -> bool:
    """Add the names that lead to this one; whether all of them may be of a chain."""
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
            # What was there before the loop may be needed in every round.
            inside = replace(chain, extends=False, names=set(chain.names))
            good = _follow(chain, start, made) and _follow(
                inside, end, _made_in(loop.body)
            )
            chain.names |= inside.names
            if good and _is_made_by_threads(end, made):
                _delay(chain, start, made)
            return good
    return False


def _extend(chain: Chain, stm: Stm, at: int, made: dict[Name, tuple[Stm, int]]) -> None:
    """Add the tiles from which threads make these, element by element: one array can
    have the same place, for each thread reads its own tile before it writes it."""
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
        other = Chain(chain.result, chain.blocks, chain.others)
        if _follow(other, read.array, made):
            chain.names |= other.names
            chain.delayed.update(other.delayed)
            return


def _is_made_by_threads(name: Atom, made: dict[Name, tuple[Stm, int]]) -> bool:
    return isinstance(name, Name) and isinstance(made[name][0].exp, SegMap)


def _delay(chain: Chain, start: Atom, made: dict[Name, tuple[Stm, int]]) -> None:
    assert isinstance(start, Name)
    stm, at = made[start]
    value = uniform_value(stm, at) if len(stm.pattern) == 1 else None
    if value is not None:
        chain.delayed[start] = value


def _makers_below(statements: Sequence[Stm], name: Name) -> list[set[Name]]:
    """What the statements that mention a name make."""
    return [{p.name for p in s.pattern} for s in statements if name in used_names(s)]


def _only_own(chain: Chain, body: KernelBody) -> bool:
    """Whether threads only look at their own tiles: all other mentions are the loops
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


def _is_read_in_time(chain: Chain, body: KernelBody) -> bool:
    """Whether nothing mentions an array of the chain after the next one was written
    to its place."""
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
    """The names that this very node mentions, as often as it does."""
    match node:
        case core.Loop():
            return [a for a in node.initial if isinstance(a, Name)]
        case core.Body():
            return [a for a in node.result if isinstance(a, Name)]
    found: set[Name] = set()
    own_names(node, found)
    return list(found)


def uniform_value(stm: Stm, at: int) -> Atom | None:
    """The scalar that fills the tiles made by a statement, if it is one and the same
    that is known before."""
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
