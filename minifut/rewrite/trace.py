"""The derivation: which rules fired where, and which declined and why;
`rewrite.explain` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Protocol

from minifut.immutables import fixed
from minifut.ir.core import Stm
from minifut.ir.kernels import Parameter
from minifut.ir.node import immutable, mutable
from minifut.rewrite.rule import EMITTED, Declined, Remark, Rule

NO_REMARK = Remark()


@fixed
class Step:
    """One rule at one statement; `reason` is set if it declined. `depth` is the number
    of rules within which it was tried, `stage` the pass that tried it.

    A rule of kernel code has the statement of the core that is being lowered, and
    describes in words what it `made`, and which `parameters` govern that.
    """

    rule: Rule
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


@mutable
class Trace:
    """Steps in order; those of rules that declined are kept only if `declined` is set.
    `stage` and `depth` are those of the steps that come next."""

    declined: bool = False
    steps: list[Step] = field(default_factory=list)
    stage: str = ""
    depth: int = 0
    origins: dict[str, Stm] = field(default_factory=dict)
    """the statements of the core that kernels come from, by the kernels' names"""

    def fire(
        self,
        rule: Rule,
        statement: Stm,
        replacement: tuple[Stm, ...] = (),
        remark: Remark = NO_REMARK,
    ) -> None:
        """Record that a rule replaced a statement."""
        self.steps.append(
            Step(rule, statement, replacement, "", self.depth, self.stage,
                 remark.made, remark.parameters)
        )  # fmt: skip

    def decline(self, rule: Rule, statement: Stm, reason: str) -> None:
        """Record why a rule declined, if that is kept."""
        if self.declined:
            self.steps.append(Step(rule, statement, (), reason, self.depth, self.stage))

    def fired(self) -> list[str]:
        """The names of the rules that fired, in order."""
        return [step.rule.name for step in self.steps if step.fired]


@immutable
class Derivation:
    """Where a context records steps: a trace, and the statement of the core that is
    being lowered if the nodes of rules are others. Without `declined` only rules that
    fire are recorded."""

    trace: Trace
    statement: Stm | None = None
    declined: bool = True

    def record(self, rule: Rule, node: Any, context: Any) -> Any:
        """The outcome of a rule, as a step in front of the steps inside it. Those
        inside a rule that does not fire were undone."""
        trace = self.trace
        position = len(trace.steps)
        emitted = len(context.emitted) if self.statement is None else 0
        trace.depth += 1
        try:
            outcome = rule.outcome(node, context)
        finally:
            trace.depth -= 1
        inside = trace.steps[position:]
        del trace.steps[position:]
        if isinstance(outcome, Declined):
            if self.declined and trace.declined:
                trace.decline(rule, self.subject(node, context), outcome.reason)
        elif outcome is not None:
            made: tuple[Stm, ...] = ()
            if self.statement is None and rule.remark is None:
                made = (
                    tuple(context.emitted[emitted:]) if outcome == EMITTED else outcome
                )
            remark = NO_REMARK if rule.remark is None else rule.remark(node, context)
            trace.fire(rule, self.subject(node, context), made, remark)
            trace.steps.extend(inside)
        return outcome

    def subject(self, node: Any, context: Any) -> Stm:
        """The statement of the core under which a step is recorded."""
        if self.statement is not None:
            return self.statement
        if isinstance(node, Stm):
            return node
        shown: Stm = node.as_statement(context)
        return shown

    def decline(self, rule: Rule, reason: str) -> None:
        """Record why a rule is not even tried, which would cost time."""
        assert self.statement is not None
        self.trace.decline(rule, self.statement, reason)


class Recording(Protocol):
    """A builder: of the host, or of a kernel."""

    derivation: Derivation | None


@contextmanager
def untraced(builder: Recording, wanted: bool = True) -> Iterator[None]:
    """Steps made here are not recorded: they were before, or are no steps of their
    own."""
    kept = builder.derivation
    if wanted:
        builder.derivation = None
    try:
        yield
    finally:
        builder.derivation = kept


@contextmanager
def rollback_trace_on(builder: Recording, kind: type[Exception]) -> Iterator[None]:
    """Steps made here are removed if such an exception occurs: another lowering is
    tried then."""
    derivation = builder.derivation
    position = 0 if derivation is None else len(derivation.trace.steps)
    try:
        yield
    except kind:
        if derivation is not None:
            del derivation.trace.steps[position:]
        raise
