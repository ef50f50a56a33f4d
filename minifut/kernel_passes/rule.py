"""Rules of kernel code: named, in the registry of all rules, recorded in the
derivation.

    @code_rule("asVector", LIFT)
    def vectorise_map(loop: kc.Statement, site: LoopSite) -> Outcome:
        ...

As a rule of the core gets a statement and its site, so does one of kernel code. They
are applied where kernel code is made:

    statements and loads of a kernel    `lanes`: their vectorised form
    operations of the core              `lowering_rule`: what a builder (of the host, of
                                        a kernel) emits for them, or a decision that it
                                        follows

`Refused`, raised anywhere inside, declines the rule. A docstring shows kernel code as
it is printed, for four lanes, or for operations of the core printed IR and parts of the
kernels that it becomes; it is executed (`opencl.rule_examples`,
`opencl.lowering_examples`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from minifut.kernel_ir import nodes as kc
from minifut.rewrite.rule import Declined, NamedRule, register
from minifut.rewrite.trace import Derivation

if TYPE_CHECKING:
    from minifut.ir.kernels import Parameter
    from minifut.kernel_ir.builder import CodeBuilder

LOCALITY = "Locality of reference (slides)"


class Refused(Exception):
    """The rule that is tried declines; the message is the reason."""


class HasDerivation(Protocol):
    """A builder: of the host, or of a kernel."""

    derivation: Derivation | None


class Site(Protocol):
    """Where a rule is tried."""

    @property
    def derivation(self) -> Derivation | None: ...


@dataclass(slots=True)
class CodeSite:
    """Where statements of a kernel stand: in what a builder makes."""

    k: CodeBuilder

    @property
    def derivation(self) -> Derivation | None:
        return self.k.derivation


@contextmanager
def untraced(k: HasDerivation, wanted: bool = True) -> Iterator[None]:
    """Steps made here are not recorded: they were before, or are no steps of their
    own."""
    kept = k.derivation
    if wanted:
        k.derivation = None
    try:
        yield
    finally:
        k.derivation = kept


@contextmanager
def rollback_trace_on(k: HasDerivation, kind: type[Exception]) -> Iterator[None]:
    """Steps made here are removed if such an exception occurs: another lowering is
    tried then."""
    trace = None if k.derivation is None else k.derivation.trace
    position = 0 if trace is None else len(trace.steps)
    try:
        yield
    except kind:
        if trace is not None:
            del trace.steps[position:]
        raise


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rule made, for the reader of `dev --explain`, and the tuning parameters
    that govern it."""

    made: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()


NOTHING = Remark()
RemarkFunction: TypeAlias = Callable[[Any, Any], Remark]


@dataclass(frozen=True, slots=True, eq=False)
class CodeRule(NamedRule):
    """A rule of kernel code. `remark` describes what it made, after it fired. `lowers`:
    it applies to operations of the core, in its examples too."""

    tell: RemarkFunction | None = None
    lowers: bool = False

    def __call__(self, statement: Any, site: Site) -> Any:
        derivation = site.derivation
        if derivation is None:
            return self._tried(statement, site)
        trace, position = derivation.trace, len(derivation.trace.steps)
        trace.depth += 1
        outcome = self._tried(statement, site)
        trace.depth -= 1
        inside = trace.steps[position:]
        del trace.steps[position:]
        if isinstance(outcome, Declined):
            # steps inside a rule that declined were undone
            trace.refuse(self, derivation.statement, outcome.reason)
        elif outcome is not None:
            told = NOTHING if self.tell is None else self.tell(statement, site)
            trace.fire(self, derivation.statement, (), told.made, told.parameters)
            trace.steps.extend(inside)
        return outcome

    def _tried(self, statement: Any, site: Site) -> Any:
        try:
            return self.function(statement, site)
        except Refused as reason:
            return Declined(str(reason))

    def fires(self, statement: Any, site: Site) -> bool:
        """Whether the rule fires: then its code is emitted."""
        outcome = self(statement, site)
        return outcome is not None and not isinstance(outcome, Declined)

    def leave(self, k: Site, reason: str) -> None:
        """Record why the rule is not even tried, which would cost time."""
        if k.derivation is not None:
            k.derivation.trace.refuse(self, k.derivation.statement, reason)

    def or_comment(self, statement: Any, site: Any) -> tuple[kc.Statement, ...] | None:
        """What the rule makes; None if it declines, with the reason as a comment in the
        code."""
        outcome = self(statement, site)
        if isinstance(outcome, tuple):
            return outcome
        assert isinstance(outcome, Declined)
        site.k.emit(kc.Comment(f"no {self.name}: {outcome.reason}"))
        return None


def first_of(rules: Iterable[CodeRule], statement: Any, site: Site) -> Any:
    """The outcome of the first rule that does not decline; else the last refusal."""
    outcome: Any = None
    for rule in rules:
        outcome = rule(statement, site)
        if not isinstance(outcome, Declined):
            break
    return outcome


def code_rule(
    label: str = "",
    paper: str = "",
    tell: RemarkFunction | None = None,
    lowers: bool = False,
) -> Callable[[Callable[[Any, Any], Any]], CodeRule]:
    """Makes a function a rule of kernel code and enters it into the registry."""

    def enter(function: Callable[[Any, Any], Any]) -> CodeRule:
        name = function.__name__
        return register(CodeRule(name, function, label, paper, None, tell, lowers))

    return enter


lowering_rule = partial(code_rule, lowers=True)
"""makes a function a rule for what becomes of an operation of the core"""
