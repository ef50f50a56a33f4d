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
    match size:
        case SizeApply(_, arguments):
            return 1 + sum(map(length, arguments))
        case SizeOpaque(_, _, substitution):
            return 1 + sum(length(stands_for) for _, stands_for in substitution)
    return 1


def map_size(size: Size, leaf: Callable[[Size], Size]) -> Size:
    """Rebuild a size bottom-up; `leaf` replaces every non-application."""
    if isinstance(size, SizeApply):
        mapped = tuple(map_size(a, leaf) for a in size.arguments)
        return SizeApply(size.function, mapped)
    return leaf(size)


def substitute_size(size: Size, sizes: Mapping[Name, Size]) -> Size:
    """Replace names in a size."""

    def leaf(term: Size) -> Size:
        match term:
            case SizeVar(name) if name in sizes:
                return sizes[name]
            case SizeOpaque(key, expression, inner):
                done = tuple((n, substitute_size(s, sizes)) for n, s in inner)
                return SizeOpaque(key, expression, done)
            case _:
                return term

    return map_size(size, leaf)


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
