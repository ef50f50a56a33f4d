"""Loops of the host without the code for points at borders.

What tests of positions decide has the interior as its first branch (`passes.split`). By
what is the same for all points these are divided into ranges
(`kernel_passes.split_loop`).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from minifut.ir import core
from minifut.ir.core import Body, Loop
from minifut.ir.node import replace
from minifut.ir.soacs import Screma
from minifut.ir.traverse import bound_names, free_names
from minifut.names import Name


def without_borders(loop: Loop) -> Loop:
    """The loop without code for points at borders: what tests of positions decide has
    the interior as its first branch (`passes.split`)."""
    names = frozenset(bound_names(loop))
    return replace(loop, body=_interior(loop.body, frozenset(), frozenset(), names))


def _interior(
    body: Body, positions: Set[Name], same: Set[Name], inside: frozenset[Name]
) -> Body:
    """A body with these positions and tests of them; of the names bound `inside`
    of the loop, others depend on data that it changes. What is the `same` for all
    points divides them into ranges (`kernel_passes.split_loop`): that of the heavier
    branch counts, and checks and rotated positions cost nothing."""
    known, same = set(positions), set(same)
    divided: set[Name] = known | same
    sums = set[core.Atom]()
    statements: list[core.Stm] = []

    def within(names: Set[Name], used: Iterable[Any]) -> bool:
        return all(
            not isinstance(atom, Name) or atom in names or atom not in inside
            for atom in used
        )

    def is_sum(exp: core.Exp) -> bool:
        """Whether it is a position and a number that is the same for all points."""
        if not isinstance(exp, core.ScalarOp) or exp.operator.name not in (
            "add",
            "sub",
        ):
            return False
        a, b = exp.operands
        if exp.operator.name == "add" and b in known:
            a, b = b, a
        return a in known and within(same, (b,))

    for statement in body.statements:
        exp, bound = statement.exp, {p.name for p in statement.pattern}
        used = free_names(exp)
        if isinstance(exp, core.ScalarOp | core.SizeExp):
            for names in (known, same, divided):
                names |= bound if within(names, used) else set()
            if is_sum(exp):
                sums |= bound
        match exp:
            case core.Index() if within(same, used):
                same |= bound
                divided |= bound
            case core.If(condition, then) if condition in known:
                inner = _interior(then, known, same, inside)
                statements.extend(inner.statements)
                continue
            case core.If(condition, then, otherwise) if condition in divided:
                heavier = max(then, otherwise, key=lambda arm: len(arm.statements))
                inner = _interior(heavier, known, same, inside)
                statements.extend(inner.statements)
                continue
            case core.Assert(condition) if condition in divided:
                continue
            case core.ScalarOp(operator, (number, by)) if (
                operator.name == "mod" and number in sums and within(same, (by,))
            ):
                statement = replace(statement, exp=core.Copy(number))
            case Screma(_, arrays, _, _, function) as soac:
                pairs = zip(function.parameters, arrays, strict=False)
                more = {p.name for p, array in pairs if array not in inside}
                outer = inside - {*bound_names(function)}
                inner = _interior(function.body, known | more, outer, inside)
                soac = replace(soac, function=replace(function, body=inner))
                statement = replace(statement, exp=soac)
        statements.append(statement)
    return replace(body, statements=tuple(statements))
