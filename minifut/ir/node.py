"""`@node`, beside `@immutable` and `@mutable`: the kinds of dataclass of the compiler.

A *node* is a place in a program: slots, identity equality, never changed after it is
made (under `MINIFUT_DEBUG=freeze` an attempt raises). An *immutable* is a fact, or a
plan: never changed either, and compared by structure (types, sizes, constants); a
*mutable* is the state of what makes them.

What a node's children are is read once per class from its field annotations
(`ir.fields`); what it binds from the declarations `introduces` and `binds`. Everything
that walks a program (`ir.traverse`, `ir.alpha`, `ir.scope`) is derived from these, so
that a new operation never means a new visitor.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cache
from typing import Any, TypeVar, dataclass_transform

from minifut.immutables import fixed
from minifut.immutables import immutable as immutable
from minifut.immutables import mutable as mutable

T = TypeVar("T")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """A place in a program. Nodes with equal contents are still different nodes."""
    return fixed(cls)


def flagged(items: Sequence[T], flags: Sequence[bool]) -> tuple[T, ...]:
    """The items whose flag is set."""
    return tuple(item for item, flag in zip(items, flags, strict=True) if flag)


def divided(items: Sequence[T], counts: Iterable[int]) -> list[tuple[T, ...]]:
    """The items in groups of so many each: abcde by (2, 3) is ab, cde."""
    rest = iter(items)
    return [tuple(itertools.islice(rest, count)) for count in counts]


def same_or(made: Iterable[T], known: tuple[T, ...]) -> tuple[T, ...]:
    """What was made, as the tuple that is known if nothing changed: if the items are
    the same objects, since large types that are equal take long to compare."""
    new = tuple(made)
    same = len(new) == len(known) and all(map(operator.is_, new, known))
    return known if same else new


def replace(original: T, **changes: Any) -> T:
    """A copy with some fields changed; the same object if none really changes. Tuples
    are the same if their items are."""
    for name, new in tuple(changes.items()):
        old = getattr(original, name)
        if new is old or (type(new) is type(old) is tuple and new == old):
            del changes[name]
    if not changes:
        return original
    cls: Any = type(original)
    for name in _field_names(cls):
        if name not in changes:
            changes[name] = getattr(original, name)
    made: T = cls(**changes)
    return made


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    """Of those that the constructor takes."""
    return tuple(each.name for each in dataclasses.fields(cls) if each.init)
