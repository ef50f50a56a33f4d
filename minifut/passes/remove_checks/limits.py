"""Which results of a SOAC have elements that are indices of as many elements.

    let starts = map(n, (is), i -> if first(i) then i else 0)     0 <= starts[..] < n
    let latest = scanomap(n, (starts), scan(max, 0), ..)          0 <= latest[..] < n

What is scanned by a maximum or minimum is one of the elements, or the neutral one.
"""

from __future__ import annotations

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import Form, difference
from minifut.ir import core, soacs, types


def limited_results(facts: Facts, exp: object, width: Form) -> list[bool]:
    """For each result, while the facts of the function hold; nothing of other SOACs."""
    if not isinstance(exp, soacs.Screma):
        return []
    function = exp.function
    inside = [
        type_ == types.I64 and _is_index(facts, atom, width)
        for atom, type_ in zip(function.body.result, function.results, strict=True)
    ]
    at = 0
    for scan in exp.scans:
        count = len(scan.neutral)
        kept = count == 1 and inside[at] and _selects(facts, scan, width)
        inside[at : at + count] = [kept] * count
        at += count
    for reduce_ in exp.reduces:
        count = len(reduce_.neutral)
        inside[at : at + count] = [False] * count
        at += count
    return inside


def _is_index(facts: Facts, atom: core.Atom, width: Form) -> bool:
    return facts.natural_atom(atom) is not None and facts.below(atom, width) is not None


def _selects(facts: Facts, scan: soacs.Scan, width: Form) -> bool:
    """Whether it is by a maximum or minimum whose neutral element does no harm."""
    body, (neutral,) = scan.operator.body, scan.neutral
    if len(body.statements) != 1:
        return False
    (statement,) = body.statements
    if body.result != (statement.pattern[0].name,):
        return False
    exp = statement.exp
    names = {p.name for p in scan.operator.parameters}
    if not isinstance(exp, core.ScalarOp) or set(exp.operands) != names:
        return False
    match exp.operator.name:
        case "max":
            return facts.proves(difference(width, facts.form(neutral), 1)) is not None
        case "min":
            return facts.natural_atom(neutral) is not None
    return False
