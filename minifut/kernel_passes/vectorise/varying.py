"""Which variables of a body differ between points.

A variable varies if what it gets varies, or if it is assigned where only some points
come by: in a branch or loop whose condition varies. Assignments may occur below uses
(loops go round), so the set grows until it stays. What counts the rounds of a loop does
not vary where all points that come by begin with the same number. Registers of tiles
always vary: they hold the values of neighbouring points. So do arrays that each point
has for itself, whose names may be among those that vary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from typing import Any, TypeAlias

from minifut.ir import fields, search, types
from minifut.kernel_ir import nodes as kc
from minifut.names import Name

Flow: TypeAlias = tuple[Set[object], object, int]
"""names, or classes of what is read, what depends on them, and in which searches"""
ALWAYS, BY_BRANCHES, BY_ROUNDS = range(3)
Statements: TypeAlias = "kc.Block | Sequence[kc.Statement]"


def find_varying(statements: Statements, given: Iterable[Name]) -> frozenset[Name]:
    """The names of all varying variables, such as those that only some points assign;
    `given` are those from outside."""
    varying = _dependent(statements, {*given, kc.Register}, (ALWAYS, BY_BRANCHES))
    return frozenset(name for name in varying if isinstance(name, Name))


def find_loaded(statements: Statements, by_branches: bool = True) -> Set[object]:
    """What depends on loads or registers of tiles: what `varies` with it does. With
    `by_branches`, what is assigned where a loaded condition holds is among it.

        long at = is[i];                  at depends on a load,
        float x = xs[i * m + at];         so this load has a data-dependent address
    """
    wanted = (ALWAYS, BY_BRANCHES if by_branches else ALWAYS, BY_ROUNDS)
    return _dependent(statements, {kc.Load, kc.Register}, wanted)


def varies(exp: kc.Expression, varying: Collection[object]) -> bool:
    """Whether the value of an expression differs between points."""
    sources = sources_of(exp)
    return kc.Register in sources or not sources.isdisjoint(varying)


def sources_of(exp: kc.Expression) -> frozenset[object]:
    """The names that the value of an expression depends on, and the classes of loads
    and registers if it has some; the expression keeps them."""
    known: frozenset[object] | None = getattr(exp, "sources", None)
    if known is None:
        known = frozenset(_found_sources(exp))
        object.__setattr__(exp, "sources", known)
    return known


def _found_sources(exp: kc.Expression) -> list[object]:
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
        children_of = fields.lister_of(cls)
        if children_of is not None:
            nodes += children_of(node)
    return found


def changed_types(statements: Sequence[kc.Statement]) -> set[types.ScalarType]:
    """The types of the variables that get more than a first value, other than those
    that count."""
    return {node.target.type.scalar for node in search.nodes_of(kc.Assign, *statements)}


def _flows_of(block: kc.Block) -> tuple[Flow, ...]:
    """The flows in a block, which keeps them."""
    known: tuple[Flow, ...] | None = getattr(block, "flows", None)
    if known is None:
        known = tuple(_flows_in(block.statements))
        object.__setattr__(block, "flows", known)
    return known


def _flows_in(statements: Iterable[kc.Statement]) -> list[Flow]:
    """For each name what varies if it does: variables, and statements that not all
    points come by. With `BY_ROUNDS`, how many rounds there are decides what counts
    them."""
    flows: list[Flow] = []
    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(name, _), init) if init is not None:
                flows.append((sources_of(init), name, ALWAYS))
            case kc.Assign(kc.Variable(name, _), exp):
                flows.append((sources_of(exp), name, ALWAYS))
            case _ if blocks := kc.blocks_of(statement):
                for exp in kc.expressions_of(statement):
                    flows.append((sources_of(exp), statement, ALWAYS))
                    if isinstance(statement, kc.For):
                        ends = (statement.start, statement.step)
                        when = ALWAYS if exp in ends else BY_ROUNDS
                        flows.append((sources_of(exp), statement.variable.name, when))
                around = frozenset((statement,))
                for block in blocks:
                    flows += _flows_of(block)
                    flows += [
                        (around, inner, BY_BRANCHES)
                        for inner in map(_assigned_under, block.statements)
                        if inner is not None
                    ]
    return flows


def _assigned_under(statement: kc.Statement) -> object:
    """What varies if not all points come by a statement."""
    match statement:
        case kc.Assign(kc.Variable(name, _)):
            return name
    return statement if type(statement) in kc.STRUCTURED else None


def _dependent(
    statements: Statements, found: set[object], wanted: Sequence[int]
) -> set[object]:
    """These and what depends on them. Flows lead forwards but for those around loops:
    to look through them in both directions in turn finds long chains of either kind at
    once."""
    flows: Sequence[Flow]
    if isinstance(statements, kc.Block):
        flows = _flows_of(statements)
    else:
        flows = _flows_in(statements)
    while True:
        left = []
        for flow in flows:
            if flow[0].isdisjoint(found):
                left.append(flow)
            elif flow[2] in wanted:
                found.add(flow[1])
        if len(left) == len(flows):
            return found
        left.reverse()
        flows = left
