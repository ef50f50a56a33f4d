"""`@immutable` and `@mutable`: dataclasses that are made quickly.

An *immutable* is a fact, a plan or a description: never changed after it is made (under
`MINIFUT_DEBUG=freeze` an attempt raises), and compared by structure; a *mutable* is the
state of what makes them. Their methods are made of getters: those of dataclasses are
compiled when a class is made, in a millisecond if it is frozen and has slots. That was
a tenth of the time of compiling a small program, or of loading a compiled one.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

from minifut.debug import debugging

T = TypeVar("T")
FREEZE = debugging("freeze")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(cls: type[T]) -> type[T]:
    """A fact: structural equality, hashable."""
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
        kept = [
            f.name for f in dataclasses.fields(own) if f.compare and f.hash is not False
        ]
        key = _contents(kept)
        own.__hash__ = (lambda self: hash(key(self))) if hashed else None
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
