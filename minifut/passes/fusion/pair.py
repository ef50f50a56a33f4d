"""What rules of fusion share: the two SOACs, and the order of results.

    scanned of both, reduced of both, mapped of both; the upper SOAC's first

A fusion rule gets the lower statement; the upper one is among the context's
definitions. Its replacement binds the results of the upper statement that the context
calls `needed`, and so takes its place too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from minifut.ir.core import Stm
from minifut.ir.soacs import Screma
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined

T = TypeVar("T")

PAPER = "Regular flattening (fusion); Henriksen and Oancea, FHPC 2013"


def parts(
    exp: Screma, values: tuple[T, ...]
) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
    """What belongs to the scans, to the reductions, and to the map alone."""
    scanned = sum(len(scan.neutral) for scan in exp.scans)
    reduced = scanned + sum(len(reduce.neutral) for reduce in exp.reduces)
    return values[:scanned], values[scanned:reduced], values[reduced:]


def in_order(
    first: Screma, second: Screma, of_first: tuple[T, ...], of_second: tuple[T, ...]
) -> tuple[T, ...]:
    """Results of both SOACs in the order of the fused one."""
    a, b = parts(first, of_first), parts(second, of_second)
    return (*a[0], *b[0], *a[1], *b[1], *a[2], *b[2])


def clash(first: Screma, second: Screma) -> Declined | None:
    """Why the folds of the two may not stand in one SOAC, if so."""
    if (first.scans and not second.is_map) or (second.scans and not first.is_map):
        return Declined("a scan joins only with maps")
    return None


def producers(statement: Stm, context: StatementContext) -> Iterable[Stm]:
    """The SOACs that make the inputs of the statement, each once."""
    seen: list[Stm] = []
    arrays: tuple[Any, ...] = getattr(statement.exp, "arrays", ())
    for array in arrays:
        made = context.definitions.get(array)
        if made is None or not isinstance(made.exp, Screma):
            continue
        if not any(made is other for other in seen):
            seen.append(made)
    return seen
