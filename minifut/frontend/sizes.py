"""Sizes of the checked surface language: terms that unify.

    SizeConst 3 | SizeVar n | SizeApply "+" (n, 1) | SizeOpaque | SizeMeta (checker)

A term never holds a position; `SizeOpaque` stands for an expression that the terms
cannot express, identified by its normalised text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import TypeIs

    from minifut.frontend import syntax
    from minifut.names import Name


LONGEST = 64
"""operands of the size that a `let` has outside: of more it is an unknown size"""
LONGEST_RESULT = 512
"""operators and operands of a size of a function's result, likewise"""


@dataclass(frozen=True, slots=True)
class SizeConst:
    """A number known when the program is checked."""

    value: int


@dataclass(frozen=True, slots=True)
class SizeVar:
    """A size parameter, an i64 variable, or an unknown size given a name."""

    name: Name


@dataclass(frozen=True, slots=True)
class SizeApply:
    """An operator or function applied to sizes: "+", "-", "*", "/", "%", "//", "**" on
    two arguments, "-" on one; `Name` for a user's function."""

    function: str | Name
    arguments: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class SizeOpaque:
    """Any other expression: `key` is its text with holes for its free local names;
    `substitution` lists them in order with what they stand for, maybe themselves.
    """

    key: str
    expression: syntax.Exp = field(compare=False, repr=False)
    substitution: tuple[tuple[Name, Size], ...] = ()


@dataclass(frozen=True, slots=True)
class SizeMeta:
    """A size to be found by unification (in the checker only)."""

    id: int


@dataclass(frozen=True, slots=True)
class SizeAny:
    """`[]` in a type where any size will do (module specs, coercions)."""


Size: TypeAlias = SizeConst | SizeVar | SizeApply | SizeOpaque | SizeMeta | SizeAny


_SIZES = (SizeConst, SizeVar, SizeApply, SizeOpaque, SizeMeta, SizeAny)


def is_size(term: object) -> TypeIs[Size]:
    """Tell a size from a type among the arguments of a `Named`."""
    return isinstance(term, _SIZES)


def as_size(term: object) -> Size:
    """What is known to be a size."""
    assert is_size(term)
    return term


def length(size: Size) -> int:
    """The number of operands of a size."""
    return 1 + sum(map(length, size_parts(size)))


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
    """The size with the sizes right below it replaced."""
    match size:
        case SizeApply(function, arguments):
            return SizeApply(function, tuple(map(change, arguments)))
        case SizeOpaque(key, expression, substitution) if substitution:
            changed = tuple((name, change(inner)) for name, inner in substitution)
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
