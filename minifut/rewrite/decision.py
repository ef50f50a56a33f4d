"""Decisions: rules that choose and rewrite nothing.

    @decision(paper=LOCALITY)
    def vectorise_across_segments(reduction, host) -> bool | Declined: ...

A lowering makes decisions and emits what they choose: (node, Context) -> the
choice, `Declined` with the reason, or None. They are named, explained and shown by
executed examples as all rules are; the examples show the code that follows from the
choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minifut.rewrite.rule import Function, RemarkFunction, Rule, register


@dataclass(frozen=True, slots=True, eq=False)
class Decision(Rule):
    """A rule whose outcome is a choice, such as True, sizes or a layout."""


def decision(
    *, label: str = "", paper: str = "", remark: RemarkFunction | None = None
) -> Callable[[Function], Decision]:
    """Makes a function a decision of its name and enters it into the registry."""

    def enter(function: Function) -> Decision:
        name = function.__name__
        return register(Decision(name, function, label, paper, remark=remark))

    return enter
