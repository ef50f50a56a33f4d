"""The variables to which statements give values.

x = f(y)                        x
call (a, b) = g(c) at 3         a and b
for i from 0 to n { s = s + i } i itself; s within
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, assert_never

from minifut.ir.search import nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.names import Name

Assigned: TypeAlias = kc.Variable | kc.Register


def targets(statement: kc.Statement) -> tuple[Assigned, ...]:
    """The variables that a statement itself gives a value, not those in its blocks."""
    match statement:
        case kc.Assign(target):
            return (target,)
        case kc.Declare(variable, init):
            return () if init is None else (variable,)
        case kc.For(variable) | kc.FetchWork(variable):
            return (variable,)
        case kc.DetectLastGroup(variable):
            return (variable,)
        case kc.Shuffle(_, target):
            return (target,)
        case kc.AtomicUpdate(old=old):
            return () if old is None else (old,)
        case kc.CallFunction(results=results):
            return results
        case kc.Block() | kc.While() | kc.Branch() | kc.Reassociate() | kc.Unrolled():
            return ()
        case kc.ParallelRegion():
            return ()
        case kc.StaticIf() | kc.Break() | kc.Return() | kc.ReturnValues() | kc.Fail():
            return ()
        case kc.Label() | kc.Barrier() | kc.UniformExit() | kc.Comment() | kc.Store():
            return ()
        case kc.DeclareArray() | kc.DeclarePointer() | kc.Evaluate() | kc.Prefetch():
            return ()
        case kc.HideValue():
            return ()
        case _:
            assert_never(statement)


def assigned(statements: Iterable[kc.Statement]) -> frozenset[Name]:
    """The variables that get more than a first value in the statements or in their
    blocks, loop variables included."""
    found: set[Name] = set()
    for statement in statements:
        if isinstance(statement, kc.Declare):
            continue
        for target in targets(statement):
            if isinstance(target, kc.Variable):
                found.add(target.name)
        for block in kc.blocks_of(statement):
            found |= _assigned_in(block)
    return frozenset(found)


def _assigned_in(block: kc.Block) -> frozenset[Name]:
    """The same of a block, which keeps them."""
    known: frozenset[Name] | None = getattr(block, "assigned", None)
    if known is None:
        known = assigned(block.statements)
        object.__setattr__(block, "assigned", known)
    return known


def declared(statements: Iterable[kc.Statement]) -> frozenset[Name]:
    """The variables declared in the statements or their blocks, those of loops too."""
    return frozenset(
        statement.variable.name
        for statement in nodes_of(kc.Declare | kc.For, *statements)
        if isinstance(statement.variable, kc.Variable)
    )


def constants(statements: Sequence[kc.Statement]) -> dict[Name, kc.Expression]:
    """The variables that keep their first value, with it."""
    changing = assigned(statements)
    return {
        statement.variable.name: statement.init
        for statement in kc.each_statement(statements)
        if isinstance(statement, kc.Declare)
        and isinstance(statement.variable, kc.Variable)
        and statement.init is not None
        and statement.variable.name not in changing
    }
