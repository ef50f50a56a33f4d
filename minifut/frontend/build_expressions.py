"""Parser actions for expressions.

`x.y` is built as the qualified variable `x.y`: whether x is a module or a record is
for the checker to say, as both share one name space.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from minifut.errors import CompileError, Location
from minifut.frontend import literals
from minifut.frontend.precedence import (
    Chain,
    Link,
    RangeLink,
    UpdateLink,
    resolve,
    resolve_section,
)
from minifut.frontend.syntax import (
    Apply,
    ArrayExp,
    Ascription,
    Assert,
    Attributed,
    Case,
    Coercion,
    Constructor,
    DimIndex,
    Exp,
    FieldAssignment,
    ForIn,
    ForLess,
    Hole,
    If,
    Index,
    IndexSection,
    Lambda,
    Let,
    LetFunction,
    LetUpdate,
    Loop,
    LoopForm,
    Match,
    Negate,
    Not,
    OperatorSection,
    Parens,
    Pattern,
    Project,
    ProjectSection,
    QualName,
    QualParens,
    RecordExp,
    SizeParam,
    SliceIndex,
    StringLiteral,
    TupleExp,
    TypeExp,
    TypeParameter,
    UpdateSection,
    Var,
    While,
)

At: TypeAlias = Location
Steps: TypeAlias = list[str | tuple[DimIndex, ...]]


# --- names, atoms -----------------------------------------------------------


def variable(at: At, name: str) -> Var:
    return Var(at, QualName(at, (), name))


def symbol(at: At, text: str) -> Var:
    """An infix operator; the dots of a module's name stand before the first symbol."""
    if not text[0].isalpha() and text[0] != "_":
        return Var(at, QualName(at, (), text))
    parts = []
    while text[0].isalpha() or text[0] == "_":
        module, _, text = text.partition(".")
        parts.append(module)
    return Var(at, QualName(at, tuple(parts), text))


def backquoted(at: At, name: QualName) -> Var:
    return Var(at, name)


def select_name(at: At, value: Exp, name: str) -> Exp:
    if isinstance(value, Var):
        module = value.name
        return Var(at, QualName(at, (*module.qualifiers, module.name), name))
    return Project(at, value, name)


def qualified_parens(at: At, module: Exp, inner: Exp) -> QualParens:
    if not isinstance(module, Var):
        raise CompileError(
            module.location,
            "only a module can be opened for an expression, and this is not one",
            "write m.(e) with the name of a module; a field is selected with e.x",
            anchor="syntax-error",
        )
    return QualParens(at, module.name, inner)


def index(at: At, array: Exp, dimensions: list[DimIndex]) -> Index:
    return Index(at, array, tuple(dimensions))


def tuple_exp(at: At, first: Exp, others: list[Exp]) -> TupleExp:
    return TupleExp(at, (first, *others))


def array(at: At, elements: list[Exp]) -> ArrayExp:
    return ArrayExp(at, tuple(elements))


def record(at: At, fields: list[FieldAssignment]) -> RecordExp:
    return RecordExp(at, tuple(fields))


def field_same(at: At, name: str) -> FieldAssignment:
    return FieldAssignment(at, name, variable(at, name))


# --- sections ---------------------------------------------------------------


def section_left_chain(at: At, chain: Chain, operator: Var) -> OperatorSection:
    return OperatorSection(at, operator, resolve_section(chain, operator), None)


def section_path(at: At, steps: Steps) -> Exp:
    names = [step for step in steps if isinstance(step, str)]
    if len(names) == len(steps):
        return ProjectSection(at, tuple(names))
    first = steps[0]
    if len(steps) == 1 and isinstance(first, tuple):
        return IndexSection(at, first)
    return UpdateSection(at, tuple(steps))


# --- application and chains -------------------------------------------------


def apply(at: At, function: Exp, arguments: list[Exp]) -> Exp:
    if isinstance(function, Constructor):
        return Constructor(at, function.name, tuple(arguments))
    if isinstance(function, Index) and isinstance(arguments[0], ArrayExp):
        wrong = function.location.to(arguments[0].location)
        raise CompileError(
            wrong,
            "an indexed array is applied to an array as if it were a function",
            "write several indices as a[i, j], or as a[i][j] without a space",
            anchor="syntax-error",
        )
    return Apply(at, function, tuple(arguments))


