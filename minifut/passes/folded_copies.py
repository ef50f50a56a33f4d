"""Copies of code, of which what constants decide is computed at once.

    let a = js[1]            js = iota 3
    let b = x + (a - 1)                           →   x, without a statement
    let c = x * y            after  let d = x * y     d

Written out for every point of a nest, most of what computes positions and weights is
such; to emit it and to remove it again later would take longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.ir import core
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Constant, Exp, Lambda, Param, Stm
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.traverse import Replacer, rename
from minifut.names import Name
from minifut.passes.simplify.common_subexpressions import key_of
from minifut.passes.simplify.constant_folding import value_of
from minifut.rewrite.context import StatementContext

LEAVES = (core.ScalarOp, core.Index, core.SizeExp, core.Reshape, core.Rearrange)
"""expressions in which no name is bound"""


class FoldedCopies:
    """Emits copies into a builder, one after the other, in one scope."""

    def __init__(self, build: Builder, context: StatementContext) -> None:
        self.build = build
        self.context = context
        self.copied = Replacer({}, binders=False)
        """what stands for the names of the code in its last copy"""
        self.emitted: dict[Any, tuple[Atom, ...]] = {}
        """by key of an expression: what has its values"""

    def apply(self, function: Lambda, arguments: Sequence[Atom]) -> tuple[Atom, ...]:
        """The results of a function of these arguments."""
        for parameter, atom in zip(function.parameters, arguments, strict=True):
            self.copied.equate(parameter.name, atom)
        for statement in function.body.statements:
            self.statement(statement)
        return self.copied.operands(function.body.result)

    def statement(self, statement: Stm) -> None:
        """One statement."""
        exp: Exp = self.copied.node(statement.exp)
        values, key = self._known(exp)
        if values is None:
            values = self._copy(statement, exp)
            if key is not None:
                self.emitted[key] = values
        for bound, atom in zip(statement.pattern, values, strict=True):
            self.copied.equate(bound.name, atom)

    def element(self, array: Name, point: int) -> Atom:
        """An element of an array, at a known position."""
        exp = core.Index(array, (i64(point),))
        values, key = self._known(exp)
        if values is None:
            values = (self.build.let(exp, array.base),)
            self.emitted[key] = values
        return values[0]

    def _known(self, exp: Exp) -> tuple[tuple[Atom, ...] | None, Any]:
        """What has the values of an expression, if nothing is to be computed; the key
        under which to enter them otherwise."""
        value = self._value(exp)
        if value is not None:
            return (value,), None
        key = key_of(exp)
        return self.emitted.get(key), key

    def _value(self, exp: Exp) -> Atom | None:
        """What an expression is, if it need not be computed."""
        match exp:
            case core.ScalarOp():
                return value_of(exp)
            case core.Copy(atom):
                return atom
            case core.Index(array, (Constant(place, _),)):
                return self._element_of(self.context.definition(array), int(place))
        return None

    @staticmethod
    def _element_of(array: Exp | None, place: int) -> Atom | None:
        match array:
            case core.ArrayLiteral(rows) if 0 <= place < len(rows):
                return rows[place]
            case core.Iota(length, Constant(start, type_), Constant(stride, _)):
                if 0 <= place < (length.as_constant or 0):
                    return constant(start + place * stride, type_)
        return None

    def _copy(self, statement: Stm, exp: Exp) -> tuple[Atom, ...]:
        build = self.build
        if not isinstance(exp, LEAVES):
            exp = rename(exp, build.names)
            build.scope.update(scope_of(exp))
        pattern = tuple(
            Param(build.names.like(bound.name), self.copied.type(bound.type))
            for bound in statement.pattern
        )
        build.append(replace(statement, pattern=pattern, exp=exp))
        return tuple(bound.name for bound in pattern)
