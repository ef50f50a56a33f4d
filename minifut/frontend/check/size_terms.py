"""From an expression to a size term.

    n          SizeVar n          n + 1     SizeApply "+" (n, 1)
    f (n-1)    SizeOpaque "$0 ($1-1)" with holes f and n

What the terms cannot express becomes `SizeOpaque`: its key is the text of the
expression with holes for the values in it that are not of the prelude; `substitution`
says what each of them stands for. Two opaque sizes are equal when keys and holes are.
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.frontend import syntax
from minifut.frontend.syntax.node import filled
from minifut.frontend.syntax.traverse import walk
from minifut.frontend.types import Size, SizeApply, SizeConst, SizeOpaque, SizeVar
from minifut.names import Name

ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "//", "**"})

_BINDING = (
    syntax.Lambda,
    syntax.Let,
    syntax.LetFunction,
    syntax.LetUpdate,
    syntax.Loop,
    syntax.Match,
)


def has_binding(expression: syntax.Exp) -> bool:
    """Does an expression bind names? Then it cannot be a size."""
    return any(isinstance(node, _BINDING) for node in walk(expression))


def size_term(
    expression: syntax.Exp,
    operators: Callable[[Name], str | None],
    is_local: Callable[[Name], bool],
) -> Size:
    """The size that an expression (checked so far that names are resolved) denotes."""

    def term(node: syntax.Exp) -> Size:
        match node:
            case syntax.Parens(_, inner) | syntax.Attributed(_, _, inner):
                return term(inner)
            case syntax.Ascription(_, value, _) | syntax.Assert(_, _, value):
                return term(value)
            case syntax.Literal(_, value, _) if isinstance(value, int):
                return SizeConst(value)
            case syntax.Negate(_, operand):
                negated = term(operand)
                if isinstance(negated, SizeConst):
                    return SizeConst(-negated.value)
                return SizeApply("-", (negated,))
            case syntax.Var() if not node.fields and node.name_resolved is not None:
                if not node.instance:
                    return SizeVar(node.name_resolved)
            case syntax.BinaryOp(_, operator, left, right):
                symbol = operators(filled(operator.name_resolved))
                if symbol in ARITHMETIC:
                    return arithmetic(symbol, term(left), term(right))
        return opaque(node, is_local)

    return term(expression)


def arithmetic(symbol: str, left: Size, right: Size) -> Size:
    """An operation on sizes. Nothing is computed: [2 * 3]t is to match [n * m]t."""
    return SizeApply(symbol, (left, right))


def opaque(expression: syntax.Exp, is_local: Callable[[Name], bool]) -> SizeOpaque:
    """A size known by its text and what the local names in it stand for."""
    holes: dict[Name, int] = {}
    parts: list[str] = []

    def write(node: object) -> None:
        match node:
            case syntax.Parens(_, inner):
                write(inner)
            case syntax.Var():
                name = node.name_resolved
                if name is not None and is_local(name):
                    number = holes.setdefault(name, len(holes))
                    parts.append(f"${number}")
                else:
                    parts.append(str(name))
                parts.extend(f".{field}" for field in node.fields)
            case syntax.Node():
                parts.append(f"({type(node).__name__}")
                for slot, info in type(node).__dataclass_fields__.items():
                    if info.init and slot not in ("location", "type"):
                        parts.append(" ")
                        write(getattr(node, slot))
                parts.append(")")
            case tuple():
                for item in node:
                    parts.append(",")
                    write(item)
            case _:
                parts.append(repr(node))

    write(expression)
    substitution = tuple((name, SizeVar(name)) for name in holes)
    return SizeOpaque("".join(parts), expression, substitution)
