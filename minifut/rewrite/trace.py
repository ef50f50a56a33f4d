"""The derivation: which rules fired where, and which refused and why.

fuse_map_into_map        sum.fut:3:5     ys_4
tile_matmul declined     sum.fut:7:3     zs_9     the inner size varies
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minifut.ir.core import Stm
from minifut.ir.printer import show
from minifut.rewrite.rule import Rule


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One rule at one statement; `reason` is set if it refused. `depth` is the number
    of rules within which it was tried, `stage` the pass that tried it."""

    rule: Rule
    statement: Stm
    replacement: tuple[Stm, ...] = ()
    reason: str = ""
    depth: int = 0
    stage: str = ""

    @property
    def fired(self) -> bool:
        return not self.reason

    def line(self) -> str:
        """The step in one line."""
        name = self.rule.name if self.fired else f"{self.rule.name} declined"
        where = str(self.statement.location) if self.statement.location else "-"
        bound = ", ".join(str(p.name) for p in self.statement.pattern)
        return "  ".join(part for part in (name, where, bound, self.reason) if part)

    def text(self) -> str:
        """The step with the IR before and after it."""
        before = show(self.statement, renumber=False)
        if not self.fired:
            return f"{self.line()}\n{before}"
        after = show(self.replacement, renumber=False)
        return f"{self.line()}\nbefore:\n{before}\nafter:\n{after}"


@dataclass(slots=True)
class Trace:
    """Steps in order; refusals are kept only if asked for. `stage` and `depth` are
    those of the steps that come next."""

    refusals: bool = False
    steps: list[Step] = field(default_factory=list)
    stage: str = ""
    depth: int = 0

    def fire(self, rule: Rule, statement: Stm, replacement: tuple[Stm, ...]) -> None:
        """Note that a rule replaced a statement."""
        self.steps.append(
            Step(rule, statement, replacement, "", self.depth, self.stage)
        )

    def refuse(self, rule: Rule, statement: Stm, reason: str) -> None:
        """Note why a rule refused, if refusals are kept."""
        if self.refusals:
            self.steps.append(Step(rule, statement, (), reason, self.depth, self.stage))

    def fired(self) -> list[str]:
        """The names of the rules that fired, in order."""
        return [step.rule.name for step in self.steps if step.fired]

    def explain(self) -> str:
        """The derivation, a line per step, those within a rule below it."""
        return "\n".join("  " * step.depth + step.line() for step in self.steps)
