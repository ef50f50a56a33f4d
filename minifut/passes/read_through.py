r"""Pass: elements are read where they are, not in arrays of them in other places.

    let shifted = map (\d -> map (\i -> xs[(i + d) % n]) (iota n)) [1, -1]
    map (\i -> shifted[0, i] + shifted[1, i]) (iota n)
  →
    map (\i -> xs[(i + 1) % n] + xs[(i - 1) % n]) (iota n)

Such a map is a *move*: a nest of cheap scalar code, whose innermost level loads nothing
but the element that it gives. Fusion makes one map of a move and a consumer that takes
its elements in order; here the consumer requires elements at other places, or at
several. Without the array nothing is written and read again, and index-set splitting
sees what the consumer reads.

Conditions: nothing but reads uses the array, no reader is in more loops and SOACs
than the array has dimensions (else an index would be found again and again for the
same element), and nothing before the last of them overwrites what the move reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from minifut.analysis.in_place import may_overwrite
from minifut.ir.builder import Builder
from minifut.ir.core import (
    Atom,
    Body,
    Copy,
    DimSlice,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Param,
    Program,
    Rearrange,
    ScalarOp,
    SizeExp,
    Stm,
)
from minifut.ir.node import immutable, replace, same_or
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.scope import Scope, scope_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Scatter, Screma
from minifut.ir.traverse import (
    contains,
    free_names,
    map_children,
    rename,
    used_names,
    walk,
)
from minifut.ir.types import I64, ArrayType, ScalarType, shape_of
from minifut.names import Name, NameSource
from minifut.passes.remove_checks.driver import remove_checks
from minifut.passes.simplify.driver import simplify
from minifut.rewrite.trace import Trace

MOST = 16
"""statements that find the place of an element"""
FEW = 32
"""points of a SOAC around a reader that does not count as one"""
NOTHING = Lambda((), Body((), ()), ())


@immutable
class Move:
    """Result `position` of a move, at the indices `places` of its first dimensions."""

    exp: Screma
    position: int
    places: tuple[Atom, ...] = ()

    def at(self, places: Iterable[Any]) -> Move:
        return Move(self.exp, self.position, (*self.places, *places))


def read_through(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program without moves of which only elements are read. What reads one may be
    a move itself."""
    changed, before = _read_moves(program, names), program
    while changed is not before:
        before = simplify(changed, names)
        changed = _read_moves(before, names)
    if changed is program:
        return program
    return simplify(remove_checks(changed, names, trace), names)


def _read_moves(program: Program, names: NameSource) -> Program:
    if not contains(program, Screma):
        return program
    scope = cache(lambda: scope_of(program))
    iotas = cache(lambda: _iotas(program))

    def inside(node: Any) -> Any:
        if isinstance(node, Stm) and not contains(node, Screma):
            return node
        node = map_children(node, inside)
        return _without_moves(node, iotas, names, scope) if type(node) is Body else node

    functions = same_or([inside(f) for f in program.functions], program.functions)
    return replace(program, functions=functions)


def _iotas(program: Program) -> set[Name]:
    """The arrays whose elements are their positions, or easily found from these."""
    return {
        statement.pattern[0].name
        for statement in walk(program)
        if isinstance(statement, Stm) and isinstance(statement.exp, Iota)
    }


def _without_moves(
    body: Body,
    iotas: Callable[[], set[Name]],
    names: NameSource,
    scope: Callable[[], Scope],
) -> Body:
    """The body without the moves of which only elements are read."""
    at = 0
    while at < len(body.statements):
        statement = body.statements[at]
        at += 1
        exp = statement.exp
        if not isinstance(exp, Screma) or statement.attributes:
            continue
        if not is_move(exp, iotas):
            continue
        rest = Body(body.statements[at:], body.result)
        moves = {
            bound.name: Move(exp, position)
            for position, bound in enumerate(statement.pattern)
            if _stays_readable(statement, bound, rest)
            and reads_elements(bound, rest, len(shape_of(bound.type)))
        }
        if moves:
            read = _Reader(names, scope(), moves).body(rest)
            body = Body((*body.statements[:at], *read.statements), read.result)
    return body


# --- what is a move, and what reads it ----------------------------------------------


def is_move(exp: Screma, iotas: Callable[[], set[Name]]) -> bool:
    """Whether it is a nest of maps that only finds elements of other arrays."""
    function = exp.function
    *before, last = function.body.statements or (None,)
    if not exp.is_map or last is None or len(before) >= MOST:
        return False
    if not all(map(_finds_place, before)):
        return False
    results = set(function.body.result)
    if isinstance(last.exp, Screma):
        return {p.name for p in last.pattern} == results and is_move(last.exp, iotas)
    loaded = {
        s.pattern[0].name
        for s in function.body.statements
        if isinstance(s.exp, Index | Rearrange)
    }
    if not _finds_place(last) or not results <= loaded:
        return False
    if any(isinstance(type_, ArrayType) for type_ in function.results):
        return True
    inputs = zip(function.parameters, exp.arrays, strict=True)
    given = (p for p, array in inputs if array not in iotas())
    return loaded == results and all(isinstance(p.type, ArrayType) for p in given)


