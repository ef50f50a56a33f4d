"""Order in chains of infix operators, ranges and `with`.

    a + b * c |> f      [a, +, b, *, c, |>, f]      ->   (a + (b * c)) |> f

An operator binds as the longest built-in operator that it begins with: `<*>` as `<`,
`>>=` as `>>`. Each link has two levels: how tightly it takes what precedes it, and
how tightly it keeps what follows. They differ for `with` only, whose value part
ends before another `with`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from minifut.errors import Location, error
from minifut.frontend.syntax import BinaryOp, DimIndex, Exp, RangeExp, Update, Var
from minifut.ir.node import immutable

RANGE, BACKQUOTE, WITH, WITH_VALUE = 1, 2, 3, 4
PIPE_LEFT = 6

LEVELS = {
    "|>": 5,
    "<|": PIPE_LEFT,
    "||": 7,
    "&&": 8,
    **dict.fromkeys(["<=", ">=", ">", "<", "==", "!=", "!", "="], 9),
    **dict.fromkeys(["&", "^", "|"], 10),
    **dict.fromkeys(["<<", ">>"], 11),
    **dict.fromkeys(["+", "-"], 12),
    **dict.fromkeys(["*", "/", "%", "//", "%%"], 13),
    "**": 14,
}

RIGHT_ASSOCIATIVE = frozenset([RANGE, PIPE_LEFT])


@immutable
class RangeLink:
    """`..`, `...`, `..<` or `..>`."""

    location: Location
    kind: str


@immutable
class UpdateLink:
    """`with [i].x =`."""

    location: Location
    steps: tuple[str | tuple[DimIndex, ...], ...]


Link: TypeAlias = Var | RangeLink | UpdateLink
Chain: TypeAlias = list[Exp | Link]
"""Operands at even places, links at odd ones."""


@lru_cache(maxsize=1024)
def operator_level(name: str) -> int:
    """How tightly the operator binds; a name in backquotes binds least."""
    for length in range(len(name), 0, -1):
        level = LEVELS.get(name[:length])
        if level is not None:
            return level
    return BACKQUOTE


def levels(link: Link) -> tuple[int, int]:
    """The levels before and behind a link."""
    match link:
        case Var():
            level = operator_level(link.name.name)
            return level, level
        case RangeLink():
            return RANGE, RANGE
        case UpdateLink():
            return WITH, WITH_VALUE


def resolve(chain: Chain) -> Exp:
    """The expression that a chain means. Raises CompileError at a bare `..`."""
    operands: list[Exp] = [_operand(chain[0])]
    pending: list[tuple[int, Link]] = []
    for place in range(1, len(chain), 2):
        link = _link(chain[place])
        before, behind = levels(link)
        _reduce(operands, pending, before)
        pending.append((behind, link))
        operands.append(_operand(chain[place + 1]))
    _reduce(operands, pending, 0)
    return operands[0]


def resolve_section(chain: Chain, operator: Var) -> Exp:
    """The left operand of a section `(chain operator)`.

    Raises CompileError if the operator would take only the end of the chain.
    """
    whole = resolve(chain)
    level = operator_level(operator.name.name)
    for place in range(1, len(chain), 2):
        behind = levels(_link(chain[place]))[1]
        if behind < level or (behind == level and level in RIGHT_ASSOCIATIVE):
            raise error(
                whole.location,
                f"`{operator.name}` binds more tightly than an operator before it, so "
                "this is not its left operand",
                "syntax-error",
                "put parentheses around the operand",
            )
    return whole


def _operand(item: Exp | Link) -> Exp:
    assert isinstance(item, Exp)
    return item


def _link(item: Exp | Link) -> Link:
    assert isinstance(item, Var | RangeLink | UpdateLink)
    return item


def _reduce(operands: list[Exp], pending: list[tuple[int, Link]], level: int) -> None:
    """Build what binds more tightly than a coming link of that level."""
    while pending:
        behind, link = pending[-1]
        if behind < level or (behind == level and level in RIGHT_ASSOCIATIVE):
            return
        pending.pop()
        right = operands.pop()
        left = operands.pop()
        operands.append(_build(left, link, right, operands, pending))


def _build(
    left: Exp,
    link: Link,
    right: Exp,
    operands: list[Exp],
    pending: list[tuple[int, Link]],
) -> Exp:
    at = left.location.to(right.location)
    match link:
        case Var():
            return BinaryOp(at, link, left, right)
        case UpdateLink():
            return Update(at, left, link.steps, right)
        case RangeLink(kind=".."):
            raise error(
                link.location,
                "a range needs an end: `..` alone is not one",
                "syntax-error",
                "write a...b (b included), a..<b (b excluded), or a..second...b",
            )
        case RangeLink(kind=kind):
            if pending and isinstance(pending[-1][1], RangeLink):
                outer = pending[-1][1]
                if outer.kind == "..":
                    pending.pop()
                    start = operands.pop()
                    at = start.location.to(right.location)
                    return RangeExp(at, start, left, right, kind)
            return RangeExp(at, left, None, right, kind)
