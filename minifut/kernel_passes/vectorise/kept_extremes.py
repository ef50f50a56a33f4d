"""Loops that keep the element with the extreme key, and its place.

    for (i = 0; i < n; i++) {
        x = xs[i];                      the first of the greatest x
        if (x > best) {
            best = x; place = i;
        }
    }

That a body does so is proved by cases (`ir.cases`), as for operators of the core: it is
evaluated for an element whose key is less, equal, greater, or a NaN. A loop that keeps
an element where one of both keys is a NaN keeps an extreme if there is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir import alpha, cases, scalars, search, traverse
from minifut.ir.node import immutable
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.names import Name

KEY, PLACE = 0, 1
PLAIN = (kc.Declare, kc.Assign, kc.Branch, kc.Comment)
OUTCOMES = (1, 0, -1, None)
"""the key kept so far is greater, equal, less; one of both keys is a NaN"""


@immutable
class KeptExtreme:
    """A loop that keeps the key and the place of an extreme element: the first one, or
    the last, of equal ones."""

    best: kc.Variable
    key: kc.Variable
    greatest: bool
    first: bool
    keeps_nan: bool
    """whether it keeps the next element where one of both keys is a NaN"""
    element: tuple[kc.Statement, ...]
    """what declares the key of an element"""


def kept_extreme(loop: kc.For) -> KeptExtreme | None:
    """What a loop keeps, if it is an extreme and its place."""
    body = loop.body.statements
    kept = assigned(body) - declared(body)
    if len(kept) != 2:
        return None
    nodes = [node for s in body for node in traverse.walk(s)]
    variables = {n.name: n for n in nodes if isinstance(n, kc.Variable)}
    keys = [variables[n] for n in kept if variables[n].type.scalar.is_float]
    places = [variables[n] for n in kept if variables[n].type == loop.variable.type]
    if len(keys) != 1 or len(places) != 1:
        return None
    (best,), (place,) = keys, places
    key = _key(nodes, best)
    if key is None:
        return None
    element = _element(body, key)
    if element is None:
        return None
    results = [_kept(loop, best, place, key, outcome) for outcome in OUTCOMES]
    match results:
        case [bool() as less, bool() as equal, bool() as greater, bool() as nan]:
            if less != greater:
                return KeptExtreme(best, key, greater, not equal, nan, element)
    return None


def _key(nodes: Sequence[object], best: kc.Variable) -> kc.Variable | None:
    """What is compared with the best key so far."""
    found: list[kc.Expression] = []
    for node in nodes:
        if isinstance(node, kc.Operation) and node.operator.name in scalars.COMPARE:
            pair = [o for o in node.operands if not _is(o, best)]
            if len(pair) == 1:
                found.append(pair[0])
    if not found or not all(alpha.alpha_equal(found[0], other) for other in found):
        return None
    return found[0] if isinstance(found[0], kc.Variable) else None


def _is(exp: kc.Expression, variable: kc.Variable) -> bool:
    return isinstance(exp, kc.Variable) and exp.name == variable.name


def _element(
    body: Sequence[kc.Statement], key: kc.Variable
) -> tuple[kc.Statement, ...] | None:
    """The declarations that the key of an element needs; None if these are not all that
    gives it a value."""
    needed, given, kept = {key.name}, set[Name](), list[kc.Statement]()
    for s in reversed(body):
        match s:
            case kc.Declare(kc.Variable(name), kc.Expression() as init):
                if name in needed:
                    parts = search.nodes_of(kc.Variable, init)
                    needed.update(part.name for part in parts)
                    given.add(name)
                    kept.append(s)
    if (needed & declared(body)) - given or needed & assigned(body):
        return None
    return tuple(kept[::-1])


def _kept(
    loop: kc.For,
    best: kc.Variable,
    place: kc.Variable,
    key: kc.Variable,
    outcome: int | None,
) -> bool | None:
    """Whether an element with such a key is kept; None if that is not all there is."""
    # an element comes after those that were kept
    outcomes = {KEY: outcome, PLACE: -1}
    known: dict[Name, cases.KnownOutcome] = {
        best.name: cases.component(KEY, cases.LEFT, outcomes),
        place.name: cases.component(PLACE, cases.LEFT, outcomes),
        loop.variable.name: cases.component(PLACE, cases.RIGHT, outcomes),
    }
    if not _run(loop.body.statements, known, key.name, outcomes):
        return None
    sides = cases.chosen((known[best.name], known[place.name]))
    return cases.RIGHT in sides if len(sides) == 1 else None


def _run(
    statements: Sequence[kc.Statement],
    known: dict[Name, cases.KnownOutcome],
    key: Name,
    outcomes: cases.Outcomes,
) -> bool:
    """Follow statements; whether all branches are decided."""
    for s in statements:
        if not isinstance(s, PLAIN):
            return False
        match s:
            case kc.Declare(kc.Variable(name), init):
                value = None if init is None else _value(init, known, outcomes)
                new = cases.component(KEY, cases.RIGHT, outcomes)
                known[name] = new if name == key else value
            case kc.Assign(kc.Variable(name), exp):
                if name == key:
                    return False
                known[name] = _value(exp, known, outcomes)
            case kc.Branch(condition, then, otherwise):
                holds = _value(condition, known, outcomes)
                if not isinstance(holds, bool):
                    return False
                side = then if holds else otherwise
                if side and not _run(side.statements, known, key, outcomes):
                    return False
    return True


def _value(
    exp: kc.Expression, known: dict[Name, cases.KnownOutcome], outcomes: cases.Outcomes
) -> cases.KnownOutcome:
    match exp:
        case kc.Variable(name):
            return known.get(name)
        case kc.Literal(bool() as truth):
            return truth
        case kc.Select(condition, then, otherwise):
            holds = _value(condition, known, outcomes)
            if isinstance(holds, bool):
                return _value(then if holds else otherwise, known, outcomes)
        case kc.Operation(table, operands):
            values = [_value(o, known, outcomes) for o in operands]
            return cases.computed(table.name, values, outcomes)
    return None
