"""Sizes of the checked surface language: terms that unify.

    SizeConst 3 | SizeVar n | SizeApply "+" (n, 1) | SizeOpaque | SizeMeta (checker)

A term never holds a position; `SizeOpaque` stands for an expression that the terms
cannot express, identified by its normalised text.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir.node import immutable, same_or

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import TypeIs

    from minifut.frontend import syntax
    from minifut.names import Name


LONGEST = 64
"""operands of the size that a `let` has outside: of more it is an unknown size"""
LONGEST_RESULT = 512
"""operators and operands of a size of a function's result, likewise"""


class Mentions:
    """A place for the names and metas that occur in a term, filled in at the first
    question: terms are made once, and tested for each expression that they are in
    the type of."""

    __slots__ = ("mentioned",)
    mentioned: frozenset[Name | int]


class Composite(Mentions):
    """A place for the number of operands as well."""

    __slots__ = ("operands",)
    operands: int


NOTHING: frozenset[Name | int] = frozenset()


@immutable
class SizeConst:
    """A number known when the program is checked."""

    value: int


@immutable
class SizeVar:
    """A size parameter, an i64 variable, or an unknown size given a name."""

    name: Name


@immutable
class SizeApply(Composite):
    """An operator or function applied to sizes: "+", "-", "*", "/", "%", "//", "**" on
    two arguments, "-" on one; `Name` for a user's function."""

    function: str | Name
    arguments: tuple[Size, ...]


@immutable
class SizeOpaque(Composite):
    """Any other expression: `key` is its text with holes for its free local names;
    `substitution` lists them in order with what they stand for, maybe themselves.
    """

    key: str
    expression: syntax.Exp = field(compare=False, repr=False)
    substitution: tuple[tuple[Name, Size], ...] = ()


@immutable
class SizeMeta:
    """A size to be found by unification (in the checker only)."""

    id: int


@immutable
class SizeAny:
    """`[]` in a type where any size will do (module specs, coercions)."""


Size: TypeAlias = SizeConst | SizeVar | SizeApply | SizeOpaque | SizeMeta | SizeAny


_SIZES = (SizeConst, SizeVar, SizeApply, SizeOpaque, SizeMeta, SizeAny)


def is_size(term: object) -> TypeIs[Size]:
    """Distinguish a size from a type among the arguments of a `Named`."""
    return isinstance(term, _SIZES)


def as_size(term: object) -> Size:
    """What is known to be a size."""
    assert is_size(term)
    return term


def length(size: Size) -> int:
    """The number of operands of a size."""
    if not isinstance(size, Composite):
        return 1
    known: int | None = getattr(size, "operands", None)
    if known is None:
        known = 1 + sum(map(length, size_parts(size)))
        object.__setattr__(size, "operands", known)
    return known


def free_in_size(size: Size) -> frozenset[Name | int]:
    """The names in a size, and the numbers of its metas."""
    match size:
        case SizeVar(name):
            return frozenset((name,))
        case SizeMeta(number):
            return frozenset((number,))
        case SizeApply() | SizeOpaque():
            known: frozenset[Name | int] | None = getattr(size, "mentioned", None)
            if known is None:
                known = NOTHING.union(*map(free_in_size, size_parts(size)))
                object.__setattr__(size, "mentioned", known)
            return known
        case SizeConst() | SizeAny():
            return NOTHING


def has_metas(mentioned: frozenset[Name | int]) -> bool:
    """Whether there are numbers of metas among the names."""
    return int in map(type, mentioned)


def size_parts(size: Size) -> list[Size]:
    """The sizes right below a size: operands, or what local names stand for."""
    match size:
        case SizeApply(_, arguments):
            return list(arguments)
        case SizeOpaque(_, _, substitution):
            return [stands_for for _, stands_for in substitution]
        case SizeConst() | SizeVar() | SizeMeta() | SizeAny():
            return []


def map_size_parts(size: Size, change: Callable[[Size], Size]) -> Size:
    """The size with the sizes right below it replaced; the same object if all are."""
    match size:
        case SizeApply(function, arguments):
            made = same_or(map(change, arguments), arguments)
            return size if made is arguments else SizeApply(function, made)
        case SizeOpaque(key, expression, substitution) if substitution:
            old = tuple([inner for _, inner in substitution])
            made = same_or(map(change, old), old)
            if made is old:
                return size
            names = [name for name, _ in substitution]
            changed = tuple(zip(names, made, strict=True))
            return SizeOpaque(key, expression, changed)
        case SizeOpaque() | SizeConst() | SizeVar() | SizeMeta() | SizeAny():
            return size


def map_size(size: Size, leaf: Callable[[Size], Size]) -> Size:
    """Rebuild a size bottom-up; `leaf` replaces every non-application."""
    if isinstance(size, SizeApply):
        return map_size_parts(size, lambda part: map_size(part, leaf))
    return leaf(size)


def substitute_size(size: Size, sizes: Mapping[Name, Size]) -> Size:
    """Replace names in a size."""
    if isinstance(size, SizeVar):
        return sizes.get(size.name, size)
    if sizes.keys().isdisjoint(free_in_size(size)):
        return size
    return map_size_parts(size, lambda part: substitute_size(part, sizes))


def show_size(size: Size) -> str:
    """A size in the user's own names."""
    match size:
        case SizeConst(value):
            return str(value)
        case SizeVar(name):
            return name.base
        case SizeApply(function, (operand,)) if isinstance(function, str):
            return f"{function}{show_size(operand)}"
        case SizeApply(function, (left, right)) if isinstance(function, str):
            return f"{_show_operand(left)} {function} {_show_operand(right)}"
        case SizeApply(function, arguments):
            head = function if isinstance(function, str) else function.base
            return " ".join((head, *(_show_operand(a) for a in arguments)))
        case SizeOpaque(_, expression, _):
            return expression.location.text()
        case SizeMeta(number):
            return f"?{number}"
        case SizeAny():
            return ""


def _show_operand(size: Size) -> str:
    text = show_size(size)
    return f"({text})" if isinstance(size, SizeApply) else text
