"""The printed form of a node, declared once on its class and read in both directions.

    class Prefetch:                          prefetch xs[i + 128]
        form = "prefetch {memory}[{index}]"

The printer fills a form in, the reader follows it: there is no grammar besides. A form
consists of words and signs, which stand as they are, and of

    {field}       the field; what it looks like follows from its annotation
    {field!}      the same where it is declared: a name with its type
    {field?}      the name of a field that is true; nothing for one that is false
    <..{field}..> a part that is left out where the field has its default

Nodes of one union (statements, parameters, what hosts compute) are told apart by the
words that their forms begin with. Blocks are statements in braces.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from minifut.kernel_ir import nodes as kc


@dataclass(frozen=True, slots=True)
class Word:
    """A word or a sign of a form."""

    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field, with its annotation; `declared` where it is declared."""

    name: str
    hint: Any
    declared: bool


@dataclass(frozen=True, slots=True)
class Flag:
    """A word that stands for a field that is true."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A part that is left out where its field has its default."""

    parts: tuple[Word | Field, ...]
    name: str
    default: Any


Part: TypeAlias = Word | Field | Flag | Optional

_PART = re.compile(r"<([^>]*)>|\{(\w+)([!?]?)\}|(\w+)|([^\w{}<>])")
CLASSES: tuple[type, ...] = tuple(
    cls for cls in vars(kc).values() if isinstance(cls, type) and hasattr(cls, "form")
)
"""all nodes that have a form"""


@cache
def form_of(cls: Any) -> tuple[Part, ...]:
    """The parts of the form of a class."""
    return tuple(_parts(cls, cls.form))


def _parts(cls: type, text: str) -> typing.Iterator[Part]:
    hints = typing.get_type_hints(cls)
    defaults = {f.name: f.default for f in dataclasses.fields(cls)}
    for found in _PART.finditer(text):
        optional, name, mark, word, sign = found.groups()
        if optional is not None:
            inner = tuple(p for p in _parts(cls, optional) if not isinstance(p, Flag))
            (key,) = [p.name for p in inner if isinstance(p, Field)]
            yield Optional(inner, key, defaults[key])  # type: ignore[arg-type]
        elif name is not None:
            yield Flag(name) if mark == "?" else Field(name, hints[name], mark == "!")
        else:
            yield Word(word or sign)


@cache
def first_word(cls: type) -> str | None:
    """The word that a form begins with, if it does."""
    match form_of(cls)[0]:
        case Word(text) if text[0].isalpha():
            return text
    return None


def first_sign(parts: tuple[Word | Field, ...]) -> str:
    """The first word or sign of some parts."""
    texts = (part.text for part in parts if isinstance(part, Word))
    return next(text for text in texts if not text.isspace())


@cache
def words() -> frozenset[str]:
    """All words of all forms, which no variable may be called."""
    found = set()
    for cls in CLASSES:
        for part in form_of(cls):
            for each in part.parts if isinstance(part, Optional) else (part,):
                match each:
                    case Word(text) if text[0].isalpha():
                        found.add(text)
                    case Flag(name):
                        found.add(name)
    return frozenset(found)


@cache
def alternatives(hint: Any) -> dict[str | None, type]:
    """The classes of a union that have forms, by their first words."""
    return {
        first_word(cls): cls
        for cls in options_of(hint)
        if isinstance(cls, type) and hasattr(cls, "form")
    }


@cache
def options_of(hint: Any) -> tuple[Any, ...]:
    """The members of a union other than None; another annotation alone."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return (hint,)
    return tuple(o for o in typing.get_args(hint) if o is not types.NoneType)


@cache
def is_mixed(hint: Any) -> bool:
    """Whether what an annotation is of, or has elements of, is a union."""
    return len(options_of(item_of(hint) or hint)) > 1


@cache
def item_of(hint: Any) -> Any:
    """The annotation of the elements of `tuple[X, ...]`; None for other annotations."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return arguments[0]
    return None
