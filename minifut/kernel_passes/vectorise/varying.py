"""Which variables of a body differ between points.

A variable varies if what it gets varies, or if it is assigned where only some points
come by: in a branch or loop whose condition varies. Assignments may occur below uses
(loops go round), so the set grows until it stays. What counts the rounds of a loop does
not vary where all points that come by begin with the same number. Registers of tiles
always vary: they hold the values of neighbouring points. So do arrays that each point
has for itself, whose names may be among those that vary.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from typing import Any

from minifut.ir.calls import reachable
from minifut.ir.fields import lister_of
from minifut.ir.search import nodes_of
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.names import Name

_Flows = defaultdict[object, list[object]]
"""for each name, or class of what is read, what depends on it"""


def find_varying(
    statements: Sequence[kc.Statement], given: Iterable[Name]
) -> frozenset[Name]:
    """The names of all varying variables, such as those that only some points assign;
    `given` are those from outside."""
    flows: _Flows = defaultdict(list)
    _add_flows(statements, flows, (), by_branches=True, by_rounds=False)
    varying = reachable(flows, {*given, kc.Register})
    return frozenset(name for name in varying if isinstance(name, Name))


def find_loaded(
    statements: Sequence[kc.Statement], by_branches: bool = True
) -> Set[object]:
    """What depends on loads or registers of tiles: what `varies` with it does. With
    `by_branches`, what is assigned where a loaded condition holds is among it.

        long at = is[i];                  at depends on a load,
        float x = xs[i * m + at];         so this load has a data-dependent address
    """
    flows: _Flows = defaultdict(list)
    _add_flows(statements, flows, (), by_branches, by_rounds=True)
    return reachable(flows, {kc.Load, kc.Register})


def varies(exp: kc.Expression, varying: Collection[object]) -> bool:
    """Whether the value of an expression differs between points."""
    return any(name is kc.Register or name in varying for name in _sources_of(exp))


def _sources_of(exp: kc.Expression) -> list[object]:
    """The names that the value of an expression depends on, and the classes of loads
    and registers if it has some."""
    found: list[object] = []
    nodes: list[Any] = [exp]
    for node in nodes:
        cls = type(node)
        if cls is kc.Variable:
            found.append(node.name)
            continue
        if cls is kc.SizeValue:
            found += node.size.names()
        elif cls is kc.Load:
            found += (kc.Load, node.memory.name)
        elif cls is kc.Register:
            found.append(kc.Register)
        children_of = lister_of(cls)
        if children_of is not None:
            nodes += children_of(node)
    return found


def changed_types(statements: Sequence[kc.Statement]) -> set[ScalarType]:
    """The types of the variables that get more than a first value, other than those
    that count."""
    return {node.target.type.scalar for node in nodes_of(kc.Assign, *statements)}


def _add_flows(
    statements: Iterable[kc.Statement],
    flows: _Flows,
    around: tuple[kc.Statement, ...],
    by_branches: bool,
    by_rounds: bool,
) -> None:
    """Add for each name what varies if it does: variables, and statements that not all
    points come by, as those `around` these may be. With `by_rounds`, how many rounds
    there are decides what counts them."""
    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(name, _), init) if init is not None:
                for source in _sources_of(init):
                    flows[source].append(name)
            case kc.Assign(kc.Variable(name, _), exp):
                for source in (*_sources_of(exp), *around):
                    flows[source].append(name)
            case _ if blocks := kc.blocks_of(statement):
                for exp in kc.expressions_of(statement):
                    for source in _sources_of(exp):
                        flows[source].append(statement)
                if isinstance(statement, kc.For):
                    counter = statement.variable.name
                    if by_rounds:
                        flows[statement].append(counter)
                    for exp in (statement.start, statement.step):
                        for source in _sources_of(exp):
                            flows[source].append(counter)
                inside = (*around, statement) if by_branches else around
                for block in blocks:
                    _add_flows(block.statements, flows, inside, by_branches, by_rounds)
