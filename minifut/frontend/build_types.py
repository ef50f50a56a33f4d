"""Parser actions for types, patterns, parameters of definitions and attributes."""

from __future__ import annotations

from typing import Any

from minifut.errors import Location, error
from minifut.frontend import literals, syntax
from minifut.frontend.build_lists import node, prepended
from minifut.frontend.syntax import Literal, NamePattern, QualName, TypeExp

# --- names and literals -----------------------------------------------------


def qualified_more(at: Location, module: QualName, name: str) -> QualName:
    return QualName(at, (*module.qualifiers, module.name), name)


def bound_operator(at: Location, operator: syntax.Var) -> str:
    if operator.name.qualifiers:
        raise error(
            at,
            f"`{operator.name}` cannot be defined here: it belongs to another module",
            "syntax-error",
            "define it without the module's name",
        )
    return operator.name.name


def number(at: Location, text: str) -> Literal:
    value, suffix = literals.number(text, at)
    return Literal(at, value, suffix)


def character(at: Location, text: str) -> Literal:
    return Literal(at, literals.character(text, at))


# --- attributes and parameters ----------------------------------------------


def attribute_number(at: Location, text: str) -> syntax.Attribute:
    value, suffix = literals.number(text, at)
    if suffix or not isinstance(value, int):
        raise error(
            at,
            "a number in an attribute is a whole number without a suffix",
            "syntax-error",
        )
    return syntax.Attribute(at, value)


# --- types ------------------------------------------------------------------


def type_sum(at: Location, clauses: list[tuple[str, list[TypeExp]]]) -> syntax.TypeSum:
    return syntax.TypeSum(
        at, tuple((name[1:], tuple(parts)) for name, parts in clauses)
    )


# --- patterns ---------------------------------------------------------------


def field_pattern_ascribed(
    at: Location, name: str, t: TypeExp
) -> tuple[str, syntax.Pattern]:
    end = at.column + len(name)
    inner = NamePattern(Location(at.source, at.line, at.column, at.line, end), name)
    return name, syntax.AscribedPattern(at, inner, t)


_constructor = node(syntax.ConstructorPattern)

TYPES: dict[str, Any] = {
    "qualified_start": lambda at, name: QualName(at, (), name),
    "qualified_more": qualified_more,
    "bound_operator": bound_operator,
    "number": number,
    "character": character,
    "true": lambda at: Literal(at, True),
    "false": lambda at: Literal(at, False),
    "attribute_atom": syntax.Attribute,
    "attribute_number": attribute_number,
    "attribute_compound": syntax.Attribute,
    "size_parameter": syntax.SizeParam,
    "plain_type_parameter": syntax.TypeParam,
    "size_lifted_type_parameter": lambda at, name: syntax.TypeParam(at, name, "~"),
    "fully_lifted_type_parameter": lambda at, name: syntax.TypeParam(at, name, "^"),
    "type_arrow": lambda at, argument, result: syntax.TypeArrow(
        at, None, argument, result
    ),
    "type_named_arrow": syntax.TypeArrow,
    "type_existential": lambda at, sizes, body: syntax.TypeExistential(
        at, tuple(size.name for size in sizes), body
    ),
    "type_unique": syntax.TypeUnique,
    "type_array": lambda at, size, element: syntax.TypeArray(at, size.size, element),
    "type_sum": type_sum,
    "type_apply": syntax.TypeApply,
    "type_reference": syntax.TypeRef,
    "type_unit": lambda at: syntax.TypeTuple(at, ()),
    "type_parens": syntax.TypeParens,
    "type_tuple": prepended(syntax.TypeTuple),
    "type_record": syntax.TypeRecord,
    "size_argument": syntax.SizeArgument,
    "ascribed_pattern": syntax.AscribedPattern,
    "constructor_pattern": lambda at, name, arguments: _constructor(
        at, name[1:], arguments
    ),
    "constant_pattern": lambda at, name: _constructor(at, name[1:], ()),
    "attributed_pattern": syntax.AttributedPattern,
    "negative_pattern": lambda at, literal: syntax.LiteralPattern(
        at, Literal(at, -literal.value, literal.suffix)
    ),
    "name_pattern": NamePattern,
    "wildcard_pattern": syntax.WildcardPattern,
    "unit_pattern": lambda at: syntax.TuplePattern(at, ()),
    "parens_pattern": syntax.ParensPattern,
    "tuple_pattern": prepended(syntax.TuplePattern),
    "record_pattern": syntax.RecordPattern,
    "literal_pattern": syntax.LiteralPattern,
    "field_pattern_name": lambda at, name: (name, NamePattern(at, name)),
    "field_pattern_ascribed": field_pattern_ascribed,
}
