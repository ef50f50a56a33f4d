"""Whether the elements of a scan are so cheap that they may be computed twice: with the
aggregates of chunks, and when these are scanned.

    let x = xs[i]                                        read in order: cheap
    let k = ks[i]; let x = xs[k]                         at a loaded place
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from minifut.ir.core import Index, ScalarOp, Stm
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.search import nodes_of
from minifut.ir.traverse import free_names
from minifut.names import Name


def is_read(statement: Stm) -> bool:
    """Whether it is a read of an array."""
    return isinstance(statement.exp, Index)


def with_loaded(
    statements: Iterable[Stm], loads: Callable[[Stm], bool] = is_read
) -> Iterator[tuple[Stm, Set[Name]]]:
    """The statements, each with the names before it that depend on what those that load
    give."""
    loaded: set[Name] = set()
    for statement in statements:
        yield statement, loaded
        if loads(statement) or not loaded.isdisjoint(free_names(statement.exp)):
            loaded.update(parameter.name for parameter in statement.pattern)


def reads_loaded_places(statements: Iterable[Stm]) -> bool:
    """Whether an element is read at a place that depends on a loaded one."""
    return any(
        is_read(statement) and not loaded.isdisjoint(free_names(statement.exp))
        for statement, loaded in with_loaded(statements)
    )


def has_cheap_elements(statements: tuple[Stm, ...]) -> bool:
    """Whether elements are read in order, and no functions are called."""
    operators = (node.operator for node in nodes_of(ScalarOp, *statements))
    return not reads_loaded_places(statements) and all(
        operator_cost(each) is not OperatorCost.FUNCTION for each in operators
    )
