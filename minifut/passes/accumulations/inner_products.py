r"""Updates of accumulators with inner products.

    map(m, (wss), \ws -> redomap(d, (ws, xs), +, \w x -> w * x))   ...
    map(m, (b, iota m, rs), \c j r -> update_acc(c, (j), (-r)))

The maps around the update and the sum are levels of one nest, the sum the innermost;
what is added at a point of all of them is a product of terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import Atom, Body, Constant, Lambda, ScalarOp, Stm
from minifut.ir.node import immutable, replace
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, walk
from minifut.ir.types import AccType
from minifut.names import Name
from minifut.passes.accumulations.elements import level_of
from minifut.passes.accumulations.nest import MapLevel, UpdateNest
from minifut.passes.simplify.dead_code import remove_dead_code_in
from minifut.rewrite.context import StatementContext


@immutable
class InnerProduct:
    """The one update of an accumulator. The levels of its nest are those of the maps
    around it and that of the sum; `last` is the innermost map. `order` has the level
    whose number each index is; a product of the terms is added, negated some times."""

    nest: UpdateNest
    last: Stm
    update: UpdateAcc
    order: tuple[int, ...]
    terms: tuple[Atom, ...]
    negations: int

    @property
    def last_map(self) -> Screma:
        assert isinstance(self.last.exp, Screma)
        return self.last.exp


def inner_product(
    exp: WithAcc, number: int, context: StatementContext
) -> InnerProduct | None:
    """The update of this input, if it is the only one and adds inner products."""
    item = exp.inputs[number]
    if len(item.arrays) != 1 or not _is_addition(item.operator):
        return None
    root = exp.function.parameters[number].name
    path = _path(exp.function.body, root, context)
    if len(path) < 2 or len(path[-2].pattern) > 1:
        return None
    update = path[-1].exp
    assert isinstance(update, UpdateAcc)
    levels = _levels(path)
    if levels is None:
        return None
    nest = UpdateNest(item, levels, update.indices, update.values)
    order = tuple(level_of(nest, index, context) for index in nest.indices)
    last = len(levels) - 1
    if -1 in order or len(order) != len(set(order)) or last not in order:
        return None
    terms, negations = _terms(nest.values[0], levels[-1].statements)
    for place, term in enumerate(terms):
        others = (*terms[:place], *terms[place + 1 :])
        made = _with_sum(exp, levels, path[-2], term)
        if made is None or term in others or _is_used(term, made[0][-2], others):
            continue
        levels, value = made
        inside, more = _terms(value, levels[-1].statements)
        nest = replace(nest, levels=levels)
        product = (*others, *inside)
        return InnerProduct(nest, path[-2], update, order, product, negations + more)
    return None


def differs_with(differs: Mapping[Name, frozenset[int]], atom: Atom) -> frozenset[int]:
    """The levels that an atom differs with."""
    if isinstance(atom, Constant):
        return frozenset()
    return differs.get(atom, frozenset())


def _is_addition(operator: Lambda | None) -> bool:
    if operator is None or len(operator.body.statements) != 1:
        return False
    (statement,) = operator.body.statements
    names = {p.name for p in operator.parameters}
    match statement.exp:
        case ScalarOp(scalar, operands) if scalar.name == "add":
            gives = operator.body.result == tuple(p.name for p in statement.pattern)
            return gives and set(operands) == names
    return False


def _path(body: Body, root: Name, context: StatementContext) -> list[Stm]:
    """The maps around the only update of an accumulator, outermost first, then the
    update; nothing if there are others, or something else around it."""

    def is_own(node: object) -> bool:
        if not isinstance(node, UpdateAcc):
            return False
        type_ = context.scope.get(node.accumulator)
        return isinstance(type_, AccType) and type_.root == root

    path: list[Stm] = []
    while True:
        around = [s for s in body.statements if any(map(is_own, walk(s)))]
        if len(around) != 1:
            return []
        path += around
        exp = around[0].exp
        if isinstance(exp, UpdateAcc):
            return path
        if not isinstance(exp, Screma) or not exp.is_map or around[0].attributes:
            return []
        body = exp.function.body


def _levels(path: Sequence[Stm]) -> tuple[MapLevel, ...] | None:
    """The maps as levels, each with what its body computes beside accumulators."""
    levels: list[MapLevel] = []
    for statement in path[:-1]:
        assert isinstance(statement.exp, Screma)
        function = statement.exp.function
        pairs = zip(function.parameters, statement.exp.arrays, strict=True)
        data = [(p, array) for p, array in pairs if not isinstance(p.type, AccType)]
        own = tuple(
            s
            for s in function.body.statements
            if not any(isinstance(p.type, AccType) for p in s.pattern)
        )
        arrays, parameters = tuple(a for _, a in data), tuple(p for p, _ in data)
        levels.append(MapLevel(statement.exp.width, arrays, parameters, own))
    return tuple(levels) or None


def _terms(value: Atom, statements: Sequence[Stm]) -> tuple[tuple[Atom, ...], int]:
    """The factors of a product, and how many of them are negated."""
    made = {s.pattern[0].name: s.exp for s in statements if len(s.pattern) == 1}
    exp = made.get(value) if isinstance(value, Name) else None
    match exp:
        case ScalarOp(operator, (operand,)) if operator.name == "neg":
            terms, negations = _terms(operand, statements)
            return terms, negations + 1
        case ScalarOp(operator, (left, right)) if operator.name == "mul":
            first, second = _terms(left, statements), _terms(right, statements)
            return (*first[0], *second[0]), first[1] + second[1]
    return (value,), 0


def _with_sum(
    whole: WithAcc, levels: tuple[MapLevel, ...], last: Stm, term: Atom
) -> tuple[tuple[MapLevel, ...], Atom] | None:
    """The levels with that of the sum that a term is, and what is summed up: in the
    last level, or in a map that nothing else needs, of which this takes elements."""
    level = levels[-1]
    found = _sum_in(level.statements, term)
    if found is None:
        pairs = zip(level.parameters, level.arrays, strict=True)
        array = next((a for p, a in pairs if p.name == term), None)
        computed = [s for outer in levels[:-1] for s in outer.statements]
        maker = next(
            (s for s in computed if [p.name for p in s.pattern] == [array]), None
        )
        if array is None or maker is None or _is_needed(whole, array, last):
            return None
        if not isinstance(maker.exp, Screma) or not maker.exp.is_map:
            return None
        function = maker.exp.function
        found = _sum_in(function.body.statements, function.body.result[0])
        level = MapLevel(
            level.width,
            (*level.arrays, *maker.exp.arrays),
            (*level.parameters, *function.parameters),
            (*function.body.statements, *level.statements),
        )
    if found is None:
        return None
    sum_, exp = found
    inner = exp.function
    of_sum = MapLevel(exp.width, exp.arrays, inner.parameters, inner.body.statements)
    statements = tuple(s for s in level.statements if s is not sum_)
    level = replace(level, statements=statements)
    return (*levels[:-1], level, of_sum), inner.body.result[0]


def _is_needed(whole: WithAcc, array: Name, last: Stm) -> bool:
    """Whether something besides the last map needs an array."""
    for node in walk(whole):
        if isinstance(node, Body) and array in node.result:
            return True
        uses = isinstance(node, Stm) and array in free_names(node.exp)
        if uses and not any(inner is last for inner in walk(node)):
            return True
    return False


def _is_used(term: Atom, level: MapLevel, others: tuple[Atom, ...]) -> bool:
    """Whether what a level computes for other terms needs this one."""
    body = remove_dead_code_in(Body(level.statements, others))
    return any(term in free_names(statement.exp) for statement in body.statements)


def _sum_in(statements: Sequence[Stm], atom: Atom) -> tuple[Stm, Screma] | None:
    """The sum among statements that an atom is."""
    for statement in statements:
        if [p.name for p in statement.pattern] != [atom]:
            continue
        match statement.exp:
            case Screma(_, _, (), (fold,)) as soac if _is_addition(fold.operator):
                return statement, soac
    return None