def resolved(at: At, chain: Chain) -> Exp:
    return resolve(chain)


def resolved_pair(at: At, left: Exp, link: Link, right: Exp) -> Exp:
    return resolve([left, link, right])


def resolved_last(at: At, chain: Chain, link: Link, right: Exp) -> Exp:
    return resolve([*chain, link, right])


# --- prefix forms -----------------------------------------------------------


def lambda_exp(
    at: At, parameters: list[Pattern], result: TypeExp | None, body: Exp
) -> Lambda:
    return Lambda(at, tuple(parameters), result, body)


def let_plain(at: At, pattern: Pattern, value: Exp) -> Let:
    return let_sizes(at, [], pattern, value)


def let_sizes(at: At, sizes: list[SizeParam], pattern: Pattern, value: Exp) -> Let:
    return Let(at, tuple(sizes), pattern, value, Hole(at))


def let_function(
    at: At,
    name: str,
    type_parameters: list[TypeParameter],
    parameters: list[Pattern],
    result: TypeExp | None,
    value: Exp,
) -> LetFunction:
    return LetFunction(
        at, name, tuple(type_parameters), tuple(parameters), result, value, Hole(at)
    )


def let_update(at: At, name: str, steps: Steps, value: Exp) -> LetUpdate:
    return LetUpdate(at, name, tuple(steps), value, Hole(at))


def let_exp(at: At, bindings: list[Let | LetFunction | LetUpdate], body: Exp) -> Exp:
    """Nest the bindings, which come with a hole for a body, from the last one out."""
    for binding in reversed(bindings):
        binding.body = body
        binding.location = binding.location.to(body.location)
        body = binding
    return body


def loop_exp(
    at: At, pattern: Pattern, initial: Exp | None, form: LoopForm, body: Exp
) -> Loop:
    return Loop(at, pattern, initial, form, body)


def match_exp(at: At, scrutinee: Exp, cases: list[Case]) -> Match:
    return Match(at, scrutinee, tuple(cases))


def slice_index(
    at: At, start: Exp | None, stop: Exp | None, step: Exp | None = None
) -> SliceIndex:
    return SliceIndex(at, start, stop, step)


EXPRESSIONS: dict[str, Any] = {
    "variable": variable,
    "symbol": symbol,
    "backquoted": backquoted,
    "select_name": select_name,
    "select_number": Project,
    "qualified_parens": qualified_parens,
    "index": index,
    "string": lambda at, text: StringLiteral(at, literals.string(text, at)),
    "hole": Hole,
    "constant": lambda at, name: Constructor(at, name[1:], ()),
    "unit": lambda at: TupleExp(at, ()),
    "parens": Parens,
    "tuple_exp": tuple_exp,
    "array": array,
    "record": record,
    "field_given": FieldAssignment,
    "field_same": field_same,
    "section_operator": lambda at, operator: OperatorSection(at, operator, None, None),
    "section_right": lambda at, op, right: OperatorSection(at, op, None, right),
    "section_left": lambda at, left, op: OperatorSection(at, op, left, None),
    "section_left_chain": section_left_chain,
    "section_path": section_path,
    "apply": apply,
    "apply_lambda": lambda at, function, last: apply(at, function, [last]),
    "apply_to_lambda": lambda at, function, others, last: apply(
        at, function, [*others, last]
    ),
    "negate": Negate,
    "invert": Not,
    "range_operator": RangeLink,
    "update_operator": lambda at, steps: UpdateLink(at, tuple(steps)),
    "resolved": resolved,
    "resolved_pair": resolved_pair,
    "resolved_last": resolved_last,
    "ascription": Ascription,
    "coercion": Coercion,
    "if_exp": If,
    "loop_exp": loop_exp,
    "match_exp": match_exp,
    "assert_exp": Assert,
    "attributed_exp": Attributed,
    "lambda": lambda_exp,
    "let_exp": let_exp,
    "let_plain": let_plain,
    "let_sizes": let_sizes,
    "let_function": let_function,
    "let_update": let_update,
    "for_less": ForLess,
    "for_in": ForIn,
    "while_form": While,
    "case": Case,
    "slice": slice_index,
}