def _finds_place(statement: Stm) -> bool:
    exp = statement.exp
    if isinstance(exp, ScalarOp):
        return operator_cost(exp.operator) is not OperatorCost.FUNCTION
    return isinstance(exp, Index | Rearrange | SizeExp)


def _stays_readable(move: Stm, bound: Param, rest: Body) -> bool:
    """Whether nothing overwrites what the move reads while its result is needed."""
    uses = [n for n, s in enumerate(rest.statements) if bound.name in free_names(s)]
    sources = free_names(move.exp)
    return not any(
        isinstance(node, Stm) and not sources.isdisjoint(may_overwrite(node))
        for statement in rest.statements[: max(uses, default=-1) + 1]
        for node in walk(statement)
    )


def reads_elements(array: Param, body: Body, levels: int) -> bool:
    """Whether the body only reads elements of the array, each reader in at most so many
    SOACs and loops of the body."""
    name = array.name
    return name not in body.result and all(
        _reads_elements(
            array, statement, Body(body.statements[at:], body.result), levels
        )
        for at, statement in enumerate(body.statements, 1)
        if name in free_names(statement)
    )


def _reads_elements(array: Param, statement: Stm, rest: Body, levels: int) -> bool:
    """The same of a statement; the rest of the body may read rows that it takes."""
    exp = statement.exp
    match exp:
        case Index(_, places):
            if any(isinstance(place, DimSlice) for place in places):
                return False
            (row,) = statement.pattern
            kept = len(shape_of(row.type))
            if kept and not rest.statements and rest.result == (row.name,):
                return kept <= levels
            return not kept or reads_elements(row, rest, levels)
        case If(_, then, otherwise):
            return all(reads_elements(array, b, levels) for b in (then, otherwise))
        case Loop(_, initial, _, body):
            return array.name not in initial and _within(array, body, levels - 1)
        case Screma() | Scatter() | Hist():
            others = replace(exp, arrays=(), function=NOTHING)
            if array.name in used_names(others):
                return False
            width = exp.width.as_constant
            inner = levels - (width is None or width > FEW)
            pairs = zip(exp.function.parameters, exp.arrays, strict=True)
            rows = [p for p, taken in pairs if taken == array.name]
            return all(_within(p, exp.function.body, inner) for p in (array, *rows))
    return False


def _within(array: Param, body: Body, levels: int) -> bool:
    if isinstance(array.type, ScalarType):
        return levels >= 0
    return levels >= 0 and reads_elements(array, body, levels)


# --- reading through ------------------------------------------------------------------


@immutable
class _Reader:
    """Replaces reads of what is `known` as a move; rows that are taken of it are known
    from then on."""

    names: NameSource
    scope: Scope
    known: dict[Name, Move]

    def body(self, body: Body) -> Body:
        made: list[Stm] = []
        for statement in body.statements:
            made += self.statement(statement, body.result)
        return Body(tuple(made), body.result)

    def statement(self, statement: Stm, result: tuple[Atom, ...]) -> tuple[Stm, ...]:
        exp: Any = statement.exp
        if self.known.keys().isdisjoint(free_names(exp)):
            return (statement,)
        build = Builder(self.names, self.scope, statement.location)
        if isinstance(exp, Index):
            move = self.known[exp.array].at(exp.slice)
            (bound,) = statement.pattern
            if isinstance(bound.type, ArrayType) and bound.name not in result:
                self.known[bound.name] = move
                return ()
            build.append(replace(statement, exp=Copy(element(build, move))))
        elif isinstance(exp, SOAC_EXPRESSIONS):
            build.append(replace(statement, exp=self.combinator(build, exp)))
        else:
            build.append(replace(statement, exp=map_children(exp, self.node)))
        return tuple(build.statements)

    def node(self, node: Any) -> Any:
        return self.body(node) if isinstance(node, Body) else node

    def combinator(self, build: Builder, exp: Any) -> Any:
        """A SOAC that takes the positions of elements instead of the elements."""
        function = exp.function
        arrays, parameters, before = [], [], build.nested()
        for parameter, array in zip(function.parameters, exp.arrays, strict=True):
            move = self.known.get(array)
            if move is None:
                arrays.append(array)
                parameters.append(parameter)
                continue
            arrays.append(build.iota(exp.width))
            (position,) = build.parameters((I64,), "i")
            parameters.append(position)
            taken = Index(array, (position.name,))
            before.extend(self.statement(Stm((parameter,), taken), ()))
        inner = self.body(function.body)
        body = Body((*before.statements, *inner.statements), inner.result)
        function = Lambda(tuple(parameters), body, function.results)
        return replace(exp, arrays=tuple(arrays), function=function)


def element(build: Builder, move: Move) -> Name:
    """The element or row of a move at its places: what its function gives there."""
    place, *rest = move.places
    function = move.exp.function
    pairs = zip(function.parameters, move.exp.arrays, strict=True)
    known: dict[Name, Atom] = {p.name: build.index(a, place) for p, a in pairs}
    body = rename(function.body, build.names, known)
    result = body.result[move.position]
    assert isinstance(result, Name)
    for statement in body.statements:
        if rest and isinstance(statement.exp, Screma):
            made = [bound.name for bound in statement.pattern]
            inner = Move(statement.exp, made.index(result), tuple(rest))
            return element(build, inner)
        build.append(statement)
    return build.index(result, *rest) if rest else result
