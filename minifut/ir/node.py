"""`@node`, `@immutable` and `@mutable`: the kinds of dataclass of the compiler.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

from minifut.debug import debugging

T = TypeVar("T")
FREEZE = debugging("freeze")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """A place in a program. Nodes with equal contents are still different nodes."""
    return dataclass(slots=True, eq=False, frozen=FREEZE, repr=False)(shown(cls))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(cls: type[T]) -> type[T]:
    """A fact: structural equality, hashable. Its methods are made of getters: those of
    dataclasses are compiled when a class is made, which was a tenth of the time of
    compiling a small program."""
    made = dataclass(slots=True, eq=False, frozen=FREEZE, repr=False)(shown(cls))
    return _compared(made, hashed=True)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """What changes while something is made: structural equality, made as quickly."""
    made = dataclass(slots=True, eq=False, repr=False)(shown(cls))
    return _compared(made, hashed=False)


def _compared(cls: type[T], *, hashed: bool) -> type[T]:
    """The class with the methods that compare contents, unless it has its own."""
    own: Any = cls
    contents = _contents([f.name for f in dataclasses.fields(own) if f.compare])
    if "__eq__" not in own.__dict__:

        def same(self: T, other: object) -> Any:
            if self.__class__ is not other.__class__:
                return NotImplemented
            return contents(self) == contents(other)

        own.__eq__ = same
    if own.__dict__.get("__hash__") is None:
        own.__hash__ = (lambda self: hash(contents(self))) if hashed else None
    return cls


def _contents(names: Sequence[str]) -> Callable[[Any], object]:
    """What gives the values of some attributes."""
    return operator.attrgetter(*names) if names else lambda _: ()


def shown(cls: type[T]) -> type[T]:
    """The class with one `__repr__` for all: dataclasses compile one for each class, a
    third of what it takes to make one."""
    if cls.__repr__ is object.__repr__:
        cls.__repr__ = _shown  # type: ignore[method-assign]
    return cls


def _shown(self: Any) -> str:
    fields = [f.name for f in dataclasses.fields(self) if f.repr]
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
    return f"{type(self).__qualname__}({values})"


def divided(items: Sequence[T], counts: Iterable[int]) -> list[tuple[T, ...]]:
    """The items in groups of so many each: abcde by (2, 3) is ab, cde."""
    rest = iter(items)
    return [tuple(itertools.islice(rest, count)) for count in counts]


def same_items(made: Sequence[object], known: Sequence[object]) -> bool:
    """Whether two sequences hold the same objects: then nothing changed."""
    return len(made) == len(known) and all(map(operator.is_, made, known))


def same_or(made: Sequence[T], known: tuple[T, ...]) -> tuple[T, ...]:
    """What was made, as the tuple that is known if nothing changed."""
    return known if same_items(made, known) else tuple(made)


def replace(original: T, **changes: Any) -> T:
    """A copy with some fields changed; the same object if none really changes. Tuples
    are the same if their items are."""
    for name, new in tuple(changes.items()):
        old = getattr(original, name)
        if new is old or (type(new) is type(old) is tuple and same_items(new, old)):
            del changes[name]
    if not changes:
        return original
    return dataclasses.replace(original, **changes)  # type: ignore[type-var]
