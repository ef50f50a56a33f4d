"""The derivation: which rules fired where, and which refused and why; `rewrite.explain`
prints it."""

from __future__ import annotations

from dataclasses import dataclass, field

from minifut.ir.core import Stm
from minifut.ir.kernels import Parameter
from minifut.rewrite.rule import NamedRule


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One rule at one statement; `reason` is set if it refused. `depth` is the number
    of rules within which it was tried, `stage` the pass that tried it.

    A rule of kernel code has the statement of the core that is being lowered, and tells
    in words what it `made` there, and which `parameters` govern that.
    """

    rule: NamedRule
    statement: Stm
    replacement: tuple[Stm, ...] = ()
    reason: str = ""
    depth: int = 0
    stage: str = ""
    made: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()

    @property
    def fired(self) -> bool:
        return not self.reason


@dataclass(slots=True)
class Trace:
    """Steps in order; refusals are kept only if asked for. `stage` and `depth` are
    those of the steps that come next."""

    refusals: bool = False
    steps: list[Step] = field(default_factory=list)
    stage: str = ""
    depth: int = 0
    origins: dict[str, Stm] = field(default_factory=dict)
    """the statements of the core that kernels come from, by the kernels' names"""

    def fire(
        self,
        rule: NamedRule,
        statement: Stm,
        replacement: tuple[Stm, ...] = (),
        made: tuple[str, ...] = (),
        parameters: tuple[Parameter, ...] = (),
    ) -> None:
        """Note that a rule replaced a statement."""
        self.steps.append(
            Step(rule, statement, replacement, "", self.depth, self.stage, made,
                 parameters)
        )  # fmt: skip

    def refuse(self, rule: NamedRule, statement: Stm, reason: str) -> None:
        """Note why a rule refused, if refusals are kept."""
        if self.refusals:
            self.steps.append(Step(rule, statement, (), reason, self.depth, self.stage))

    def fired(self) -> list[str]:
        """The names of the rules that fired, in order."""
        return [step.rule.name for step in self.steps if step.fired]


@dataclass(frozen=True, slots=True)
class Derivation:
    """Where the steps that make a kernel are noted: a trace, and the statement of the
    core that is being lowered."""

    trace: Trace
    statement: Stm
