"""Rules: every rewrite of the compiler is a named function of one form.

    @rule(label="F1", paper="...")
    def fuse_map_into_map(statement: Stm, context: StatementContext) -> Outcome:
        ...

    (node, Context) -> Rewrite | Declined | None

A rule returns what replaces the node; `Declined` with the reason if the node has the
right form but a condition fails; None if the node is simply not of its kind. It never
walks and never repeats: that is what `rewrite.strategy` is for. One that only chooses
is a decision.

    language       node                            rewrite
    core           a statement                     statements that bind the same names
    flattening     a judgement (nest, statement)   EMITTED into the context's builder
    kernel code    a statement, a load, a fold     statements, an expression

Called with a context that has a derivation, a rule records its outcome there
(`rewrite.trace`). The docstring of a rule shows examples, `before:`, `after:` and
`declines:`, in printed IR or kernel code; tests execute all of them.

Decisions: rules that choose and rewrite nothing.

    @decision(paper=LOCALITY)
    def vectorise_across_segments(reduction, host) -> bool | Declined: ...

A lowering makes decisions and emits what they choose: (node, Context) -> the
choice, `Declined` with the reason, or None. They are named, explained and shown by
executed examples as all rules are; the examples show the code that follows from the
choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from minifut.errors import InternalError
from minifut.immutables import fixed
from minifut.ir.core import Stm
from minifut.ir.kernels import Parameter
from minifut.ir.node import immutable


@immutable
class Declined:
    """The node has the right form, but the rule does not apply for this reason."""

    reason: str


class Decline(Exception):
    """Raised inside a rule that does not apply; the message is the reason."""


@immutable
class Emitted:
    """The rewrite was emitted into the builder of the context."""


EMITTED: Final = Emitted()

Outcome: TypeAlias = tuple[Stm, ...] | Declined | None
"""of a rule for statements of the core"""


@immutable
class Remark:
    """What a rule made, for the reader of `dev --explain`, and the tuning parameters
    that govern it."""

    made: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()


RuleFunction: TypeAlias = Callable[[Any, Any], Any]
"""(node, context) to a rewrite, `Declined` or None"""
RemarkFunction: TypeAlias = Callable[[Any, Any], Remark]
"""of the node and the context, after the rule fired"""
Kind: TypeAlias = type | tuple[type, ...]


@fixed
class Rule:
    """`label` is the paper's own name for it (G2, Gr, ...), `inverse` the name of the
    rule that undoes it; `of` are the classes that a node, or what it binds,
    must have to be of its kind."""

    name: str
    function: RuleFunction
    label: str = ""
    paper: str = ""
    inverse: str | None = None
    of: Kind | None = None
    remark: RemarkFunction | None = None

    def __call__(self, node: Any, context: Any) -> Any:
        """The outcome, recorded if the context has a derivation."""
        derivation = context.derivation
        if derivation is None:
            return self.outcome(node, context)
        return derivation.record(self, node, context)

    def outcome(self, node: Any, context: Any) -> Any:
        """The outcome, without a record."""
        if self.of is not None and not self.is_of_kind(node, self.of):
            return None
        try:
            return self.function(node, context)
        except Decline as reason:
            return Declined(str(reason))

    @staticmethod
    def is_of_kind(node: Any, kind: Kind) -> bool:
        """Whether this is a node of these classes, or binds such an expression."""
        return isinstance(node, kind) or isinstance(getattr(node, "exp", None), kind)

    def fires(self, node: Any, context: Any) -> bool:
        """Whether the rule applies; then its rewrite is emitted, or its decision
        made."""
        outcome = self(node, context)
        return outcome is not None and not isinstance(outcome, Declined)

    @property
    def module(self) -> str:
        """Where the rule is defined."""
        return self.function.__module__

    @property
    def documentation(self) -> str:
        """The docstring of the function."""
        return self.function.__doc__ or ""

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring, as one line."""
        return first_paragraph(self.function)


def first_paragraph(function: Callable[..., Any]) -> str:
    """Of what a function is documented by, as one line."""
    documentation = function.__doc__ or ""
    return " ".join(documentation.strip().split("\n\n")[0].split())


RuleT = TypeVar("RuleT", bound=Rule)

REGISTRY: dict[str, Rule] = {}
"""All rules of the modules imported so far, by name"""


def register(made: RuleT) -> RuleT:
    """Enter a rule into the registry."""
    known = REGISTRY.get(made.name)
    if known is not None and known.module != made.module:
        raise InternalError("rewrite.rule", f"two rules are called {made.name}")
    REGISTRY[made.name] = made
    return made


def rule(
    of: Kind | None = None,
    *,
    label: str = "",
    paper: str = "",
    inverse: str | None = None,
    remark: RemarkFunction | None = None,
) -> Callable[[RuleFunction], Rule]:
    """Makes a function a rule of its name and enters it into the registry."""

    def enter(function: RuleFunction) -> Rule:
        name = function.__name__
        return register(Rule(name, function, label, paper, inverse, of, remark))

    return enter


@fixed
class Decision(Rule):
    """A rule whose outcome is a choice, such as True, sizes or a layout."""


def decision(
    *, label: str = "", paper: str = "", remark: RemarkFunction | None = None
) -> Callable[[RuleFunction], Decision]:
    """Makes a function a decision of its name and enters it into the registry."""

    def enter(function: RuleFunction) -> Decision:
        name = function.__name__
        return register(Decision(name, function, label, paper, remark=remark))

    return enter
