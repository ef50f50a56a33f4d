"""The examples in the docstrings of rules, and the one runner that executes them.

    before:
        ..
    after:
        ..
    declines: the reason
        ..

The rule must fire on `before` and make `after`; under `declines:` it must decline with a
reason that contains the given text. Several examples may follow each other. What the
texts are, and what else must hold, depends on the language that the rule is for:

    core_examples       printed IR; both sides compute the same in the interpreter
    kernel_examples     kernel code for four lanes, as it is printed
    lowering_examples   printed IR, and parts of the kernels that it becomes
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from minifut.rewrite.rule import Declined, Rule


@dataclass(frozen=True, slots=True)
class Example:
    """`after` is None where the rule must decline with `reason`."""

    before: str
    after: str | None
    reason: str = ""

    def complaint_about(self, outcome: object) -> str | None:
        """What is wrong with an outcome if it is of the wrong kind."""
        declined = isinstance(outcome, Declined)
        if self.after is None:
            if declined and self.reason in outcome.reason:
                return None
            return f"should decline with {self.reason!r}, but gave {shown(outcome)}"
        if declined or outcome is None:
            return f"should fire, but gave {shown(outcome)}"
        return None


def shown(outcome: object) -> str:
    """An outcome in words."""
    if isinstance(outcome, Declined):
        return f"the refusal {outcome.reason!r}"
    return "None (not its kind of node)" if outcome is None else "a rewrite"


def examples_of(rule: Rule) -> list[Example]:
    """The examples of a rule, in order."""
    found: list[Example] = []
    before: str | None = None
    for head, text in blocks_of(rule.documentation):
        if head == "before:":
            before = text
        elif head == "after:":
            if before is None:
                raise ValueError("an after: without its before:")
            found.append(Example(before, text))
        else:
            found.append(Example(text, None, head.removeprefix("declines:").strip()))
    return found


def blocks_of(documentation: str) -> list[tuple[str, str]]:
    """Heads with the indented text below each."""
    first, _, rest = documentation.partition("\n")
    blocks: list[tuple[str, list[str]]] = []
    inside = False
    for line in [first, *textwrap.dedent(rest).split("\n")]:
        if line in ("before:", "after:") or line.startswith("declines:"):
            blocks.append((line, []))
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside:
            blocks[-1][1].append(line)
    return [(head, "\n".join(lines)) for head, lines in blocks]


def complaint(rule: Rule, example: Example) -> str | None:
    """What is wrong with an example; None if it holds."""
    from tests.rewrite import core_examples, kernel_examples, lowering_examples

    if rule.module.startswith("minifut.lowering."):
        return lowering_examples.complaint(rule, example)
    if rule.module.startswith("minifut.kernel_passes."):
        return kernel_examples.complaint(rule, example)
    return core_examples.complaint(rule, example)
