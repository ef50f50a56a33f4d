"""How wide the borders of a nest are: outside of them, its conditions are decided.

    if i == 0 then .. else a[i - 1]                      1 below
    if i + d - 1 >= 0 && i + d - 1 < n  (d < 3)          1 below, 1 above
    a[min(n - 1, i + 2)]                                 2 above
    a[max(0, min(n - 1, i + d))]     (-2 < d < 3)        1 below, 2 above
    a[(i + n - 1) % n], a[abs(i - 1)]                    1 below

Each condition is an inequality `form >= 0`. Where the form has one index of the nest,
with the coefficient 1 or -1, and besides it a number within known limits, and perhaps
the width of that dimension, it changes once, at a known distance from one of the ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import Form, combine, constant_of, difference, number
from minifut.ir import core
from minifut.ir.core import ForLoop, Iota, Loop, ScalarOp, Stm
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import walk
from minifut.names import Name
from minifut.passes.split.nest import ScalarNest

DEEPEST = 3
"""clamps and branches within each other that are looked through"""
CLAMPS = ("min", "max", "abs")
WIDEST = 16
"""positions of a border; where more are special, they are no border"""

Border = tuple[int, int]
"""positions below and above the interior of a dimension"""


def borders(facts: Facts, nest: ScalarNest) -> tuple[Border, ...]:
    """For each dimension how many positions at its ends the conditions single out."""
    with facts.inner():
        for level in nest.levels:
            facts.run_over(level.index, facts.form(level.width), "the map")
        for statement in nest.body:
            define_within(facts, statement)
        found = [(0, 0)] * len(nest.levels)
        for statement in nest.body:
            for node in walk(statement):
                for dimension, border in _asked_by(facts, nest, node):
                    low, high = found[dimension]
                    found[dimension] = max(low, border[0]), max(high, border[1])
    return tuple(found)


def define_within(facts: Facts, statement: Stm) -> None:
    """Define a statement and all inside of it, with the numbers of inner loops."""
    for node in walk(statement):
        match node:
            case Loop(form=ForLoop(index, bound, _)):
                facts.run_over(index, facts.form(bound), "the loop")
            case Screma() | Scatter() | Hist():
                for parameter, array in zip(
                    node.function.parameters, node.arrays, strict=True
                ):
                    source = facts.definition(array)
                    if isinstance(source, Iota) and source.start == core.Constant(
                        0, source.element
                    ):
                        facts.run_over(parameter.name, facts.form(node.width), "a map")
            case Stm():
                facts.define(node)


def _asked_by(
    facts: Facts, nest: ScalarNest, node: object
) -> Iterator[tuple[int, Border]]:
    """The borders that the conditions of an expression need."""
    if not isinstance(node, ScalarOp) or node.operator.name not in DECIDED:
        return
    if not node.operator.operands[0].is_integer:
        return
    operands = (*node.operands, core.Constant(0, node.operator.operands[0]))[:2]
    for left, right in itertools.product(*(_unclamped(facts, o) for o in operands)):
        for alternatives in DECIDED[node.operator.name](left, right):
            options = [b for form in alternatives for b in _border(facts, nest, form)]
            if options:
                yield min(options, key=lambda option: sum(option[1]))


def _unclamped(facts: Facts, operand: core.Atom, depth: int = 0) -> list[Form]:
    """What an operand may be: where it is a clamp, an absolute value or a branch, what
    that is of, which is what it is in the interior."""
    parts: list[core.Atom] = []
    if depth < DEEPEST and isinstance(operand, Name):
        match facts.definitions.get(operand, (None, 0)):
            case (ScalarOp(operator, operands), _) if operator.name in CLAMPS:
                parts += operands
            case (core.If(_, then, otherwise), at):
                parts += [then.result[at], otherwise.result[at]]
    forms = [form for part in parts for form in _unclamped(facts, part, depth + 1)]
    return forms or [facts.form(operand)]


def _border(facts: Facts, nest: ScalarNest, form: Form) -> Iterator[tuple[int, Border]]:
    """Where `form >= 0` changes, if that is near an end of a dimension."""
    indices = [level.index for level in nest.levels]
    used = [k for k, index in enumerate(indices) if (index,) in form]
    if len(used) != 1:
        return
    dimension = used[0]
    slope = form[indices[dimension],]
    if abs(slope) != 1:
        return
    rest = {m: c for m, c in form.items() if m != (indices[dimension],)}
    width = facts.form(nest.levels[dimension].width)
    low, high = facts.range_of_form(rest)
    below = (-low if slope == 1 else high + 1), 0
    low, high = facts.range_of_form(combine(rest, 1, width, slope))
    above = 0, (high if slope == 1 else -low - 1)
    for wide in (below, above):
        if 0 < sum(wide) <= WIDEST:
            yield dimension, wide
            return


def _wraps(a: Form, b: Form) -> list[list[Form]]:
    """A remainder of what runs past one or two multiples of the divisor."""
    if constant_of(b) is not None:
        return []
    below, above = combine(a, 1, b, 1), difference(combine(b, 2, a, -1), number(1))
    return [[below], [a], [difference(b, a, 1)], [above]]


Question: TypeAlias = Callable[[Form, Form], list[list[Form]]]

DECIDED: dict[str, Question] = {
    "lt": lambda a, b: [[difference(b, a, 1)]],
    "le": lambda a, b: [[difference(b, a)]],
    "gt": lambda a, b: [[difference(a, b, 1)]],
    "ge": lambda a, b: [[difference(a, b)]],
    "eq": lambda a, b: [[difference(a, b, 1)], [difference(b, a, 1)]],
    "ne": lambda a, b: [[difference(a, b, 1)], [difference(b, a, 1)]],
    "min": lambda a, b: [[difference(b, a), difference(a, b)]],
    "max": lambda a, b: [[difference(b, a), difference(a, b)]],
    "abs": lambda a, b: [[a]],
    "mod": _wraps,
    "rem": _wraps,
}
"""for each operator what has to be decided: one form of each list, `form >= 0`"""
