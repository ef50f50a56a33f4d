"""Rules of differentiation: named functions from a statement to its derivative.

    @rule(paper="...")
    def jvp_screma(statement: Stm, sweep: Tangents) -> Rewrite | Declined | None: ...

    @rule()
    def vjp_linear(statement: Stm, sweep: ReverseSweep) -> ReverseOutcome: ...

A forward rule gives the statements that compute the results and their tangents, which
it notes in the sweep. A reverse rule gives the statements of the forward sweep, which
compute the results and keep what will be needed, and a function that makes those of
the return sweep; or statements that compute the same and have rules, to be
differentiated in its place. `tables` says which rules are tried for a class, and in
which order.

Their docstrings show a statement and its derivative in all numbers that are given, with
tangents `xs_seed` of these or adjoints `ys_seed` of the results; or what is
differentiated in place of the statement. They are executed: the rule must fire, give
just that, and have the derivative that finite differences have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from minifut.immutables import fixed
from minifut.ir.builder import Builder
from minifut.ir.core import Stm
from minifut.rewrite.rule import Declined

if TYPE_CHECKING:
    from minifut.passes.differentiate.reverse.adjoints import Adjoints

Rewrite: TypeAlias = tuple[Stm, ...]
ReturnSweep: TypeAlias = "Callable[[Builder, Adjoints], None]"
"""emits the return sweep of a statement and notes adjoints"""


@fixed
class Reversed:
    """The forward sweep of a statement, and what makes its return sweep."""

    forward: tuple[Stm, ...]
    back: ReturnSweep


ReverseOutcome: TypeAlias = Reversed | Rewrite | Declined | None
"""of a reverse rule"""
