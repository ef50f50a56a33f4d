"""Parser actions for expressions.

`x.y` is built as the qualified variable `x.y`: whether x is a module or a record is
for the checker to say, as both share one name space.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from minifut.errors import Location, error
from minifut.frontend import literals, syntax
from minifut.frontend.build_lists import node, prepended
from minifut.frontend.precedence import RangeLink, UpdateLink, resolve, resolve_section
from minifut.frontend.syntax import Constructor, DimIndex, Exp, Index, QualName, Var

AccessSteps: TypeAlias = list[str | tuple[DimIndex, ...]]


# --- names, atoms -----------------------------------------------------------


def variable(at: Location, name: str) -> Var:
    return Var(at, QualName(at, (), name))


def symbol(at: Location, text: str) -> Var:
    """An infix operator; the dots of a module's name precede the first symbol."""
    if not text[0].isalpha() and text[0] != "_":
        return Var(at, QualName(at, (), text))
    parts = []
    while text[0].isalpha() or text[0] == "_":
        module, _, text = text.partition(".")
        parts.append(module)
    return Var(at, QualName(at, tuple(parts), text))


def select_name(at: Location, value: Exp, name: str) -> Exp:
    if isinstance(value, Var):
        module = value.name
        return Var(at, QualName(at, (*module.qualifiers, module.name), name))
    return syntax.Project(at, value, name)


def qualified_parens(at: Location, module: Exp, inner: Exp) -> syntax.QualParens:
    if not isinstance(module, Var):
        raise error(
            module.location,
            "only a module can be opened for an expression, and this is not one",
            "syntax-error",
            "write m.(e) with the name of a module; a field is selected with e.x",
        )
    return syntax.QualParens(at, module.name, inner)


# --- sections ---------------------------------------------------------------


def section_path(at: Location, steps: AccessSteps) -> Exp:
    names = [step for step in steps if isinstance(step, str)]
    if len(names) == len(steps):
        return syntax.ProjectSection(at, tuple(names))
    first = steps[0]
    if len(steps) == 1 and isinstance(first, tuple):
        return syntax.IndexSection(at, first)
    return syntax.UpdateSection(at, tuple(steps))


# --- application and chains -------------------------------------------------


def apply(at: Location, function: Exp, arguments: list[Exp]) -> Exp:
    if isinstance(function, Constructor):
        return Constructor(at, function.name, tuple(arguments))
    if isinstance(function, Index) and isinstance(arguments[0], syntax.ArrayExp):
        wrong = function.location.to(arguments[0].location)
        raise error(
            wrong,
            "an indexed array is applied to an array as if it were a function",
            "syntax-error",
            "write several indices as a[i, j], or as a[i][j] without a space",
        )
    return syntax.Apply(at, function, tuple(arguments))


# --- prefix forms -----------------------------------------------------------


def let_exp(
    at: Location,
    bindings: list[syntax.Let | syntax.LetFunction | syntax.LetUpdate],
    body: Exp,
) -> Exp:
    """Nest the bindings, which come with a hole for a body, from the last one out."""
    for binding in reversed(bindings):
        binding.body = body
        binding.location = binding.location.to(body.location)
        body = binding
    return body


_let = node(syntax.Let)
_let_function = node(syntax.LetFunction)
_let_update = node(syntax.LetUpdate)

EXPRESSIONS: dict[str, Any] = {
    "variable": variable,
    "symbol": symbol,
    "backquoted": Var,
    "select_name": select_name,
    "select_number": syntax.Project,
    "qualified_parens": qualified_parens,
    "index": Index,
    "string": lambda at, text: syntax.StringLiteral(at, literals.string(text, at)),
    "hole": syntax.Hole,
    "constant": lambda at, name: Constructor(at, name[1:], ()),
    "unit": lambda at: syntax.TupleExp(at, ()),
    "parens": syntax.Parens,
    "tuple_exp": prepended(syntax.TupleExp),
    "array": syntax.ArrayExp,
    "record": syntax.RecordExp,
    "field_given": syntax.FieldAssignment,
    "field_same": lambda at, name: syntax.FieldAssignment(at, name, variable(at, name)),
    "section_operator": lambda at, op: syntax.OperatorSection(at, op, None, None),
    "section_right": lambda at, op, right: syntax.OperatorSection(at, op, None, right),
    "section_left": lambda at, left, op: syntax.OperatorSection(at, op, left, None),
    "section_left_chain": lambda at, chain, op: syntax.OperatorSection(
        at, op, resolve_section(chain, op), None
    ),
    "section_path": section_path,
    "apply": apply,
    "apply_lambda": lambda at, function, last: apply(at, function, [last]),
    "apply_to_lambda": lambda at, function, others, last: apply(
        at, function, [*others, last]
    ),
    "negate": syntax.Negate,
    "invert": syntax.Not,
    "range_operator": RangeLink,
    "update_operator": lambda at, steps: UpdateLink(at, tuple(steps)),
    "resolved": lambda at, chain: resolve(chain),
    "resolved_pair": lambda at, left, link, right: resolve([left, link, right]),
    "resolved_last": lambda at, chain, link, right: resolve([*chain, link, right]),
    "ascription": syntax.Ascription,
    "coercion": syntax.Coercion,
    "if_exp": syntax.If,
    "loop_exp": syntax.Loop,
    "match_exp": syntax.Match,
    "assert_exp": syntax.Assert,
    "attributed_exp": syntax.Attributed,
    "lambda": syntax.Lambda,
    "let_exp": let_exp,
    "let_plain": lambda at, *parts: _let(at, (), *parts, syntax.Hole(at)),
    "let_sizes": lambda at, *parts: _let(at, *parts, syntax.Hole(at)),
    "let_function": lambda at, *parts: _let_function(at, *parts, syntax.Hole(at)),
    "let_update": lambda at, *parts: _let_update(at, *parts, syntax.Hole(at)),
    "for_less": syntax.ForLess,
    "for_in": syntax.ForIn,
    "while_form": syntax.While,
    "case": syntax.Case,
    "slice": lambda at, start, stop, step=None: syntax.SliceIndex(
        at, start, stop, step
    ),
}
