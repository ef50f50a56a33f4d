r"""What the rounds of a return sweep add to sums that nothing else in them needs.

    map(p, (iota p), \i -> map(q, (iota q), \j ->
      redomap(n, (iota n), +, \k -> a[k, i] * tape[round, k, j])))

A term is a nest of maps over positions, maybe around a sum over one more dimension, the
first of what it reads; inside there are scalars only. What it reads is made in the
round, has a row for each round, or is the same in all rounds.
"""

from __future__ import annotations

from collections import Counter

from minifut.ir import core
from minifut.ir.builder import i64
from minifut.ir.core import Atom, Constant, Param, Stm
from minifut.ir.node import immutable, replace
from minifut.ir.sizes import Size
from minifut.ir.soacs import Reduce, Screma
from minifut.ir.traverse import atom_size, free_names, size_names
from minifut.ir.types import I64, shape_of
from minifut.names import Name
from minifut.rewrite.context import StatementContext


@immutable
class RoundTerm:
    """What a round adds to a sum: the widths and positions of its maps, `fold` those of
    the dimension that is summed in a round, and the scalars of a point. `made` are the
    arrays of the round, `kept` those with a row for each; `at` is the row's index."""

    number: int
    widths: tuple[Size, ...]
    positions: tuple[Param, ...]
    fold: tuple[Size, Param] | None
    statements: tuple[Stm, ...]
    value: Atom
    made: frozenset[Name]
    kept: frozenset[Name]
    at: frozenset[Atom]
    dropped: frozenset[Name]


def terms_of(
    exp: core.Loop, form: core.ForLoop, context: StatementContext
) -> list[RoundTerm]:
    body = exp.body
    made = {p.name: s for s in body.statements for p in s.pattern}
    carried = {p.name for p in exp.parameters}
    if form.type != I64 or any(size_names(p.type) & carried for p in exp.parameters):
        return []
    uses: Counter[Name] = Counter()
    for node in (*body.statements, *(Stm((), core.Copy(a)) for a in body.result)):
        for name in free_names(node):
            uses[name] += 1
    inner = replace(context, definitions={**context.definitions, **made})
    found = []
    for number, (parameter, result) in enumerate(
        zip(exp.parameters, body.result, strict=True)
    ):
        sum_ = made.get(result) if isinstance(result, Name) else None
        if sum_ is None or uses[parameter.name] != 1 or uses[sum_.pattern[0].name] != 1:
            continue
        added = _addend(sum_, parameter.name)
        source = made.get(added) if added is not None else None
        if added is None or source is None or uses[added] != 1:
            continue
        own = frozenset((*made, *(p.name for p in exp.parameters), form.index))
        term = _term(number, source, own, form, inner)
        if term is not None:
            dropped = frozenset((added, sum_.pattern[0].name))
            found.append(replace(term, dropped=dropped))
    return found


def products_and_sums(terms: list[RoundTerm]) -> list[RoundTerm]:
    """Those with an array that has a row for each round, and others of what these put
    on tapes anyway; all with the same index of rows."""
    products = [term for term in terms if term.kept and term.made]
    if not products:
        return []
    at = products[0].at
    products = [term for term in products if term.at == at]
    taped = frozenset().union(*(term.made for term in products))
    sums = [t for t in terms if not t.kept and t.made and t.made <= taped]
    return sorted((*products, *sums), key=lambda term: term.number)


def _addend(sum_: Stm, name: Name) -> Name | None:
    """The array that maps add to another, element by element."""
    exp = sum_.exp
    if len(sum_.pattern) != 1:
        return None
    if isinstance(exp, core.ScalarOp):
        added, operands = exp.operator.name == "add", exp.operands
    elif (
        isinstance(exp, Screma)
        and exp.is_map
        and len(exp.function.body.statements) == 1
    ):
        (inside,) = exp.function.body.statements
        parameters = [p.name for p in exp.function.parameters]
        added = (
            len(exp.arrays) == 2
            and exp.function.body.result == (inside.pattern[0].name,)
            and _addend(inside, parameters[0]) == parameters[1]
        )
        operands = exp.arrays
    else:
        return None
    if not added or name not in operands or operands[0] == operands[1]:
        return None
    other = operands[1] if operands[0] == name else operands[0]
    return other if isinstance(other, Name) else None


