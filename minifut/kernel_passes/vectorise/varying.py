"""Which variables of a body differ between points.

A variable varies if what it gets varies, or if it is assigned where only some points
come by: in a branch or loop whose condition varies. Assignments may occur below uses
(loops go round), so the set grows until it stays. What counts the rounds of a loop does
not vary where they are the same for all points that come by. Registers of tiles always
vary: they hold the values of neighbouring points. So do arrays that each point has for
itself, whose names may be among those that vary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir.traverse import walk
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.names import Name


def find_varying(
    statements: Sequence[kc.Statement], given: Iterable[Name], by_branches: bool = True
) -> frozenset[Name]:
    """The names of all varying variables; `given` are those from outside. With
    `by_branches`, what only some points assign varies."""
    varying = set(given)
    while True:
        before = len(varying)
        _grow(statements, varying, by_branches)
        if len(varying) == before:
            return frozenset(varying)


def find_loaded(body: kc.Block, by_branches: bool = True) -> frozenset[Name]:
    """The memories that a body loads, and the variables that depend on the loads."""
    loads = {node.memory.name for node in walk(body) if isinstance(node, kc.Load)}
    return find_varying(body.statements, loads, by_branches)


def varies(exp: kc.Expression, varying: Iterable[Name]) -> bool:
    """Whether the value of an expression differs between points."""
    for node in walk(exp):
        if isinstance(node, kc.Register):
            return True
        if isinstance(node, kc.Variable) and node.name in varying:
            return True
        if isinstance(node, kc.Load) and node.memory.name in varying:
            return True
        if isinstance(node, kc.SizeValue) and not node.size.names().isdisjoint(varying):
            return True
    return False


def changed_types(statements: Sequence[kc.Statement]) -> set[ScalarType]:
    """The types of the variables that get more than a first value, other than those
    that count."""
    return {
        node.target.type.scalar
        for statement in statements
        for node in walk(statement)
        if isinstance(node, kc.Assign)
    }


def _grow(
    statements: Sequence[kc.Statement],
    varying: set[Name],
    by_branches: bool,
    some: bool = False,
) -> None:
    """Add what the statements make varying; `some`: not all points come by."""
    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(name, _), init) if init is not None:
                if varies(init, varying):
                    varying.add(name)
            case kc.Assign(kc.Variable(name, _), exp):
                if some or varies(exp, varying):
                    varying.add(name)
            case _ if blocks := kc.blocks_of(statement):
                expressions = kc.expressions_of(statement)
                differs = any(varies(exp, varying) for exp in expressions)
                if differs and isinstance(statement, kc.For):
                    varying.add(statement.variable.name)
                for block in blocks:
                    here = some or (differs and by_branches)
                    _grow(block.statements, varying, by_branches, here)
