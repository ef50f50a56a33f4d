"""Rules of kernel code: named, in the registry of all rules, noted in the derivation.

    @lane_rule("asVector", LIFT)
    def vectorise_map(statement: kc.Statement, site: LoopSite) -> Outcome:
        ...

As a rule of the core gets a statement and its site, so does one of kernel code. Rules
for loops are asked by the lowering and have a `LoopSite`; rules for what stands in the
body of a point are asked while it is lifted and have the lifter. `NotLifted`, anywhere
inside, is the rule's refusal. A docstring shows kernel code as it is printed, for four
lanes, and is executed (`opencl.rule_examples`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from minifut.ir.core import Stm
from minifut.ir.kernels import Parameter
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.builder import CodeBuilder
from minifut.kernel_code.lanes.expressions import NotLifted
from minifut.kernel_code.lanes.varying import changed_types
from minifut.names import Name
from minifut.rewrite.rule import Declined, NamedRule, register
from minifut.rewrite.trace import Trace

LIFT = "Matrix multiplication beyond auto-tuning (Lift)"
MASKS = "Whole-function vectorization"

Outcome: TypeAlias = tuple[kc.Statement, ...] | Declined | None


@dataclass(frozen=True, slots=True)
class Derivation:
    """Where the steps that make a kernel are noted: a trace, and the statement of the
    core that is being lowered."""

    trace: Trace
    statement: Stm


@contextmanager
def unnoted(k: CodeBuilder, wanted: bool = True) -> Iterator[None]:
    """What is done here is noted nowhere: it was, for another number of lanes."""
    kept = k.derivation
    if wanted:
        k.derivation = None
    try:
        yield
    finally:
        k.derivation = kept


@dataclass(slots=True)
class LoopSite:
    """Where a loop over points stands, and the numbers of lanes to choose from, most
    first, by what `is_wanted` tells when the kernel is built (there may be one number
    only); those for which there is code end up in `widths`. Registers in `numbers`
    never hold a NaN."""

    k: CodeBuilder
    choices: tuple[int, ...]
    is_wanted: Callable[[int], kc.Expression] | None = None
    governing: tuple[Parameter, ...] = ()
    numbers: frozenset[Name] = frozenset()
    widths: list[int] = field(default_factory=list)

    def by_width(
        self, body: Sequence[kc.Statement], make: Callable[[int], None]
    ) -> kc.Block:
        """What `make` emits for the width that is chosen when the kernel is built;
        nothing for single points. Where variables of 64 bits change, half as many
        fill a vector."""
        share = 2 if any(t.bits == 64 for t in changed_types(body)) else 1
        chosen = kc.Block(())
        for number, width in reversed([*enumerate(self.choices)]):
            with self.k.nested() as statements, unnoted(self.k, number > 0):
                make(width // share)
            block = kc.Block(tuple(statements))
            if self.is_wanted is not None:
                choice = kc.Chosen(self.is_wanted(width), block, chosen)
                block = kc.Block((choice,))
            chosen = block
            self.widths.insert(0, width // share)
        return chosen

    def made(self) -> tuple[str, ...]:
        """The code there is now, in words."""
        numbers = " or ".join(map(str, self.widths))
        return (f"{numbers} lanes in {self.k.base}",)


@dataclass(frozen=True, slots=True, eq=False)
class LaneRule(NamedRule):
    """A rule of kernel code."""

    def __call__(self, statement: Any, site: Any) -> Outcome:
        derivation: Derivation | None = site.k.derivation
        if derivation is None:
            return self._tried(statement, site)
        trace, position = derivation.trace, len(derivation.trace.steps)
        trace.depth += 1
        outcome = self._tried(statement, site)
        trace.depth -= 1
        inside = trace.steps[position:]
        del trace.steps[position:]
        if isinstance(outcome, Declined):
            # what it tried on the way came to nothing
            trace.refuse(self, derivation.statement, outcome.reason)
        elif outcome is not None:
            loop = site if isinstance(site, LoopSite) else None
            made = () if loop is None else loop.made()
            parameters = () if loop is None else loop.governing
            trace.fire(self, derivation.statement, (), made, parameters)
            trace.steps.extend(inside)
        return outcome

    def _tried(self, statement: Any, site: Any) -> Outcome:
        try:
            outcome: Outcome = self.function(statement, site)
        except NotLifted as reason:
            return Declined(str(reason))
        return outcome

    def leave(self, k: CodeBuilder, reason: str) -> None:
        """Note why the rule is not even tried, which would cost time."""
        if k.derivation is not None:
            k.derivation.trace.refuse(self, k.derivation.statement, reason)

    def or_comment(self, statement: Any, site: Any) -> tuple[kc.Statement, ...] | None:
        """What the rule makes; None if it refuses, which the code then tells."""
        outcome = self(statement, site)
        if isinstance(outcome, tuple):
            return outcome
        assert isinstance(outcome, Declined)
        site.k.emit(kc.Comment(f"no {self.name}: {outcome.reason}"))
        return None


LaneFunction: TypeAlias = Callable[[Any, Any], Outcome]


def lane_rule(label: str = "", paper: str = "") -> Callable[[LaneFunction], LaneRule]:
    """Makes a function a rule of kernel code and enters it into the registry."""

    def enter(function: LaneFunction) -> LaneRule:
        return register(LaneRule(function.__name__, function, label, paper))

    return enter
