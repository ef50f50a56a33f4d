r"""Nests of maps that compute scalars, level by level.

    map(n, (is), \i -> { let x = .. return map(m, (js), \j -> {..}) })

Each level has its width, the elements that it takes, and what it computes before the
next level, or in the end. A level's index is what it takes from `iota`. The innermost
level may reduce what it computes, too, and then those around it what it has reduced.
"""

from __future__ import annotations

from minifut.analysis.facts import Facts
from minifut.immutables import fixed
from minifut.ir import core
from minifut.ir.core import Atom, Copy, Exp, Index, Param, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Reduce, Screma, operand_count
from minifut.ir.types import ScalarType
from minifut.names import Name, NameSource
from minifut.passes.simplify.positions import is_zero_based_iota

DEEPEST = 3
"""dimensions of a nest"""
SMALL = 32
"""width of a SOAC that flattening leaves in its thread"""
BEFORE_INNER = (core.ScalarOp, core.SizeExp, Index, core.Rearrange, core.Reshape, Copy)
"""what may occur before an inner map of a nest: it is cheap to repeat, or a view"""


@fixed
class NestLevel:
    """`statements` follow the parameters; those of the innermost level are its body."""

    width: Size
    index: Name
    parameters: tuple[Param, ...]
    arrays: tuple[Name, ...]
    statements: tuple[Stm, ...]
    reduces: tuple[Reduce, ...]

    @property
    def reduced(self) -> int:
        """How many results, the first ones, are reduced."""
        return operand_count(self.reduces)

    def elements(self, iotas: frozenset[Name]) -> tuple[Stm, ...]:
        """What the parameters are at the position `index`."""
        made = []
        for parameter, array in zip(self.parameters, self.arrays, strict=True):
            if array in iotas:
                if parameter.name != self.index:
                    made.append(Stm((parameter,), Copy(self.index)))
            else:
                made.append(Stm((parameter,), Index(array, (self.index,))))
        return tuple(made)


@fixed
class ScalarNest:
    """Levels from the outermost inwards; `results` are scalars of these `types`;
    `iotas` are the arrays 0, 1, ... among what the levels take."""

    levels: tuple[NestLevel, ...]
    results: tuple[Atom, ...]
    types: tuple[ScalarType, ...]
    iotas: frozenset[Name]

    @property
    def widths(self) -> tuple[Size, ...]:
        return tuple(level.width for level in self.levels)

    @property
    def body(self) -> tuple[Stm, ...]:
        """All statements of a point, given the indices of all levels."""
        return tuple(
            statement
            for level in self.levels
            for statement in (*level.elements(self.iotas), *level.statements)
        )


def find_nest(exp: Exp, facts: Facts, names: NameSource) -> ScalarNest | None:
    """The nest that an expression is; None if it is none, or computes arrays."""
    levels: list[NestLevel] = []
    iotas: set[Name] = set()
    bound: set[Name] = set()
    while isinstance(exp, Screma) and not exp.scans:
        function = exp.function
        if exp.width.names() & bound:
            return None
        own = {a for a in exp.arrays if is_zero_based_iota(facts.definition(a))}
        iotas |= own
        pairs = list(zip(function.parameters, exp.arrays, strict=True))
        indices = [p.name for p, array in pairs if array in own]
        index = indices[0] if indices else names.fresh("i")
        statements = function.body.statements
        inner = _inner_map(statements, function.body.result)
        deeper = (
            inner is not None
            and len(levels) + 1 < DEEPEST
            and operand_count(exp.reduces) <= operand_count(inner.reduces)
        )
        kept = statements[:-1] if deeper else statements
        made = NestLevel(
            exp.width, index, function.parameters, exp.arrays, kept, exp.reduces
        )
        levels.append(made)
        if deeper:
            bound.update(p.name for p in function.parameters)
            bound.update(p.name for s in kept for p in s.pattern)
            exp = statements[-1].exp
            continue
        types = tuple(t for t in function.results if isinstance(t, ScalarType))
        if len(types) != len(function.results) or not types:
            return None
        result = function.body.result
        return ScalarNest(tuple(levels), result, types, frozenset(iotas))
    return None


def _inner_map(statements: tuple[Stm, ...], result: tuple[Atom, ...]) -> Screma | None:
    """The map, or the reduction of many, whose results are those of a body, after
    nothing but cheap code."""
    if not statements or not isinstance(statements[-1].exp, Screma):
        return None
    last = statements[-1]
    if tuple(p.name for p in last.pattern) != result or last.attributes:
        return None
    if not all(isinstance(s.exp, BEFORE_INNER) for s in statements[:-1]):
        return None
    inner = last.exp_of(Screma)
    width = inner.width.as_constant
    many = width is None or width >= SMALL
    return inner if inner.is_map or (many and not inner.scans) else None
