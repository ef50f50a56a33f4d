"""Rules of differentiation: named functions from a statement to its derivative.

    @forward_rule("jvp_screma", paper="...")
    def jvp_screma(statement: Stm, sweep: Tangents) -> Rewrite | Declined | None: ...

    @reverse_rule("vjp_linear")
    def vjp_linear(statement: Stm, sweep: Adjoints) -> Reversed | Declined | None: ...

A forward rule gives the statements that compute the results and their tangents, which
it notes in the sweep. A reverse rule gives the statements of the forward sweep, which
compute the results and keep what will be needed, and a function that makes those of
the return sweep. `tables` says which rules are tried for a class, and in which order.

Their docstrings show a `jvp` or `vjp` before and after, and are executed: the rule must
fire, give just that, and have the derivative that finite differences have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir.builder import Builder
from minifut.ir.core import Stm
from minifut.rewrite.rule import Declined, NamedRule, register

if TYPE_CHECKING:
    from minifut.passes.differentiate.forward.sweep import Tangents
    from minifut.passes.differentiate.reverse.adjoints import Adjoints
    from minifut.passes.differentiate.reverse.sweep import ReverseSweep

Rewrite: TypeAlias = "tuple[Stm, ...]"
ReturnSweep: TypeAlias = "Callable[[Builder, Adjoints], None]"
"""emits the return sweep of a statement and notes adjoints"""


@dataclass(frozen=True, slots=True, eq=False)
class Reversed:
    """The forward sweep of a statement, and what makes its return sweep."""

    forward: tuple[Stm, ...]
    back: ReturnSweep


ForwardFunction: TypeAlias = "Callable[[Stm, Tangents], Rewrite | Declined | None]"
ReverseFunction: TypeAlias = "Callable[[Stm, ReverseSweep], Reversed | Declined | None]"


@dataclass(frozen=True, slots=True, eq=False)
class ForwardRule(NamedRule):
    """A rule of forward mode."""

    def __call__(self, statement: Stm, sweep: Tangents) -> Rewrite | Declined | None:
        outcome: Rewrite | Declined | None = self.function(statement, sweep)
        return outcome


@dataclass(frozen=True, slots=True, eq=False)
class ReverseRule(NamedRule):
    """A rule of reverse mode."""

    def __call__(
        self, statement: Stm, sweep: ReverseSweep
    ) -> Reversed | Declined | None:
        outcome: Reversed | Declined | None = self.function(statement, sweep)
        return outcome


def forward_rule(
    name: str, paper: str = ""
) -> Callable[[ForwardFunction], ForwardRule]:
    """Makes a function a rule of forward mode."""

    def enter(function: ForwardFunction) -> ForwardRule:
        return register(ForwardRule(name, function, paper=paper))

    return enter


def reverse_rule(
    name: str, paper: str = ""
) -> Callable[[ReverseFunction], ReverseRule]:
    """Makes a function a rule of reverse mode."""

    def enter(function: ReverseFunction) -> ReverseRule:
        return register(ReverseRule(name, function, paper=paper))

    return enter
