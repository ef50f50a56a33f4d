"""The printed form of a node, declared once on its class and read in both directions.

    class Prefetch:                             prefetch xs[i + 128]
        printed = "prefetch {memory}[{index}]"

    class SegSpace:                             (i < n, j < m)
        printed = "(<,{indices} < {sizes}>)"

The printer fills a form in, the reader follows it: there is no grammar besides. A form
consists of words and signs, which stand as they are, and of

    {field}       the field; what it looks like follows from its annotation
    {field!}      the same where it is declared: a name with its type
    {field?}      the name of a field that is true; nothing for one that is false
    {field.0}     a component of a field that holds a pair or triple
    {head}        of a property, which may be several words (a `Literal`): one of them
    <?..{field}..> a part that is left out where its last field has its default
    <*..{field}..> a part for each element of its fields, which are equally long
    <,..{field}..> the same with commas between, up to a closing bracket
    ~             a space; a new line in a node with parts for each element, if any of
                  these has several lines

Nodes of one union (expressions, statements, parameters, what hosts compute) differ in
the words that their forms begin with, or in what follows the first token.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

from minifut.ir.node import immutable

BREAK = "\v"
"""a space that may become a new line"""


@immutable
class Word:
    """A word or a sign of a form."""

    text: str


@immutable
class Field:
    """A field, or a component of it, with its annotation; `declared` where it is
    declared."""

    name: str
    hint: Any
    declared: bool = False
    component: int | None = None


@immutable
class Flag:
    """A word that stands for a field that is true."""

    name: str


@immutable
class Head:
    """One of several words, which a property selects."""

    name: str
    words: tuple[str, ...]


@immutable
class Optional:
    """A part that is left out where its fields have their defaults."""

    parts: tuple[FormPart, ...]
    defaults: dict[str, Any]


@immutable
class Each:
    """A part for each element of its fields."""

    parts: tuple[FormPart, ...]
    names: tuple[str, ...]
    commas: bool


FormPart: TypeAlias = Word | Field | Flag | Head | Optional | Each

_PART = re.compile(
    r"<([?*,])([^>]*)>|\{(\w+)(?:\.(\d))?([!?]?)\}|(\w+)|(->|[^\w{}])", re.ASCII
)


def classes_in(*modules: types.ModuleType) -> tuple[type, ...]:
    """All classes that some modules define and that have a form."""
    return tuple(
        cls
        for module in modules
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__ == module.__name__
        if hasattr(cls, "printed")
    )


@cache
def form_of(cls: Any) -> tuple[FormPart, ...]:
    """The parts of the form of a class."""
    return tuple(_parts(cls, cls.printed, in_each=False))


def _parts(cls: Any, text: str, in_each: bool) -> Iterator[FormPart]:
    hints = typing.get_type_hints(cls)
    defaults = {f.name: f.default for f in dataclasses.fields(cls)}
    for found in _PART.finditer(text):
        kind, inside, name, component, mark, word, sign = found.groups()
        if kind is not None:
            inner = tuple(_parts(cls, inside, in_each or kind != "?"))
            names = dict.fromkeys(p.name for p in inner if isinstance(p, Field))
            if kind == "?":
                yield Optional(inner, {name: defaults[name] for name in names})
            else:
                yield Each(inner, tuple(names), kind == ",")
        elif name is None:
            yield Word(BREAK if sign == "~" else word or sign)
        elif name not in hints:
            words = typing.get_type_hints(getattr(cls, name).fget)["return"]
            yield Head(name, typing.get_args(words))
        elif mark == "?":
            yield Flag(name)
        else:
            hint = item_of(hints[name]) if in_each else hints[name]
            if component is None:
                yield Field(name, hint, mark == "!")
            else:
                (whole,) = options_of(hint)
                index = int(component)
                yield Field(name, typing.get_args(whole)[index], component=index)


@cache
def first_words(cls: type) -> tuple[str, ...]:
    """The words that a form can begin with, if it begins with one."""
    match form_of(cls)[0]:
        case Word(text) if not text.isspace():
            return (text,)
        case Head(_, words):
            return words
    return ()


@cache
def beginnings(part: tuple[FormPart, ...]) -> frozenset[str]:
    """The words and signs that parts of a form can begin with."""
    for first in part:
        match first:
            case Word(text) if not text.isspace():
                return frozenset({text})
            case Field(_, hint):
                if item_of(hint) is not None:
                    return frozenset({"("})
                options = options_of(hint)
                return frozenset(word for o in options for word in first_words(o))
    return frozenset()


@cache
def words(*classes: type) -> frozenset[str]:
    """All words of the forms of some classes, which no variable may be called."""

    def within(parts: tuple[FormPart, ...]) -> Iterator[str]:
        for part in parts:
            match part:
                case Word(text):
                    yield text
                case Flag(name):
                    yield name
                case Head(_, texts):
                    yield from texts
                case Optional(inner) | Each(inner):
                    yield from within(inner)

    found = [text for cls in classes for text in within(form_of(cls))]
    return frozenset(text for text in found if text[0].isalpha())


@cache
def alternatives(hint: Any) -> dict[str, type]:
    """The classes of a union that have forms, by their first words."""
    return {word: cls for cls in _forms_in(hint) for word in first_words(cls)}


@cache
def followed(hint: Any) -> dict[str | None, type]:
    """The other classes of a union that have forms, by the second word or sign; by None
    if there is none."""
    found: dict[str | None, type] = {}
    for cls in _forms_in(hint):
        if not first_words(cls):
            found[next(iter(beginnings(form_of(cls)[1:])), None)] = cls
    return found


def _forms_in(hint: Any) -> list[type]:
    options = options_of(hint)
    return [o for o in options if isinstance(o, type) and hasattr(o, "printed")]


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
