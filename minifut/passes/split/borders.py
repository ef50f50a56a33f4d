"""How wide the borders of a nest are: outside of them, its conditions are decided.

    if i == 0 then .. else a[i - 1]                      1 below
    if i + d - 1 >= 0 && i + d - 1 < n  (d < 3)          1 below, 1 above
    a[min(n - 1, i + 2)]                                 2 above
    a[max(0, min(n - 1, i + d))]     (-2 < d < 3)        1 below, 2 above
    a[(i + n - 1) % n], a[abs(i - 1)]                    1 below
    s[min(n, i + r)] - s[max(0, i - r)]                  r below, r - 1 above

Each condition is an inequality `form >= 0`. Where the form has one index of the nest,
with the coefficient 1 or -1, and besides it a number within known limits, and perhaps
the width of that dimension, it changes once, at a known distance from one of the ends.
The distance of a clamp may also be a number that is known only when the program runs,
such as the radius of a window, and then that of other conditions, too.

Clamps along an outer dimension are the same for a row, and cost nothing beside it:
where only such are decided there, and the body has no loops, they stay, and rows at the
border are as fast as others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TypeAlias, TypeGuard

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import Form, combine, constant_of, difference, number
from minifut.analysis.facts.known import SIZE_LIMIT
from minifut.ir import core, search, traverse, types
from minifut.ir.core import ForLoop, Iota, Loop, ScalarOp, Stm
from minifut.ir.node import mutable
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.names import Name
from minifut.passes.split.nest import ScalarNest

DEEPEST = 3
"""clamps and branches within each other that are looked through"""
CLAMPS = ("min", "max", "abs")
LOOPS = (Loop, Screma, Hist, Scatter)
WIDEST = 16
"""positions of a border; where more are special, they are no border"""

Border = tuple[int, int]
"""positions below and above the interior of a dimension"""
End: TypeAlias = tuple[int, bool]
"""of a dimension: the upper one, or the lower one"""


@mutable
class Borders:
    """For each dimension how many positions at its ends the conditions single out, and
    how many more than once the program runs (`distances`, each by the end it is from).
    Their `radii` are the names that these distances consist of."""

    fixed: list[Border]
    distances: dict[End, list[Form]] = field(default_factory=dict)
    radii: set[Name] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.distances) or any(map(sum, self.fixed))

    def add(self, end: End, distance: Form) -> None:
        """Of distances that differ by a number the longest counts."""
        known = self.distances.setdefault(end, [])
        for at, other in enumerate(known):
            longer = constant_of(difference(distance, other))
            if longer is not None:
                known[at] = distance if longer > 0 else other
                return
        known.append(distance)


def borders(facts: Facts, nest: ScalarNest) -> Borders:
    """What the conditions of a nest single out."""
    asked = [n for s in nest.body for n in traverse.walk(s) if _decides(n)]
    found = Borders([(0, 0)] * len(nest.levels))
    needed = _dimensions_of_rows(nest)
    with facts.inner():
        _enter(facts, nest)
        for node in asked:
            for dimension, border in _borders_of(facts, nest, node):
                low, high = found.fixed[dimension]
                found.fixed[dimension] = max(low, border[0]), max(high, border[1])
                if node.operator.name not in CLAMPS:
                    needed.add(dimension)
    for dimension in range(len(nest.levels)):
        if dimension not in needed:
            found.fixed[dimension] = 0, 0
    clamps = [n for n in asked if n.operator.name in ("min", "max")]
    outside = _Outside(facts, nest)
    if clamps and outside.names:
        with facts.inner():
            for name in outside.names:
                facts.run_over(name, number(SIZE_LIMIT), "a radius")
            _enter(facts, nest)
            for node in clamps:
                outside.learn(node, found)
            for node in asked if found.radii else ():
                outside.learn(node, found)
    return found


def _dimensions_of_rows(nest: ScalarNest) -> set[int]:
    """Those along which clamps are not the same for a row: the last one that is mapped
    and those inside of it, all if the body has loops."""
    if any(search.contains(s, LOOPS) for s in nest.body):
        return {*range(len(nest.levels))}
    mapped = [at for at, level in enumerate(nest.levels) if not level.reduces]
    return {*range(max(mapped, default=0), len(nest.levels))}


def _enter(facts: Facts, nest: ScalarNest) -> None:
    for level in nest.levels:
        facts.run_over(level.index, facts.form(level.width), "the map")
    for statement in nest.body:
        define_within(facts, statement)


def define_within(facts: Facts, statement: Stm) -> None:
    """Define a statement and all inside of it, with the numbers of inner loops."""
    for node in traverse.walk(statement):
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


def _decides(node: object) -> TypeGuard[ScalarOp]:
    """Whether it is an operator on integers that facts may decide."""
    return (
        isinstance(node, ScalarOp)
        and node.operator.name in DECIDED
        and node.operator.operands[0].is_integer
    )


def _questions(facts: Facts, node: ScalarOp) -> Iterator[list[Form]]:
    """The alternatives of which one has to be decided, for all that operands may be."""
    operands = (*node.operands, core.Constant(0, node.operator.operands[0]))[:2]
    for left, right in itertools.product(*(_unclamped(facts, o) for o in operands)):
        yield from DECIDED[node.operator.name](left, right)


def _borders_of(
    facts: Facts, nest: ScalarNest, node: ScalarOp
) -> Iterator[tuple[int, Border]]:
    """The borders that the conditions of an expression need."""
    for alternatives in _questions(facts, node):
        options = [b for form in alternatives for b in _border(facts, nest, form)]
        if options:
            yield min(options, key=lambda option: sum(option[1]))


class _Outside:
    """Finds distances that consist of numbers known before the nest (`names`), other
    than the sizes of arrays. They are taken to be sizes, which is tested."""

    def __init__(self, facts: Facts, nest: ScalarNest) -> None:
        self.facts, self.nest = facts, nest
        used = {name for s in nest.body for name in traverse.free_names(s)}
        inside = {name for s in nest.body for name in traverse.bound_names(s)}
        inside.update(level.index for level in nest.levels)
        self.names = {
            name
            for name in used - inside
            if facts.types[name] == types.I64 and facts.range_of(name)[0] < 0
        }

    def learn(self, node: ScalarOp, found: Borders) -> None:
        """Enter the distances that an expression requires: of clamps any, of others
        those that consist of known radii."""
        is_clamp = node.operator.name in ("min", "max")
        for alternatives in _questions(self.facts, node):
            for form in alternatives:
                for end, distance in self.distances(form):
                    names = {a for m in distance for a in m if isinstance(a, Name)}
                    if is_clamp or names <= found.radii:
                        found.radii |= names
                        found.add(end, distance)

    def distances(self, form: Form) -> Iterator[tuple[End, Form]]:
        """Where `form >= 0` changes, as the number of positions from an end."""
        indices = [level.index for level in self.nest.levels]
        used = [k for k, index in enumerate(indices) if (index,) in form]
        if len(used) != 1 or abs(form[indices[used[0]],]) != 1:
            return
        (dimension,) = used
        slope = form[indices[dimension],]
        rest = {m: c for m, c in form.items() if m != (indices[dimension],)}
        width = self.facts.form(self.nest.levels[dimension].width)
        below = combine(rest, -slope, number(slope < 0), 1)
        above = combine(combine(rest, 1, width, slope), slope, number(slope < 0), -1)
        for upper, distance in ((False, below), (True, above)):
            names = [m[0] for m in distance if len(m) == 1]
            is_sum = len(names) == sum(map(bool, distance))
            grows = any(distance[name,] > 0 for name in names)
            if grows and is_sum and self.names.issuperset(names):
                yield (dimension, upper), distance
                return


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
    behind = [[difference(b, a, 1)], [above]]
    return behind if list(a.values()) == [1] else [[below], [a], *behind]


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
