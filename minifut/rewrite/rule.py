"""Rules: named pure functions from one statement to what replaces it.

    @rule("fuse_map_into_map", label="F1", paper="...")
    def fuse_map_into_map(statement: Stm, site: Site) -> Outcome:
        ...

A rule gives the statements that stand in place of the one it got (they bind the same
names), `Declined` with the reason if the statement has the right form but a condition
fails, and None if the statement is simply not of its kind. It never walks and never
repeats: that is what `rewrite.strategy` is for. Its docstring shows a `before:` and an
`after:` in printed IR and is executed (`rewrite.examples`).

Kernel code has rules too (`kernel_code.rule`): they are in the same registry and
trace, and their docstrings, in printed kernel code, are executed likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from minifut.errors import InternalError
from minifut.ir.builder import Builder
from minifut.ir.core import Stm
from minifut.ir.kernels import Level
from minifut.ir.node import value
from minifut.ir.scope import Scope
from minifut.names import Name, NameSource


@value
class Declined:
    """The rule looked at the statement and refuses, for this reason."""

    reason: str


Outcome: TypeAlias = tuple[Stm, ...] | Declined | None


@dataclass(frozen=True, slots=True)
class Site:
    """Where a statement stands: fresh names, the types of all names, the statements
    that bind visible names, and the levels of the kernels around it. `needed` are names
    that other statements use too: a rule that takes the statement of such a name into
    its replacement must bind the name there."""

    names: NameSource
    scope: Scope
    definitions: Mapping[Name, Stm]
    levels: tuple[Level, ...] = ()
    needed: frozenset[Name] = frozenset()

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements carry the location and attributes of this one."""
        return Builder(self.names, self.scope, statement.location, statement.attributes)


Rewrite: TypeAlias = Callable[[Stm, Site], Outcome]


@dataclass(frozen=True, slots=True, eq=False)
class NamedRule:
    """What rules of all languages have. `label` is the paper's own name for it (G2,
    Gr, ...), `inverse` the name of the rule that undoes it."""

    name: str
    function: Callable[..., Any]
    label: str = ""
    paper: str = ""
    inverse: str | None = None

    @property
    def documentation(self) -> str:
        """The docstring of the function."""
        return self.function.__doc__ or ""

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring, as one line."""
        return " ".join(self.documentation.strip().split("\n\n")[0].split())


@dataclass(frozen=True, slots=True, eq=False)
class Rule(NamedRule):
    """A rule of the core."""

    def __call__(self, statement: Stm, site: Site) -> Outcome:
        outcome: Outcome = self.function(statement, site)
        return outcome


NamedRuleT = TypeVar("NamedRuleT", bound=NamedRule)

REGISTRY: dict[str, NamedRule] = {}
"""All rules of the modules imported so far, by name"""


def register(made: NamedRuleT) -> NamedRuleT:
    """Enter a rule into the registry."""
    known = REGISTRY.get(made.name)
    if known is not None and known.function.__module__ != made.function.__module__:
        raise InternalError("rewrite.rule", f"two rules are called {made.name}")
    REGISTRY[made.name] = made
    return made


def rule(
    name: str, label: str = "", paper: str = "", inverse: str | None = None
) -> Callable[[Rewrite], Rule]:
    """Makes a function a rule and enters it into the registry."""

    def enter(function: Rewrite) -> Rule:
        return register(Rule(name, function, label, paper, inverse))

    return enter
