"""Parser actions for types, patterns, parameters of definitions and attributes."""

from __future__ import annotations

from typing import Any, TypeAlias

from minifut.errors import CompileError, Location
from minifut.frontend import literals
from minifut.frontend.syntax import (
    AscribedPattern,
    Attribute,
    AttributedPattern,
    ConstructorPattern,
    Exp,
    Literal,
    LiteralPattern,
    NamePattern,
    ParensPattern,
    Pattern,
    QualName,
    RecordPattern,
    SizeArgument,
    SizeParam,
    TuplePattern,
    TypeApply,
    TypeArray,
    TypeArrow,
    TypeExistential,
    TypeExp,
    TypeParam,
    TypeParens,
    TypeRecord,
    TypeRef,
    TypeSum,
    TypeTuple,
    TypeUnique,
    Var,
    WildcardPattern,
)

At: TypeAlias = Location


# --- names and literals -----------------------------------------------------


def qualified_start(at: At, name: str) -> QualName:
    return QualName(at, (), name)


def qualified_more(at: At, module: QualName, name: str) -> QualName:
    return QualName(at, (*module.qualifiers, module.name), name)


def bound_operator(at: At, operator: Var) -> str:
    if operator.name.qualifiers:
        raise CompileError(
            at,
            f"`{operator.name}` cannot be defined here: it belongs to another module",
            "define it without the module's name",
            anchor="syntax-error",
        )
    return operator.name.name


def number(at: At, text: str) -> Literal:
    value, suffix = literals.number(text, at)
    return Literal(at, value, suffix)


def character(at: At, text: str) -> Literal:
    return Literal(at, literals.character(text, at))


# --- attributes and parameters ----------------------------------------------


def attribute_number(at: At, text: str) -> Attribute:
    value, suffix = literals.number(text, at)
    if suffix or not isinstance(value, int):
        raise CompileError(
            at,
            "a number in an attribute is a whole number without a suffix",
            anchor="syntax-error",
        )
    return Attribute(at, value)


def attribute_compound(at: At, name: str, arguments: list[Attribute]) -> Attribute:
    return Attribute(at, name, tuple(arguments))


# --- types ------------------------------------------------------------------


def type_tuple(at: At, first: TypeExp, others: list[TypeExp]) -> TypeTuple:
    return TypeTuple(at, (first, *others))


def type_record(at: At, fields: list[tuple[str, TypeExp]]) -> TypeRecord:
    return TypeRecord(at, tuple(fields))


def type_array(at: At, size: SizeArgument, element: TypeExp) -> TypeArray:
    return TypeArray(at, size.size, element)


def type_apply(
    at: At, function: TypeExp, arguments: list[TypeExp | SizeArgument]
) -> TypeApply:
    return TypeApply(at, function, tuple(arguments))


def type_sum(at: At, clauses: list[tuple[str, list[TypeExp]]]) -> TypeSum:
    return TypeSum(at, tuple((name[1:], tuple(parts)) for name, parts in clauses))


def type_existential(at: At, sizes: list[SizeParam], body: TypeExp) -> TypeExistential:
    return TypeExistential(at, tuple(size.name for size in sizes), body)


# --- patterns ---------------------------------------------------------------


def tuple_pattern(at: At, first: Pattern, others: list[Pattern]) -> TuplePattern:
    return TuplePattern(at, (first, *others))


def record_pattern(at: At, fields: list[tuple[str, Pattern]]) -> RecordPattern:
    return RecordPattern(at, tuple(fields))


def field_pattern_name(at: At, name: str) -> tuple[str, Pattern]:
    return name, NamePattern(at, name)


def field_pattern_ascribed(at: At, name: str, t: TypeExp) -> tuple[str, Pattern]:
    end = at.column + len(name)
    inner = NamePattern(Location(at.source, at.line, at.column, at.line, end), name)
    return name, AscribedPattern(at, inner, t)


def constructor_pattern(
    at: At, constructor: str, arguments: list[Pattern]
) -> ConstructorPattern:
    return ConstructorPattern(at, constructor[1:], tuple(arguments))


def negative_pattern(at: At, literal: Literal) -> LiteralPattern:
    return LiteralPattern(at, Literal(at, -literal.value, literal.suffix))


def size_argument(at: At, size: Exp | None) -> SizeArgument:
    return SizeArgument(at, size)


TYPES: dict[str, Any] = {
    "qualified_start": qualified_start,
    "qualified_more": qualified_more,
    "bound_operator": bound_operator,
    "number": number,
    "character": character,
    "true": lambda at: Literal(at, True),
    "false": lambda at: Literal(at, False),
    "attribute_atom": Attribute,
    "attribute_number": attribute_number,
    "attribute_compound": attribute_compound,
    "size_parameter": SizeParam,
    "plain_type_parameter": TypeParam,
    "size_lifted_type_parameter": lambda at, name: TypeParam(at, name, "~"),
    "fully_lifted_type_parameter": lambda at, name: TypeParam(at, name, "^"),
    "type_arrow": lambda at, argument, result: TypeArrow(at, None, argument, result),
    "type_named_arrow": TypeArrow,
    "type_existential": type_existential,
    "type_unique": TypeUnique,
    "type_array": type_array,
    "type_sum": type_sum,
    "type_apply": type_apply,
    "type_reference": TypeRef,
    "type_unit": lambda at: TypeTuple(at, ()),
    "type_parens": TypeParens,
    "type_tuple": type_tuple,
    "type_record": type_record,
    "size_argument": size_argument,
    "ascribed_pattern": AscribedPattern,
    "constructor_pattern": constructor_pattern,
    "constant_pattern": lambda at, name: ConstructorPattern(at, name[1:], ()),
    "attributed_pattern": AttributedPattern,
    "negative_pattern": negative_pattern,
    "name_pattern": NamePattern,
    "wildcard_pattern": WildcardPattern,
    "unit_pattern": lambda at: TuplePattern(at, ()),
    "parens_pattern": ParensPattern,
    "tuple_pattern": tuple_pattern,
    "record_pattern": record_pattern,
    "literal_pattern": LiteralPattern,
    "field_pattern_name": field_pattern_name,
    "field_pattern_ascribed": field_pattern_ascribed,
}
