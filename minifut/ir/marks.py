"""What nodes keep besides their fields: marks, and what is below them.

Marks of parameters and statements say what simplification need not try again.

A node never changes, so what depends on the node alone stays true wherever it is found
again. `SIMPLE` depends on what the names in it stand for as well: a sweep tries such a
statement again if one of them has changed.
"""

from __future__ import annotations


class WithMarks:
    """A place for what passes have found out of a node once and for all
    (`ir.marks`). It is no field: a copy with changes has none."""

    __slots__ = ("marks",)


class WithBelow(WithMarks):
    """A place for the names in a node and for the classes of the nodes in it, which
    `ir.traverse` and `ir.search` find at the first query. It is no field: a copy with
    changes has none."""

    __slots__ = ("below", "classes")


class WithClasses:
    """The same for the classes alone."""

    __slots__ = ("classes",)


class WithFlows(WithClasses):
    """And for what is assigned inside (`kernel_ir.assignments`) and what depends on
    what there (`vectorise.varying`)."""

    __slots__ = ("assigned", "flows")


SIMPLE = 1
"""no rule of simplification applied"""
LIVE = 2
"""no dead code is inside"""
WITHOUT_INVARIANTS = 4
"""nothing inside moves out of loops and lambdas"""


def has_mark(node: WithMarks, mark: int) -> bool:
    """Whether a node was marked."""
    marks: int = getattr(node, "marks", 0)
    return marks & mark != 0


def add_mark(node: WithMarks, mark: int) -> None:
    """Mark a node."""
    object.__setattr__(node, "marks", getattr(node, "marks", 0) | mark)
