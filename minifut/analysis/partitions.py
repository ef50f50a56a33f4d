"""Statements that are stable partitions, such as the steps of radix sorts.

    let ends = scan (+) 0 flags                 sums of flags
    let total = i64.sum flags
    let ys = scatter zs (map2 place flags ends) xs

In kernels they are one pass, in which the elements of a block are compressed in vectors
(`lowering.segscan.stable_partition`); a thread does one element after the other.
"""

from __future__ import annotations

from typing import Any

from minifut.analysis.operators import combines_by
from minifut.ir.core import Body, Lambda, Stm
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.ir.soacs import Scatter, Screma
from minifut.ir.traverse import free_names
from minifut.ir.types import I32, I64, U32, U64
from minifut.names import Name

WORDS = (I32, I64, U32, U64)


def sums_words(operator: Lambda) -> bool:
    """Whether an operator adds integers, as those that count elements do."""
    return combines_by(operator, ("add",), WORDS)


def folds_of_partitions(node: Any) -> frozenset[Name]:
    """The results of scans and sums of which scatters of the same body compute places,
    in all bodies of a node."""
    found = set[Name]()
    for body in nodes_of(Body, node):
        made = {p.name: s for s in body.statements for p in s.pattern}
        for statement in body.statements:
            if isinstance(statement.exp, Scatter):
                found |= _folds_before(statement.exp, made)
    return frozenset(found)


def _folds_before(scatter: Scatter, made: dict[Name, Stm]) -> set[Name]:
    """The results of what counts the elements that a scatter places; none if nothing
    is scanned."""
    found = set[Name]()
    waiting: list[Scatter | Screma] = [scatter]
    has_scans = False
    while waiting:
        for name in free_names(waiting.pop()):
            before = made.get(name)
            fold = before.exp if before and name not in found else None
            if before and isinstance(fold, Screma) and _counts(fold, scatter.width):
                has_scans |= bool(fold.scans)
                found |= {p.name for p in before.pattern}
                waiting.append(fold)
    return found if has_scans else set()


def _counts(fold: Screma, width: Size) -> bool:
    """Whether it has sums of integers over so many elements."""
    return (
        fold.width == width
        and bool(fold.folds)
        and all(sums_words(each.operator) for each in fold.folds)
    )
