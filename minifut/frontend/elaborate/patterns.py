"""Binding patterns to values, and what has to hold for a pattern to fit.

(a, {x, y = #some z})    fits if the tag of y is that of #some; binds a, x, z
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import error
from minifut.frontend import syntax, types
from minifut.frontend.elaborate import sums, values
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.sizes import match_type
from minifut.frontend.elaborate.values import Leaf, Value
from minifut.ir.core import Constant
from minifut.ir.types import BOOL, ScalarType
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work

NONE: frozenset[Name] = frozenset()


def bind(
    pattern: syntax.Pattern,
    value: Value,
    env: Environment,
    work: Work,
    force: frozenset[Name] = NONE,
) -> None:
    """Bind all names of a pattern, and the sizes that its types mention, in `env`."""
    match_type(pattern.type, value, env, force)
    bind_names(pattern, value, env, work)


def bind_names(
    pattern: syntax.Pattern, value: Value, env: Environment, work: Work
) -> None:
    """Bind the names only."""
    match pattern:
        case syntax.NamePattern(name=name):
            env.bind(name, pattern.name_resolved, value)
        case syntax.ParensPattern(inner=inner) | syntax.AttributedPattern(inner=inner):
            bind_names(inner, value, env, work)
        case syntax.AscribedPattern(inner=inner, ascription=ascription):
            match_type(ascription.type, value, env, NONE)
            bind_names(inner, value, env, work)
        case syntax.TuplePattern(elements=parts):
            for part, element in zip(parts, values.elements(value), strict=True):
                bind_names(part, element, env, work)
        case syntax.RecordPattern(fields=fields):
            assert isinstance(value, values.RecordValue)
            for name, part in fields:
                bind_names(part, value.fields[name], env, work)
        case syntax.ConstructorPattern(constructor=constructor, arguments=arguments):
            payload = sums.payload(work, value, constructor)
            for part, element in zip(arguments, payload, strict=True):
                bind_names(part, element, env, work)
        case syntax.WildcardPattern() | syntax.LiteralPattern():
            pass
        case _:
            raise error(
                pattern.location, "this pattern is not supported", "not-supported"
            )


def tests(
    pattern: syntax.Pattern, value: Value, work: Work
) -> list[tuple[Leaf, Constant]]:
    """The leaves that must equal constants for the pattern to fit."""
    match pattern:
        case (
            syntax.ParensPattern(inner=inner)
            | syntax.AttributedPattern(inner=inner)
            | syntax.AscribedPattern(inner=inner)
        ):
            return tests(inner, value, work)
        case syntax.TuplePattern(elements=parts):
            pairs = list(zip(parts, values.elements(value), strict=True))
        case syntax.RecordPattern(fields=fields):
            assert isinstance(value, values.RecordValue)
            pairs = [(part, value.fields[name]) for name, part in fields]
        case syntax.ConstructorPattern(constructor=constructor, arguments=arguments):
            found = sums.tests(value, constructor)
            if found[0][0].atom == Constant(False, BOOL):
                return found
            payload = sums.payload(work, value, constructor)
            pairs = list(zip(arguments, payload, strict=True))
            return [*found, *[t for p, v in pairs for t in tests(p, v, work)]]
        case syntax.LiteralPattern(literal=literal):
            assert isinstance(value, Leaf) and isinstance(value.type, ScalarType)
            return [(value, literal_constant(literal, value.type))]
        case _:
            return []
    return [test for part, inner in pairs for test in tests(part, inner, work)]


def literal_constant(literal: syntax.Literal, type_: ScalarType) -> Constant:
    """A literal at its type."""
    if type_.is_float:
        return Constant(type_.nearest(literal.value), type_)
    if isinstance(literal.value, bool):
        return Constant(literal.value, type_)
    number = int(literal.value)
    if not _fits(number, type_):
        raise error(
            literal.location,
            f"{number} is out of range for {types.Scalar(type_.name).name}",
            "literal-out-of-bounds",
        )
    return Constant(type_.nearest(number), type_)


def _fits(number: int, type_: ScalarType) -> bool:
    """The least number of a signed type is written as a positive literal negated."""
    if type_.kind == "uint":
        return -(1 << type_.bits) < number < 1 << type_.bits
    return -(1 << type_.bits - 1) <= number < 1 << type_.bits
