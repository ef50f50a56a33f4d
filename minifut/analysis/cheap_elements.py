"""Whether the elements of a scan are so cheap that they may be computed twice: with the
aggregates of chunks, and when these are scanned.

    let x = xs[i]                                        read in order: cheap
    let k = ks[i]; let x = xs[k]                         at a loaded place
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir.core import Index, ScalarOp, Stm
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.traverse import free_names, walk
from minifut.names import Name


def reads_loaded_places(statements: Iterable[Stm]) -> bool:
    """Whether an element is read at a place that depends on a loaded one."""
    loaded: set[Name] = set()
    for statement in statements:
        exp = statement.exp
        if isinstance(exp, Index) and loaded & free_names(exp):
            return True
        if isinstance(exp, Index) or loaded & free_names(exp):
            loaded |= {p.name for p in statement.pattern}
    return False


def has_cheap_elements(statements: tuple[Stm, ...]) -> bool:
    """Whether elements are read in order, and no functions are called."""
    operators = (
        node.operator
        for statement in statements
        for node in walk(statement)
        if isinstance(node, ScalarOp)
    )
    return not reads_loaded_places(statements) and all(
        operator_cost(each) is not OperatorCost.FUNCTION for each in operators
    )
