"""Parser actions that collect parts, and those that make a node of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from minifut.errors import Location


def node(cls: type[Any]) -> Callable[..., Any]:
    """The action that makes a node: the parts are its fields in order, lists as
    tuples."""
    if not any("tuple[" in str(field.type) for field in fields(cls)):
        return cls

    def make(at: Location, *parts: Any) -> Any:
        return cls(at, *[tuple(p) if isinstance(p, list) else p for p in parts])

    return make


def prepended(cls: type[Any]) -> Callable[..., Any]:
    """The action that makes a node of a first part and the others."""
    return lambda at, first, others: cls(at, (first, *others))


def _append(items: list[Any], item: Any) -> list[Any]:
    # The list is held by the parser's stack alone, so it may grow in place.
    items.append(item)
    return items


def _chain_more(chain: list[Any], link: Any, operand: Any) -> list[Any]:
    chain += (link, operand)
    return chain


LISTS: dict[str, Any] = {
    "empty": list,
    "single": lambda item: [item],
    "append": _append,
    "prepend": lambda item, items: [item, *items],
    "pair": lambda first, second: (first, second),
    "chain_start": lambda left, link, right: [left, link, right],
    "chain_more": _chain_more,
    "index_step": tuple,
    "field_step": lambda field: field,
    "fixed_dimension": lambda expression: expression,
    "plain_keyword": lambda: False,
    "entry_keyword": lambda: True,
    "unlifted": lambda: "",
    "size_lifted": lambda: "~",
    "fully_lifted": lambda: "^",
    "bound_identifier": lambda name: name,
}
