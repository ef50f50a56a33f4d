"""`@immutable` and `@mutable`: dataclasses that are made quickly.

An *immutable* is a fact, a plan or a description: never changed after it is made (under
`MINIFUT_DEBUG=freeze` an attempt raises), and compared by structure, or by identity if
it is *fixed*; a *mutable* is the state of what makes them. The methods of dataclasses
are compiled when a class is made, in a third of a millisecond or more, and the compiler
has 500 classes: half of the time of compiling a first small program. So comparisons are
made of getters here, and the constructor is compiled when a class has its first
instance (`quick_dataclass`).
"""

from __future__ import annotations

import dataclasses
import inspect
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
    return _compared(quick_dataclass(cls, frozen=FREEZE), hashed=True)


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def fixed(cls: type[T]) -> type[T]:
    """What never changes either, and is only the same as itself."""
    return quick_dataclass(cls, frozen=FREEZE)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """What changes while something is made: structural equality, made as quickly."""
    return _compared(quick_dataclass(cls), hashed=False)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def quick_dataclass(cls: type[T], frozen: bool = False) -> type[T]:
    """A dataclass with slots that is compared by identity, shown by the one `__repr__`
    of all, and gets its constructor when it is first called."""
    if cls.__repr__ is object.__repr__:
        cls.__repr__ = _shown  # type: ignore[method-assign]
    if cls.__doc__ is None:  # or it is made from the signature
        cls.__doc__ = cls.__name__
    if frozen:
        return dataclass(slots=True, eq=False, frozen=True, repr=False)(cls)
    written = inspect.get_annotations(cls)
    # a text is matched with all that is no field, in half of the time
    known = {n: t if "ClassVar" in t else object for n, t in written.items()}
    cls.__annotations__ = known
    made: Any = dataclass(slots=True, eq=False, init=False, repr=False)(cls)
    made.__annotations__ = written
    for name, each in made.__dataclass_fields__.items():
        each.type = written.get(name, each.type)

    def construct(self: T, *arguments: Any, **named: Any) -> None:
        made.__init__ = _constructor(made)
        made.__init__(self, *arguments, **named)

    if "__init__" not in made.__dict__:
        made.__init__ = construct
    finished: type[T] = made
    return finished


def _constructor(cls: Any) -> Callable[..., None]:
    """The constructor of a dataclass that is not frozen."""
    parameters, named, lines = ["self"], list[str](), list[str]()
    known: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    for f in dataclasses.fields(cls):
        default, value, parameter = f"_{f.name}", f.name, f.name
        if f.default_factory is not dataclasses.MISSING:
            known[default] = f.default_factory
            parameter += "=MISSING"
            value = f"{default}() if {value} is MISSING else {value}"
        elif f.default is not dataclasses.MISSING:
            known[default] = f.default
            parameter += f"={default}"
        if f.init:
            (named if f.kw_only else parameters).append(parameter)
            lines.append(f"self.{f.name} = {value}")
        elif default in known:
            call = "()" if f.default is dataclasses.MISSING else ""
            lines.append(f"self.{f.name} = {default}{call}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    if named:
        parameters += ["*", *named]
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n    {body}", known)
    constructor: Callable[..., None] = known["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    return constructor


def _compared(cls: type[T], *, hashed: bool) -> type[T]:
    """The class with the methods that compare contents, unless it has its own."""
    own: Any = cls
    contents = _contents([f.name for f in dataclasses.fields(own) if f.compare])
    if "__eq__" not in own.__dict__:

        def same(self: T, other: object) -> Any:
            if self is other:
                return True
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


def _shown(self: Any) -> str:
    fields = [f.name for f in dataclasses.fields(self) if f.repr]
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
    return f"{type(self).__qualname__}({values})"
