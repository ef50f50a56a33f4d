r"""Arithmetic on tangents and adjoints, which have the types of variables.

    plus      add_f64(a, b)                 map (\(x, y) -> add_f64(x, y)) a b
    times     the formula of a partial derivative, multiplied by a tangent

The tangents of booleans are booleans: `or` adds them, `and` multiplies.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from minifut.errors import InternalError
from minifut.ir import core, soacs
from minifut.ir.builder import Builder, constant
from minifut.ir.core import Atom, Constant, Lambda
from minifut.ir.scalars import Operator
from minifut.ir.scalars import operator as scalar_operator
from minifut.ir.types import BOOL, ArrayType, ScalarType, Type, row_type
from minifut.names import Name

OF_BITS = ("to_bits", "from_bits")
"""operators whose derivatives are the operators"""


def is_zero(atom: Atom) -> bool:
    """Whether it is the constant 0 (or false)."""
    return isinstance(atom, Constant) and atom.value == 0


def plus(build: Builder, a: Atom, b: Atom) -> Atom:
    """The sum of two values of one type."""
    if is_zero(a) or is_zero(b):
        return b if is_zero(a) else a
    type_ = build.type(a)
    if not isinstance(type_, ArrayType):
        return build.op("or" if type_ == BOOL else "add", a, b)
    assert isinstance(a, Name) and isinstance(b, Name)
    return build.map((a, b), plus, ("sum",))[0]


def adder(build: Builder, type_: Type) -> Lambda:
    """The function that adds two values of a type."""
    return build.function((type_, type_), plus)


def adding(build: Builder, type_: Type) -> soacs.Reduce:
    """The reduction that adds values of a type."""
    return soacs.Reduce(adder(build, type_), (build.zero(type_),), commutative=True)


def total(build: Builder, array: Name) -> Name:
    """The sum of the rows of an array."""
    row = row_type(build.type(array))
    reduce = adding(build, row)
    identity = build.function((row,), lambda _, x: x)
    width = build.shape(array)[0]
    return build.let(soacs.redomap(width, (array,), (reduce,), identity), "total")


def fit(build: Builder, atom: Atom, type_: Type) -> Atom:
    """An array as one of another type that is known to be the same."""
    if isinstance(type_, ArrayType) and isinstance(atom, Name):
        return build.reshape(atom, type_.shape)
    return atom


def moved(build: Builder, atom: Atom, operator: Operator, type_: ScalarType) -> Atom:
    """The tangent or adjoint of an operand or the result as one of the other's type:
    converted, or the same bits where the operator gives those."""
    if operator.name not in OF_BITS or build.scalar_type(atom) == type_:
        return build.convert(atom, type_)
    name, number = (
        ("from_bits", type_) if type_.is_float else ("to_bits", operator.type)
    )
    return build.let(core.ScalarOp(scalar_operator(name, number), (atom,)), "bits")


def choose(build: Builder, condition: Atom, then: Atom, otherwise: Atom) -> Name:
    """One of two scalars."""
    bodies = core.Body((), (then,)), core.Body((), (otherwise,))
    return build.let(core.If(condition, *bodies), "chosen")


# --- formulas --------------------------------------------------------------------


def times(
    build: Builder, formula: str, operands: Mapping[str, Atom], factor: Atom
) -> Atom | None:
    """The formula's value times `factor`; None if that is 0. `operands` are what the
    letters stand for."""
    if formula == "0" or is_zero(factor):
        return None
    if formula == "1":
        return factor
    if formula == "-1":
        return build.op("neg", factor)
    tree = ast.parse(formula, mode="eval").body
    if isinstance(tree, ast.IfExp) and _is_mask(tree):
        condition = _value(build, tree.test, operands)
        sides = [_side(build, s, factor) for s in (tree.body, tree.orelse)]
        return choose(build, condition, *sides)
    type_ = build.scalar_type(factor)
    value = _value(build, tree, operands)
    return build.op("and" if type_ == BOOL else "mul", value, factor)


def _is_mask(tree: ast.IfExp) -> bool:
    sides = (tree.body, tree.orelse)
    return all(isinstance(s, ast.Constant) and s.value in (0, 1) for s in sides)


def _side(build: Builder, side: ast.expr, factor: Atom) -> Atom:
    assert isinstance(side, ast.Constant)
    return factor if side.value else constant(0, build.scalar_type(factor))


_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.BitOr: "or",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.NotEq: "ne",
}  # fmt: skip


def _value(build: Builder, tree: ast.expr, operands: Mapping[str, Atom]) -> Atom:
    """The value of a formula."""
    type_: ScalarType = build.scalar_type(operands["x"])

    def value(part: ast.expr) -> Atom:
        match part:
            case ast.Name(letter):
                return operands[letter]
            case ast.Constant(int() | float() as number):
                return constant(number, type_)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
                return constant(-number, type_)
            case ast.UnaryOp(ast.USub(), inner):
                return build.op("neg", value(inner))
            case ast.UnaryOp(ast.Not(), inner):
                return build.op("not", value(inner))
            case ast.BinOp(left, kind, right):
                return build.op(_OPERATORS[type(kind)], value(left), value(right))
            case ast.Compare(left, [kind], [right]):
                return build.op(_OPERATORS[type(kind)], value(left), value(right))
            case ast.Call(ast.Name(name), arguments):
                return build.op(name, *map(value, arguments))
            case ast.IfExp(test, body, orelse):
                return _branches(build, value(test), body, orelse, operands)
        raise InternalError("differentiate", f"the formula {ast.unparse(tree)}")

    return value(tree)


def _branches(
    build: Builder,
    condition: Atom,
    then: ast.expr,
    otherwise: ast.expr,
    operands: Mapping[str, Atom],
) -> Name:
    """A branch of a formula computes only what it needs."""
    bodies = []
    for side in (then, otherwise):
        with build.body() as inner:
            bodies.append(inner.finish(_value(inner, side, operands)))
    return build.let(core.If(condition, *bodies), "partial")
