"""The variables that a piece of checked syntax mentions, by unique name."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from minifut.frontend import syntax
from minifut.names import Name


@cache
def _child_fields(cls: Any) -> tuple[str, ...]:
    """The fields of a syntax class that may hold syntax."""
    return tuple(
        f.name
        for f in fields(cls)
        if f.name not in ("location", "name", "operator_name") and f.init
    )


def child_nodes(node: syntax.Node) -> list[object]:
    """What the fields hold that may hold syntax: nodes, and tuples with nodes."""
    kind: Any = type(node)
    return [getattr(node, name) for name in _child_fields(kind)]


def free_variables(root: syntax.Node) -> set[Name]:
    """Names of all variables used inside, bound there or not; types included.

    Names are unique, so those bound inside do no harm to who looks for outer ones.
    """
    found: set[Name] = set()
    work: list[object] = [root]
    while work:
        item = work.pop()
        match item:
            case tuple():
                work.extend(item)
            case syntax.Node():
                if isinstance(item, syntax.Var) and item.name_resolved is not None:
                    found.add(item.name_resolved)
                if isinstance(item, syntax.LetUpdate) and item.source_resolved:
                    found.add(item.source_resolved)
                work.extend(child_nodes(item))
    return found
