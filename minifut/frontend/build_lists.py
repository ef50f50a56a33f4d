"""Parser actions that collect parts, without a place of their own in the source."""

from __future__ import annotations

from typing import Any


def _append(items: list[Any], item: Any) -> list[Any]:
    # The list is held by the parser's stack alone, so it may grow in place.
    items.append(item)
    return items


def _chain_more(chain: list[Any], link: Any, operand: Any) -> list[Any]:
    chain += (link, operand)
    return chain


def _index_step(dimensions: list[Any]) -> tuple[Any, ...]:
    return tuple(dimensions)


LISTS: dict[str, Any] = {
    "empty": list,
    "single": lambda item: [item],
    "append": _append,
    "prepend": lambda item, items: [item, *items],
    "pair": lambda first, second: (first, second),
    "chain_start": lambda left, link, right: [left, link, right],
    "chain_more": _chain_more,
    "index_step": _index_step,
    "field_step": lambda field: field,
    "fixed_dimension": lambda expression: expression,
    "plain_keyword": lambda: False,
    "entry_keyword": lambda: True,
    "unlifted": lambda: "",
    "size_lifted": lambda: "~",
    "fully_lifted": lambda: "^",
    "bound_identifier": lambda name: name,
}
