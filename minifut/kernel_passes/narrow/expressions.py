"""Index arithmetic in 32 bits: expressions.

(row * m) + size(i + 1)        (row_1 * m_1) + (i_1 + 1)
xs[i] < n                      xs[i_1] < n
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.ir.node import replace
from minifut.ir.scalars import INFIX, operator
from minifut.ir.sizes import Extreme, Quotient, Size, SizeFactor
from minifut.ir.traverse import map_children
from minifut.ir.types import I32
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.types import COMPARISONS
from minifut.kernel_passes.narrow.plan import IndexPlan, names_in
from minifut.names import Name, NameSource

WRAPPING = ("add", "sub", "mul")
"""operators that wrap, as their signs do not"""
SAME = ("quot", "rem", "div", "mod", "min", "max")
"""operators that are the same in 32 bits, of numbers that fit"""
ARITHMETIC = ("+", "-", "*", "/", "%", "&")
ZERO = kc.Literal(0, kc.INT)


class NarrowExpressions:
    """Expressions of a kernel by its plan, and what they need: the twins of variables
    and of scalar parameters; `wanted`, the bounds of all sums, differences and products
    of 32 bits; and `natural`, the parameters that must not be negative."""

    def __init__(self, plan: IndexPlan, names: NameSource) -> None:
        self.plan = plan
        self.names = names
        self.twins: dict[Name, kc.Variable] = {}
        self.scalars: dict[Name, kc.Variable] = {}
        self.natural: dict[Name, None] = {}
        self.wanted: dict[Size, None] = {}

    def twin(self, variable: kc.Variable | kc.Register) -> kc.Variable:
        """The variable of 32 bits."""
        assert isinstance(variable, kc.Variable)
        if variable.name not in self.twins:
            self.wanted.setdefault(self.plan.bounds.known[variable.name].size)
            name = self.names.like(variable.name)
            self.twins[variable.name] = kc.Variable(name, kc.INT)
        return self.twins[variable.name]

    def index(self, index: kc.Expression) -> kc.Expression:
        """An index, narrow if its bound is known."""
        known = self.plan.bounds.of(index) is not None
        return self.narrow(index) if known else self.exp(index)

    def exp(self, exp: kc.Expression) -> kc.Expression:
        """An expression of the same type, with the indices inside narrow."""
        match exp:
            case kc.Load(_, index) if index.type.lanes == 1:
                return replace(exp, index=self.index(index))
        found = kc.infix(exp)
        if found is not None and found[0] in COMPARISONS:
            return self.compared(exp, *found)
        made: kc.Expression = map_children(exp, self._inside)
        return made

    def _inside(self, node: Any) -> Any:
        """A part of an expression."""
        if isinstance(node, kc.Variable | kc.Register):
            return node
        return self.exp(node) if isinstance(node, kc.Expression) else node

    def compared(
        self, exp: kc.Expression, symbol: str, left: kc.Expression, right: kc.Expression
    ) -> kc.Expression:
        """A comparison, of 32 bits where all variables have twins."""
        if all(map(self.plan.is_narrow, (left, right))):
            return kc.Binary(symbol, self.narrow(left), self.narrow(right), exp.type)
        made: kc.Expression = map_children(exp, self._inside)
        return made

    def narrow(self, exp: kc.Expression) -> kc.Expression:
        """An expression of i64 whose bound is known, in i32."""
        made: kc.Expression | None = None
        match exp:
            case kc.Variable() if self.plan.is_paired(exp):
                return self.twin(exp)
            case kc.Variable(name) if name in self.plan.parameters:
                return self.scalar(name)
            case kc.Literal(value):
                return kc.Literal(value, kc.INT)
            case kc.Cast(operand) if operand.type == kc.LONG and self.all((operand,)):
                return self.narrow(operand)
            case kc.SizeValue(size) if self.plan.bounds.of(exp) is not None:
                return self.size(size)
            case kc.Binary(symbol, left, right) if symbol in ARITHMETIC:
                made = self.arithmetic(symbol, left, right, exp)
            case kc.Operation(op, (left, right)) if op.name in WRAPPING:
                made = self.arithmetic(INFIX[op.name], left, right, exp)
            case kc.Operation(op, operands) if op.name in SAME and self.all(operands):
                narrow = tuple(map(self.narrow, operands))
                made = kc.Operation(operator(op.name, I32), narrow, kc.INT)
            case kc.Call(name, operands) if name in SAME and self.all(operands):
                made = kc.Call(name, tuple(map(self.narrow, operands)), kc.INT)
            case kc.Select(condition, then, otherwise) if self.all((then, otherwise)):
                sides = self.narrow(then), self.narrow(otherwise)
                made = kc.Select(self.exp(condition), *sides, kc.INT)
        if made is None:
            bound = self.plan.bounds.of(exp)
            if bound is not None:
                self.wanted.setdefault(bound.size)
            own = names_in(exp) & self.plan.parameters
            self.natural.update(dict.fromkeys(sorted(own, key=lambda n: n.tag)))
            inner = exp.operand if isinstance(exp, kc.Cast) else exp
            made = kc.Cast(self.exp(inner), kc.INT)
        return made

    def all(self, operands: Iterable[kc.Expression]) -> bool:
        """Whether the bounds of all are known."""
        return all(self.plan.bounds.of(each) is not None for each in operands)

    def scalar(self, name: Name) -> kc.Variable:
        """A scalar parameter of the kernel, narrow from its head on."""
        if name not in self.scalars:
            self.natural.setdefault(name)
            self.wanted.setdefault(Size.of(name))
            self.scalars[name] = kc.Variable(self.names.like(name), kc.INT)
        return self.scalars[name]

    def arithmetic(
        self, symbol: str, left: kc.Expression, right: kc.Expression, exp: kc.Expression
    ) -> kc.Expression | None:
        """A sum or the like, whose value fits; None if that is not known."""
        bound = self.plan.bounds.of(exp)
        if bound is None or not self.all((left, right)):
            return None
        self.wanted.setdefault(bound.size)
        return kc.Binary(symbol, self.narrow(left), self.narrow(right), kc.INT)

    def size(self, size: Size) -> kc.Expression:
        """A size, term by term; what is subtracted comes last."""
        bound = self.plan.bounds.of_size(size)
        assert bound is not None
        self.wanted.setdefault(bound.size)
        total: kc.Expression = kc.Literal(0, kc.INT)
        for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):
            term: kc.Expression = kc.Literal(abs(coefficient), kc.INT)
            for atom in monomial:
                term = term * self.atom(atom)
            total = total + term if coefficient > 0 else total - term
        return total

    def atom(self, atom: SizeFactor) -> kc.Expression:
        """A factor of a size."""
        match atom:
            case Name():
                return self.narrow(kc.Variable(atom, kc.LONG))
            case Quotient(dividend, divisor, up):
                a, b = self.size(dividend), self.size(divisor)
                if not up:
                    return a // b
                rest = kc.Select((a % b) > 0, kc.Literal(1, kc.INT), ZERO, kc.INT)
                return a // b + rest
            case Extreme(operands, greatest):
                found, *others = map(self.size, operands)
                name = "max" if greatest else "min"
                for other in others:
                    found = kc.Call(name, (found, other), kc.INT)
                return found
