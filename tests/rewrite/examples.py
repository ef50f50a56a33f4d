"""The examples in the docstrings of rules, and the one runner that executes them.

    before:
        ..
    after:
        ..
    declines: the reason
        ..

The rule must fire on `before` and make `after`; under `declines:` it must decline with a
reason that contains the given text. Several examples may follow each other. A text that
is another one but for some edits states those only:

    declines: the widths are not known to be equal
        like before, with
        n: i64 => n: i64, m: i64
        let ys: [n]i32 = map(n, (xs), f)
        => let ys: [m]i32 = map(m, (xs), f)

`like before`, `like after` and `like declines` are the nearest ones above, `like before
of RULE` is the first one of another rule. An edit replaces whole words, wherever they occur, and takes
all white space for the same; each has to occur. `like before, then` is for what begins
with another text.

What the texts are, and what else must hold, depends on the language that the rule is for:

    core_examples       printed IR; both sides compute the same in the interpreter
    kernel_examples     kernel code for four lanes, as it is printed
    lowering_examples   printed IR, and parts of the kernels that it becomes
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from minifut.rewrite.rule import REGISTRY, Declined, Rule

_REFERENCE = re.compile(r"like (before|after|declines)(?: of (\w+))?(?:, (with|then))?")


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
    """Heads with the indented text below each, or with the one that it refers to."""
    written = _written(documentation)
    return [(head, _expanded(written, n)) for n, (head, _) in enumerate(written)]


def _written(documentation: str) -> list[tuple[str, str]]:
    """Heads with the indented text below each, as it is written."""
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


def _expanded(written: list[tuple[str, str]], number: int) -> str:
    """A text as it is, or the one that it refers to with its edits."""
    text = written[number][1]
    first, _, rest = text.partition("\n")
    reference = _REFERENCE.fullmatch(first.strip())
    if reference is None:
        return text
    side, rule, how = reference.groups()
    places: Iterable[int] = reversed(range(number))
    if rule is not None:
        written = _written(REGISTRY[rule].documentation)
        places = range(len(written))
    place = next((n for n in places if written[n][0].startswith(f"{side}:")), None)
    if place is None:
        raise ValueError(f"there is no text for {first.strip()!r}")
    meant = _expanded(written, place)
    if how == "then":
        return f"{meant}\n{rest}"
    for old, new in edits_of(rest):
        meant, count = re.subn(_pattern(old), lambda _, new=new: new, meant)
        if not count:
            raise ValueError(f"{old!r} does not occur in what is edited")
    return meant


def edits_of(text: str) -> list[tuple[str, str]]:
    """`OLD => NEW`, where OLD has lines of its own or NEW is continued by `=> NEW`."""
    edits: list[tuple[list[str], list[str]]] = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        old, arrow, new = f" {line} ".partition(" => ")
        if old.strip() and (not edits or edits[-1][1]):
            edits.append(([], []))
        edits[-1][0].extend(filter(None, [old.strip()]))
        edits[-1][1].extend([new.strip()] if arrow else [])
    return [("\n".join(old), "\n".join(new)) for old, new in edits]


def _pattern(old: str) -> str:
    """Matches the words of a text, but no part of a longer name."""
    words = r"\s+".join(map(re.escape, old.split()))
    before, after = (r"\b" if re.match(r"\w", c) else "" for c in (old[0], old[-1]))
    return before + words + after


def complaint(rule: Rule, example: Example) -> str | None:
    """What is wrong with an example; None if it holds."""
    from tests.rewrite import core_examples, kernel_examples, lowering_examples

    if rule.module.startswith("minifut.lowering."):
        return lowering_examples.complaint(rule, example)
    if rule.module.startswith("minifut.kernel_passes."):
        return kernel_examples.complaint(rule, example)
    return core_examples.complaint(rule, example)
