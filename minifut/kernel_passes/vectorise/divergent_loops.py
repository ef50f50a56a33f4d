"""Which divergent loops are no gain in vectors.

    while (low < high) {m = (low + high) / 2; ..}      lanes: no mispredicted branches
    for (i = 0; i < count; i++) t += xs[start + i];    scalar: reads neighbours
    while (table[h] != k) h = h * 5 + 1 & mask;        scalar: ends after a few rounds
    while (j < n) {sieve[j] = 0; j += p}               scalar: does nothing but to store

The lanes of a divergent loop (`masks`) go on until the last one has ended, and each
loads from a place of its own. Measured with PoCL on AVX2, 8 lanes of 64 bits: a binary
search takes 0.4, roots by bisection 0.2 of the scalar time. Calls of functions outweigh
all of it (`calls`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from minifut.ir.search import nodes_of
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.names import Name

STREAM = "rounds load one element after the other"


def refuse_streams(
    body: kc.Block, counters: Iterable[Name], varying: frozenset[Name]
) -> None:
    """Where rounds of a cheap body load one element after the other, lanes would gather
    from as many places, and wait for the longest: five times the scalar time. Not where
    all lanes read the same."""
    if calls_functions(body) or not any(streams(body, counters)):
        return
    if any(varies(load.index, varying) for load in nodes_of(kc.Load, body)):
        raise NotVectorisable(STREAM)


def streams(body: kc.Block, counters: Iterable[Name]) -> Iterator[kc.Load]:
    """The loads of which each round does the one after that of the round before."""
    following = {*counters, *counters_in(body)}
    for node in walk(body):
        match node:
            case kc.Declare(kc.Variable(name, _), kc.Expression() as init):
                if _follows(init, following):
                    following.add(name)
            case kc.Load(_, index, _) if _follows(index, following):
                yield node


def refuse_probes(loop: kc.While) -> None:
    """Where what is loaded ends a cheap loop, as the probes of a hash table do, most
    lanes have few rounds and would wait for the longest: twice the scalar time."""
    if calls_functions(loop.body):
        return
    sources = [*_sources(loop.condition)]
    for node in reversed([*walk(loop.body)]):
        match node:
            case kc.Declare(kc.Variable() as made, kc.Expression() as exp):
                pass
            case kc.Assign(kc.Variable() as made, exp):
                pass
            case _:
                continue
        if any(isinstance(s, kc.Variable) and s.name == made.name for s in sources):
            sources.extend(_sources(exp))
    if any(isinstance(source, kc.Load) for source in sources):
        raise NotVectorisable("what rounds load ends the loop, of most lanes soon")


def refuse_writes(body: kc.Block) -> None:
    """Where rounds of a cheap body load nothing, and store where each lane goes by
    itself, lanes would do that one after the other: two to three times the scalar
    time."""
    nodes, statements = [*walk(body)], body.statements
    if calls_functions(body) or any(isinstance(node, kc.Load) for node in nodes):
        return
    moving = find_varying(body, assigned(statements) - {*counters_in(body)})
    if any(isinstance(n, kc.Store) and varies(n.index, moving) for n in nodes):
        raise NotVectorisable("rounds do nothing but to store at places of their own")


def _sources(exp: kc.Expression) -> Iterator[Any]:
    """The parts of which the value is made; not those that only select it."""
    if isinstance(exp, kc.Select):
        yield from _sources(exp.then)
        yield from _sources(exp.otherwise)
    else:
        yield from walk(exp)


def counters_in(body: kc.Block) -> Iterator[Name]:
    """The variables that grow by one in each round."""
    made: dict[Name, kc.Expression] = {}
    for statement in body.statements:
        match statement:
            case kc.Declare(kc.Variable(name, _), kc.Expression() as exp):
                made[name] = exp
            case kc.Assign(kc.Variable(name, _), exp):
                if isinstance(exp, kc.Variable):
                    exp = made.get(exp.name, exp)
                if _is_next(exp, name):
                    yield name


def _is_next(exp: kc.Expression, name: Name) -> bool:
    """Whether an expression is a variable plus one."""
    symbol, *pair = kc.infix(exp) or ("",)
    ones = [e for e in pair if isinstance(e, kc.Literal) and e.value == 1]
    mine = [e for e in pair if isinstance(e, kc.Variable) and e.name == name]
    return symbol == "+" and bool(ones and mine)


def _follows(exp: kc.Expression, following: Collection[Name]) -> bool:
    """Whether an integer grows by one where one of these names does."""
    match exp:
        case kc.Variable(name, _):
            return name in following
        case kc.Cast(operand, _):
            return _follows(operand, following)
        case kc.Operation(operator, (operand,), _) if operator.name == "convert":
            return _follows(operand, following)
        case kc.SizeValue(size, _):
            _, moving = size.split(following)
            return [(len(m), number) for m, number in moving.terms] == [(1, 1)]
    match kc.infix(exp):
        case ("+", left, right):
            return _one_follows(left, right, following)
        case ("-", left, right):
            return not varies(right, following) and _follows(left, following)
    return False


def _one_follows(
    left: kc.Expression, right: kc.Expression, following: Collection[Name]
) -> bool:
    """Whether one of two parts of a sum follows, and the other does not change."""
    return (_follows(left, following) and not varies(right, following)) or (
        _follows(right, following) and not varies(left, following)
    )
