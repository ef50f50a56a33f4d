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

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

from minifut.analysis.residency.uses import Uses, uses_of
from minifut.ir import core, kernels
from minifut.ir.core import Atom, Constant, Stm
from minifut.ir.kernels import REGISTER, THREAD, KernelBody, Returns, SegMap
from minifut.ir.node import mutable
from minifut.ir.search import nodes_of
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import used_names, walk
from minifut.names import Name


@mutable
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
    made, uses = _made_in(body), uses_of(body)
    for position, result in enumerate(body.result):
        if not isinstance(result, kernels.RegTileReturns):
            continue
        blocks = tuple(b for _, b, r in result.dimensions if (b, r) != (ONE, ONE))
        others = frozenset(name for other in found for name in other.names)
        for extends in (True, False):
            chain = AccumulatorChain(position, blocks, others, extends)
            good = _follow(chain, result.tile, made) and _only_own(chain, uses)
            if good and _is_read_before_overwritten(chain, body):
                starts = chain.constants.items()
                chain.constants = {n: c for n, c in starts if not uses[n].own_reads}
                found.append(chain)
                break
    return found


def _made_in(body: KernelBody | core.Body) -> dict[Name, tuple[Stm, int]]:
    """The statement that makes each name inside, and the position in its pattern."""
    return {
        bound.name: (statement, at)
        for statement in nodes_of(Stm, body)
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
    exp = stm.exp_of(SegMap)
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


def _only_own(chain: AccumulatorChain, uses: Mapping[Name, Uses]) -> bool:
    """Whether threads only read their own tiles: all other mentions are in the loops
    and the result of the chain."""
    found = [uses[name] for name in chain.names]
    return [at for each in found for at in each.results] == [chain.result] and all(
        each.mentions
        == each.passed_to(chain.names) + each.own_reads + len(each.results)
        for each in found
    )


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
