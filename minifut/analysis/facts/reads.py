"""The reads of scalar code, each with the facts of its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from minifut.analysis.facts.known import Facts
from minifut.ir.core import If, Index, Stm
from minifut.ir.search import nodes_of


def each_read(
    facts: Facts, statements: Iterable[Stm], define: Callable[[Stm], None] | None = None
) -> Iterator[Index]:
    """Each read of an array; while it is looked at, the facts are those of the branches
    around it and of the statements before, as `define` learns them."""
    learn = define or facts.define
    for statement in statements:
        exp = statement.exp
        if not isinstance(exp, If):
            yield from nodes_of(Index, exp)
        else:
            for truth, body in ((True, exp.then), (False, exp.otherwise)):
                with facts.inner():
                    facts.assume(exp.condition, truth, "the branch")
                    yield from each_read(facts, body.statements, define)
        learn(statement)
