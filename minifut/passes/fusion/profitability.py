"""Profitability of legal fusions: nests must stay perfect, to be flattened.

A map whose body has a SOAC inside has parallelism inside, which fusion must not bury
behind other statements. So such a map fuses only if what comes out is again cheap
statements and one SOAC. And a map with real work in it does not fuse into a map with a
SOAC inside: its work would be done again for each inner point.
"""

from __future__ import annotations

from minifut.ir.core import If, Lambda, Loop, Match, Stm
from minifut.ir.soacs import SOAC_EXPRESSIONS, soac_of
from minifut.ir.traverse import walk
from minifut.passes.flatten.cheap import all_cheap

FREE = 4
"""So many cheap statements count as no work."""


def has_soac(function: Lambda) -> bool:
    """Whether there is parallelism inside."""
    return any(isinstance(node, SOAC_EXPRESSIONS) for node in walk(function.body))


def is_perfect(function: Lambda) -> bool:
    """Cheap statements, then one SOAC."""
    *before, last = function.body.statements or (None,)
    if last is None or not isinstance(last.exp, SOAC_EXPRESSIONS):
        return False
    return all_cheap(before)


def is_free(function: Lambda) -> bool:
    """Whether the body may be done again without anybody noticing."""
    body = function.body.statements
    heavy = (Loop, If, Match)
    return (
        len(body) <= FREE
        and all_cheap(body)
        and not any(isinstance(statement.exp, heavy) for statement in body)
    )


def keeps_parallelism(producer: Stm, consumer: Stm, fused: Stm) -> bool:
    """Whether the fused SOAC has as much parallelism as the two, and does no more."""
    first = soac_of(producer).function
    second = soac_of(consumer).function
    inside_first, inside_second = has_soac(first), has_soac(second)
    if not inside_first and not inside_second:
        return True
    if not inside_first:
        return is_free(first)
    return is_perfect(soac_of(fused).function)
