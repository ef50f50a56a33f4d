"""What an iteration of a loop of the host costs: its work and its commands.

    loop for k < n do              work       n * (n - k) on average over k: n * n / 2
      map over n - k, of 2 * n     commands   2, the kernel and the element read back
      read one element

A command is what the host has the device do: a kernel, or the transfer of an element.
The work counts what runs in vectors as one for each operation and element, and all
else, such as branches, checks, scans and functions of the library, as `SCALAR_COST`
times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import Any

from minifut.analysis.work import (
    Bounds,
    Cost,
    Unbounded,
    greatest_of,
    hidden,
    is_costly,
    upper_bound,
    work_of_expression,
    work_of_statements,
)
from minifut.ir import core
from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Body, Loop
from minifut.ir.node import replace
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Scatter, Screma
from minifut.ir.traverse import atom_size
from minifut.ir.types import shape_of
from minifut.names import Name

SCALAR_COST = 8
"""of an operation on scalars, in elements of a vector operation"""

MAKES_ARRAY = (core.Replicate, core.Iota, core.Concat, core.Manifest, core.Copy)
IN_VECTORS = (core.SizeExp, core.Index, core.Copy)
DIVISIONS = {"div", "sqrt"}
"""what is costly in vectors, too"""


@dataclass(frozen=True, slots=True)
class Step:
    """The mean over the iterations of a loop, in names that are bound outside of it."""

    work: Size
    commands: Size


def step_of(loop: Loop) -> Step | None:
    """What an iteration costs; None where that depends on data or nothing is for the
    device."""
    bounds = hidden(loop.parameters, {})
    statements = loop.body.statements
    try:
        work = work_of_statements(statements, bounds, _work)
        commands = work_of_statements(statements, bounds, _commands)
        match loop.form:
            case core.ForLoop(index, bound, _):
                count = atom_size(bound)
                work = _mean(work, index, count)
                commands = _mean(commands, index, count)
    except Unbounded:
        return None
    if commands == ZERO:
        return None
    return Step(work, commands)


def _work(exp: Any, pattern: tuple[core.Param, ...], bounds: Bounds) -> Size:
    """The work of a statement of the host."""
    match exp:
        case Screma(width, _, _, _, function) if not _in_vectors(exp):
            inner = hidden(function.parameters, bounds)
            each = work_of_statements(function.body.statements, inner, _scalar_work)
            own = replace(exp, function=replace(function, body=Body((), ())))
            folds = work_of_expression(own, pattern, bounds)
            return upper_bound(width, bounds) * each + folds * SCALAR_COST
        case Scatter() | Hist():
            return work_of_expression(exp, pattern, bounds) * SCALAR_COST
    return _of_bodies(exp, bounds, _work) or work_of_expression(exp, pattern, bounds)


def _scalar_work(exp: Any, pattern: tuple[core.Param, ...], bounds: Bounds) -> Size:
    """The same inside of a SOAC that is not done in vectors."""
    if isinstance(exp, SOAC_EXPRESSIONS):
        return _work(exp, pattern, bounds)
    return work_of_expression(exp, pattern, bounds) * SCALAR_COST


def _commands(exp: Any, pattern: tuple[core.Param, ...], bounds: Bounds) -> Size:
    """How many commands a statement of the host is."""
    match exp:
        case WithAcc() | core.Update():
            return ONE
        case core.Index():
            return ZERO if shape_of(pattern[0].type) else ONE
    inside = _of_bodies(exp, bounds, _commands)
    if inside is not None:
        return inside
    arrays = any(shape_of(bound.type) for bound in pattern)
    made = isinstance(exp, MAKES_ARRAY) and arrays
    return ONE if made or isinstance(exp, SOAC_EXPRESSIONS) else ZERO


def _of_bodies(exp: Any, bounds: Bounds, cost: Cost) -> Size | None:
    """The cost of a loop or branch of the host; None of anything else."""
    match exp:
        case Loop(parameters, _, core.ForLoop(index, bound, _), body):
            steps = upper_bound(atom_size(bound), bounds)
            inner = {**hidden(parameters, bounds), index: steps}
            return steps * work_of_statements(body.statements, inner, cost)
        case Loop() | core.Apply():
            raise Unbounded
        case core.If() | core.Match():
            bodies = [body.statements for body in exp.branches]
            return greatest_of([work_of_statements(s, bounds, cost) for s in bodies])
    return None


def _mean(size: Size, index: Name, count: Size) -> Size:
    """The mean of a polynomial over 0 <= index < count: that of index^p is about
    count^p / (p + 1)."""
    if any(
        not isinstance(atom, Name) and index in Size.of(atom).names()
        for monomial, _ in size.terms
        for atom in monomial
    ):
        return upper_bound(size, {index: count})
    powers = [monomial.count(index) for monomial, _ in size.terms]
    common = lcm(*(power + 1 for power in powers))
    total = ZERO
    for (monomial, coefficient), power in zip(size.terms, powers, strict=True):
        rest = tuple(atom for atom in monomial if atom != index)
        term = Size(((rest, coefficient * common // (power + 1)),))
        for _ in range(power):
            term = term * count
        total = total + term
    return total // Size.constant(common)


def _in_vectors(soac: Any) -> bool:
    """Whether a loop over the elements becomes vectors: each gives values by a row of
    plain operators."""
    if not isinstance(soac, Screma) or soac.scans:
        return False
    return all(map(_is_plain, soac.function.body.statements))


def _is_plain(statement: core.Stm) -> bool:
    exp = statement.exp
    if not isinstance(exp, core.ScalarOp):
        return isinstance(exp, IN_VECTORS)
    return not is_costly(exp.operator) or exp.operator.name in DIVISIONS