def _term(
    number: int,
    source: Stm,
    own: frozenset[Name],
    form: core.ForLoop,
    context: StatementContext,
) -> RoundTerm | None:
    """The term that a statement computes, if all that it reads can be on tapes. `own`
    are the names that the loop binds."""
    widths: list[Size] = []
    positions: list[Param] = []
    fold: tuple[Size, Param] | None = None
    statement = source
    while True:
        exp = statement.exp
        if not isinstance(exp, Screma) or len(statement.pattern) != 1 or exp.scans:
            return None
        if len(exp.arrays) != 1 or not _counts(exp.arrays[0], context):
            return None
        (position,) = exp.function.parameters
        if exp.reduces:
            if not _is_sum(exp.reduces):
                return None
            fold = exp.width, position
        else:
            widths.append(exp.width)
            positions.append(position)
        body = exp.function.body
        *before, last = body.statements or (None,)
        if last is None or body.result != (last.pattern[0].name,):
            return None
        if fold is not None or not isinstance(last.exp, Screma):
            break
        if before:
            return None
        statement = last
    sizes = [*widths, *([fold[0]] if fold is not None else [])]
    if not widths or own & frozenset().union(*(size.names() for size in sizes)):
        return None
    made, kept, at = set[Name](), set[Name](), set[Atom]()
    for each in body.statements:
        exp = each.exp
        if not isinstance(exp, core.Index | core.ScalarOp):
            return None
        needed = frozenset(free_names(exp))
        if isinstance(exp, core.Index) and (exp.array in own or exp.slice[0] in own):
            found = _row(exp, own, fold, form, context)
            if found is None:
                return None
            needed, first = found, exp.slice[0]
            (made if exp.array in own else kept).add(exp.array)
            if exp.array not in own and not isinstance(first, core.DimSlice):
                at.add(first)
        if needed & own or (fold is not None and fold[1].name in needed):
            return None
    if len(at) > 1:
        return None
    return RoundTerm(
        number, tuple(widths), tuple(positions), fold, body.statements,
        body.result[0], frozenset(made), frozenset(kept), frozenset(at), frozenset(),
    )  # fmt: skip


def _row(
    exp: core.Index,
    own: frozenset[Name],
    fold: tuple[Size, Param] | None,
    form: core.ForLoop,
    context: StatementContext,
) -> frozenset[Name] | None:
    """The names in the places of an element behind those of the round and of the
    dimension that is summed, if it has these."""
    array, places = exp.array, exp.slice
    shape = shape_of(context.scope[array])
    if any(isinstance(place, core.DimSlice) for place in places):
        return None
    if array in own:
        if size_names(context.scope[array]) & own:
            return None  # no tape has rows of various sizes
    else:
        if shape[0] != atom_size(form.bound):
            return None
        if not _is_bijective(places[0], form, context):
            return None
        shape, places = shape[1:], places[1:]
    if fold is not None:
        if not places or places[0] != fold[1].name or shape[0] != fold[0]:
            return None
        places = places[1:]
    return frozenset(place for place in places if isinstance(place, Name))


def _counts(array: Name, context: StatementContext) -> bool:
    match context.definition(array):
        case core.Iota(_, Constant(0), Constant(1), element):
            return element == I64
    return False


def _is_sum(reduces: tuple[Reduce, ...]) -> bool:
    if len(reduces) != 1 or len(reduces[0].neutral) != 1:
        return False
    body = reduces[0].operator.body
    match body.statements:
        case (Stm(_, core.ScalarOp(operator)),):
            return operator.name == "add"
    return False


def _is_bijective(
    at: Atom | core.DimSlice, form: core.ForLoop, context: StatementContext
) -> bool:
    """Whether it counts all rounds, up or down."""
    if at == form.index:
        return True
    match None if isinstance(at, core.DimSlice) else context.definition(at):
        case core.ScalarOp(operator, (last, index)) if index == form.index:
            before = context.definition(last)
            if operator.name != "sub":
                return False
            if isinstance(form.bound, Constant):
                return last == i64(int(form.bound.value) - 1)
            match before:
                case core.ScalarOp(inner, (count, Constant(1))):
                    return inner.name == "sub" and count == form.bound
    return False
