"""Rules of kernel code: named, in the registry of all rules, noted in the derivation.

    @code_rule("asVector", LIFT)
    def vectorise_map(loop: kc.Statement, site: LoopSite) -> Outcome:
        ...

As a rule of the core gets a statement and its site, so does one of kernel code. They
are asked where kernel code is made:

    statements and loads of a kernel    `lanes`: what stands for them, in vectors
    operations of the core              `lowering_rule`: what a builder (of the host, of
                                        a kernel) emits for them, or a choice that it
                                        goes by

`Refused`, anywhere inside, is the rule's refusal. A docstring shows kernel code as it
is printed, for four lanes, or for operations of the core printed IR and parts of the
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
    """The rule that is tried refuses; the message says why."""


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
def unnoted(k: HasDerivation, wanted: bool = True) -> Iterator[None]:
    """What is done here is noted nowhere: it was, or it is no step of its own."""
    kept = k.derivation
    if wanted:
        k.derivation = None
    try:
        yield
    finally:
        k.derivation = kept


@contextmanager
def forgotten_on(k: HasDerivation, kind: type[Exception]) -> Iterator[None]:
    """Steps made here are forgotten if such an exception ends it: it is tried in some
    other way then."""
    trace = None if k.derivation is None else k.derivation.trace
    position = 0 if trace is None else len(trace.steps)
    try:
        yield
    except kind:
        if trace is not None:
            del trace.steps[position:]
        raise


@dataclass(frozen=True, slots=True)
class Told:
    """What a rule made, in words, and the parameters that govern it."""

    made: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()


NOTHING = Told()
Teller: TypeAlias = Callable[[Any, Any], Told]


@dataclass(frozen=True, slots=True, eq=False)
class CodeRule(NamedRule):
    """A rule of kernel code. `tell` says, after it fired, what there is to say of the
    statement and the site. `lowers`: operations of the core, in its examples too."""

    tell: Teller | None = None
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
            # what it tried on the way came to nothing
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
        """Whether the rule did it: then all of it is emitted."""
        outcome = self(statement, site)
        return outcome is not None and not isinstance(outcome, Declined)

    def leave(self, k: Site, reason: str) -> None:
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


def first_of(rules: Iterable[CodeRule], statement: Any, site: Site) -> Any:
    """What the first of the rules makes that does not refuse; else the last refusal."""
    outcome: Any = None
    for rule in rules:
        outcome = rule(statement, site)
        if not isinstance(outcome, Declined):
            break
    return outcome


def code_rule(
    label: str = "", paper: str = "", tell: Teller | None = None, lowers: bool = False
) -> Callable[[Callable[[Any, Any], Any]], CodeRule]:
    """Makes a function a rule of kernel code and enters it into the registry."""

    def enter(function: Callable[[Any, Any], Any]) -> CodeRule:
        name = function.__name__
        return register(CodeRule(name, function, label, paper, None, tell, lowers))

    return enter


lowering_rule = partial(code_rule, lowers=True)
"""makes a function a rule for what becomes of an operation of the core"""
