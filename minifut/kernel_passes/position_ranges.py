"""Ranges of positions in which a loop over points does something else.

    for (i = start; i < stop; i++) ..  →  low, high; the positions beside them, by one
                                          loop over both sides; those in between

`PositionRange` is where some conditions hold, `PositionIndices` what the indices of a
loop are as affine functions of its variable, and in which range.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Any

from minifut.ir.node import immutable, mutable, replace
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children, walk
from minifut.ir.types import U64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, constants, declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.names import Name

FAR_OFFSET = 1 << 20
SMALLEST_PERIOD = 1024
"""a known divisor or mask for which a loop is split"""
LARGEST_FACTOR = 1024
UNSIGNED = kc.VectorType(U64)
MOST_DEFINITIONS = 64
"""that are looked into for an expression: one of more is hardly affine, and there are
exponentially many where each definition uses the one before twice"""
INT_MAX = (1 << 31) - 1
INTEGERS = (kc.Cast, kc.Operation, kc.Binary)
"""expressions in whose place there may be an affine one"""
QUOTIENTS = ("quot", "div")
MASKS = ("and", "&")
RESIDUES = ("rem", "mod", *MASKS)
LARGEST_DIVISOR = 64
"""of indices of which a quotient may be affine"""
FAR = 1 << 48
"""no array has as many elements: where a bound is farther away, it does not matter how
far"""


@mutable
class PositionRange:
    """Where a condition holds: from the greatest of `lows` to below the least of
    `highs`, if all of `uniform` hold."""

    lows: list[kc.Expression] = field(default_factory=list)
    highs: list[kc.Expression] = field(default_factory=list)
    uniform: list[kc.Expression] = field(default_factory=list)
    single: bool = False


def emit_ranges(
    k: CodeBuilder, where: PositionRange, inner: kc.For, outer: kc.For, period: int = 1
) -> None:
    """The outer loop before and behind the range, then the inner one in it, of whose
    rounds each is `period` of the outer loop."""
    start, stop = inner.start, inner.bound
    low_value = extreme("min", [extreme("max", [start, *where.lows]), stop])
    if where.uniform:
        low_value = kc.Select(kc.all_of(where.uniform), low_value, stop, kc.LONG)
    low = k.declare("low", low_value)
    reached = extreme("max", [low, extreme("min", where.highs or [stop])])
    high = k.declare("high", extreme("min", [reached, stop]))
    side = k.variable("side", kc.LONG)
    first = side.equals(0)
    before: kc.Expression = low
    behind: kc.Expression = high
    if period > 1:
        start, stop = outer.start, outer.bound
        before = k.declare("before", extreme("max", [start, low * period]))
        behind = k.declare("behind", extreme("max", [start, high * period]))
    begin = kc.Select(first, start, behind, kc.LONG)
    end = kc.Select(first, before, stop, kc.LONG)
    sides = kc.Block((replace(outer, start=begin, bound=end),))
    k.emit(kc.For(side, long_literal(0), long_literal(2), long_literal(1), sides))
    k.emit(replace(inner, start=low, bound=high))


def clamped(limit: kc.Expression, summands: int = 0) -> kc.Expression:
    """A limit of positions, such that small numbers may be added; of their sums with so
    many numbers, each `FAR` at most."""
    most = FAR * (summands + 2 if summands else 1)
    match limit:
        case kc.Literal(value, _) if abs(int(value)) <= most:
            return limit
        case kc.Cast(operand, _) if operand.type == kc.INT:
            return limit
    return extreme(
        "max", [extreme("min", [limit, long_literal(most)]), long_literal(-most)]
    )


def long_literal(number: int) -> kc.Literal:
    return kc.Literal(number, kc.LONG)


def extreme(function: str, values: list[kc.Expression]) -> kc.Expression:
    """The least or the greatest of some values."""
    first, *others = values
    for other in others:
        first = kc.Call(function, (first, other), kc.LONG)
    return first


def used(statements: tuple[kc.Statement, ...]) -> tuple[kc.Statement, ...]:
    """Statements without the definitions of what nothing reads, as of the condition."""
    kept: list[kc.Statement] = []
    read: set[Name] = set()
    for statement in reversed(statements):
        match statement:
            case kc.Declare(kc.Variable(name, _), kc.Expression()) if name not in read:
                continue
        kept.append(statement)
        for node in walk(statement):
            if isinstance(node, kc.Variable):
                read.add(node.name)
            elif isinstance(node, kc.SizeValue):
                read |= node.size.names()
    return tuple(reversed(kept))


@immutable
class AffineIndex:
    """`exp`, an i64, is `factor` times the variable of the loop and something from
    `low` to `high`: numbers so small that nothing overflows."""

    exp: kc.Expression
    factor: int
    low: int
    high: int


class PositionIndices:
    """Replaces the indices of a loop's body that wrap around, and collects where they
    do not: from `first` on, and where they are at most their limits (by the text, as a
    mask or not, and the factor of the index: the limit, and the index at i = 0).
    Quotients and residues by a divisor of the factor are affine, too; `residues` counts
    those that occur."""

    wrapping = frozenset(("%", *QUOTIENTS, *RESIDUES))
    """the operators that make an index something else than an affine one"""

    def __init__(self, loop: kc.For) -> None:
        self.loop = loop
        self.index_name = loop.variable.name
        self.first = 0
        self.residues = 0
        self.limits: dict[tuple[object, bool, int], tuple[kc.Expression, int]] = {}
        self.looked_into = 0
        self.unknown: set[kc.Expression] = set()
        """what is no affine index, however much is looked into"""

    @cached_property
    def made(self) -> dict[Name, kc.Expression]:
        """What variables are declared as that are never changed."""
        return constants(self.loop.body.statements)

    @cached_property
    def local(self) -> set[Name]:
        """What may differ between points."""
        body = self.loop.body.statements
        return {self.index_name, *assigned(body), *declared(body)}

    @cached_property
    def counters(self) -> dict[Name, tuple[int, int]]:
        """The least and the greatest value of what counts the rounds of loops."""
        return {
            each.variable.name: (int(each.start.value), int(each.bound.value) - 1)
            for each in nodes_of(kc.For, self.loop.body)
            if isinstance(each.start, kc.Literal) and isinstance(each.bound, kc.Literal)
        }

    def straightened(self) -> tuple[kc.Statement, ...]:
        """The statements with their indices replaced that are affine in a range."""
        loop, integers = self.loop, nodes_of(INTEGERS, self.loop.body)
        if loop.variable.type == kc.LONG and not any(map(self.may_wrap, integers)):
            return loop.body.statements
        return tuple(map(self.within, loop.body.statements))

    def may_wrap(self, node: kc.Expression) -> bool:
        """Whether this makes an index something else than an affine one."""
        match node:
            case kc.Cast(operand, kc.INT) | kc.Operation(_, (operand,), kc.INT):
                return operand.type == kc.LONG
        found = kc.infix(node)
        return found is not None and found[0] in self.wrapping

    def within(self, node: Any) -> Any:
        """The node with its indices replaced that are affine in a range."""
        if isinstance(node, INTEGERS) and node not in self.unknown:
            before = self.first, dict(self.limits)
            self.looked_into = self.residues = 0
            found = self.index(node)
            if found is not None and self.is_better(node, found, before[1]):
                return found.exp if found.factor else kc.Literal(found.low, node.type)
            self.first, self.limits = before
        return map_children(node, self.within)

    def is_better(
        self, node: kc.Expression, found: AffineIndex, before: object
    ) -> bool:
        """Whether what was found is to replace an integer."""
        if found.factor == 0:
            return self.residues > 0 and found.low == found.high
        return node.type == kc.LONG and (self.residues > 0 or self.limits != before)

    def index(self, exp: kc.Expression) -> AffineIndex | None:
        """What an integer is where no limit is passed; None if that is not known, as of
        types in which positions wrap around."""
        if exp in self.unknown:
            return None
        found = self.computed(exp) if exp.type in (kc.LONG, kc.INT) else None
        if found is None or not _is_small(found):
            if self.looked_into <= MOST_DEFINITIONS:
                self.unknown.add(exp)
            return None
        if found.factor and exp.type == kc.INT:
            self.limit(found, long_literal(INT_MAX), False)
        return found

    def offset(self, exp: kc.Expression) -> int | None:
        """How much larger an index is than the variable of the loop, a small number."""
        self.looked_into = 0
        found = self.index(exp)
        unlimited = not self.limits
        self.limits.clear()
        if found is None or found.factor != 1 or found.low != found.high:
            return None
        return found.low if unlimited else None

    def definition(self, name: Name) -> kc.Expression | None:
        """What a variable is declared as, and never changed; None if that is not known
        or too much was looked into."""
        self.looked_into += 1
        return self.made.get(name) if self.looked_into <= MOST_DEFINITIONS else None

    def defined(self, exp: kc.Expression) -> kc.Expression:
        """What a variable stands for."""
        while isinstance(exp, kc.Variable) and exp.name in self.made:
            exp = self.made[exp.name]
        return exp

    def signed(self, exp: kc.Expression) -> kc.Expression | None:
        """The i64 that is read without its sign."""
        match self.defined(exp):
            case kc.Cast(operand, _) if operand.type == kc.LONG:
                return self.defined(operand)
            case kc.Operation(operator, (operand,), _) if (
                operator.name == "convert" and operand.type == kc.LONG
            ):
                return self.defined(operand)
        return None

    def computed(self, exp: kc.Expression) -> AffineIndex | None:
        match exp:
            case kc.Variable(name, _) if name == self.index_name:
                return AffineIndex(exp, 1, 0, 0)
            case kc.Variable(name, _) if name in self.counters:
                return AffineIndex(as_long(exp), 0, *self.counters[name])
            case kc.Variable(name, _):
                made = self.definition(name)
                return None if made is None else self.index(made)
            case kc.SizeValue(size, _):
                more = (size - Size.of(self.index_name)).as_constant
                return None if more is None else AffineIndex(exp, 1, more, more)
            case kc.Literal(int(value), _):
                return AffineIndex(as_long(exp), 0, value, value)
            case kc.Cast(operand, type_) if type_ in (kc.LONG, kc.INT):
                return self.index(operand)
            case kc.Operation(operator, (operand,), _) if operator.name == "convert":
                return self.index(operand)
        found = kc.infix(exp)
        return None if found is None else self.combined(*found)

    def combined(
        self, name: str, left: kc.Expression, right: kc.Expression
    ) -> AffineIndex | None:
        """An operator of two integers."""
        a = self.index(left)
        if a is not None and (exact := self.divided(a, name, right)):
            return exact
        if a is None or name in ("mod", "rem", "%", "&"):
            return a and self.wrapped(a, name == "&", right)
        b = self.index(right)
        match name:
            case _ if b is None:
                return None
            case "+":
                low, high = a.low + b.low, a.high + b.high
                return AffineIndex(a.exp + b.exp, a.factor + b.factor, low, high)
            case "-":
                low, high = a.low - b.high, a.high - b.low
                return AffineIndex(a.exp - b.exp, a.factor - b.factor, low, high)
            case "*":
                a, b = (a, b) if a.factor else (b, a)
                by = b.low
                if b.factor == 0 and by == b.high and by > 0:
                    return AffineIndex(
                        a.exp * b.exp, by * a.factor, by * a.low, by * a.high
                    )
        return None

    def divided(
        self, a: AffineIndex, name: str, right: kc.Expression
    ) -> AffineIndex | None:
        """The quotient or residue of an index by a small divisor of its factor."""
        by = divisor(name, right)
        if by == 0 or a.factor == 0 or a.factor % by or a.low != a.high:
            return None
        self.first = max(self.first, -(a.low // a.factor))
        self.residues += 1
        if name not in QUOTIENTS:
            return AffineIndex(long_literal(a.low % by), 0, a.low % by, a.low % by)
        factor, more = a.factor // by, a.low // by
        at: kc.Expression = kc.Variable(self.index_name, kc.LONG)
        at = at * factor if factor > 1 else at
        return AffineIndex(at + more if more else at, factor, more, more)

    def wrapped(
        self, a: AffineIndex, by_mask: bool, right: kc.Expression
    ) -> AffineIndex | None:
        """A remainder or mask: the number itself while that is within."""
        limit = self.before(right)
        if limit is None or a.factor == 0:
            return None
        if isinstance(limit, kc.Literal):
            small = int(limit.value) < SMALLEST_PERIOD
        else:  # the remainder of a plain index has a period, which may be short
            small = not by_mask and a.low == a.high == 0
        if small:
            return None
        limit = as_long(limit)
        self.limit(a, limit if by_mask else clamped(limit) - 1, by_mask)
        self.first = max(self.first, -(a.low // a.factor))
        return a

    def uniform(self, exp: kc.Expression) -> kc.Expression | None:
        """An expression that is the same for all points, in terms of what there is
        before the loop; None if that is not known."""
        self.looked_into = 0
        return self.before(exp)

    def before(self, exp: kc.Expression) -> kc.Expression | None:
        """The same for a part of what is looked into."""
        exp = self.expanded(exp)
        for node in walk(exp):
            match node:
                case kc.Load() | kc.Register():
                    return None
                case kc.Variable(name, _) if name in self.local:
                    return None
                case kc.SizeValue(size, _) if not size.names().isdisjoint(self.local):
                    return None
        return exp

    def expanded(self, node: Any) -> Any:
        """An expression with the definitions of variables in their places."""
        if isinstance(node, kc.Variable):
            made = self.definition(node.name)
            return node if made is None else self.expanded(made)
        return map_children(node, self.expanded)

    def limit(self, index: AffineIndex, greatest: kc.Expression, by_mask: bool) -> None:
        """From now on the index is at most so much."""
        text = greatest.value if isinstance(greatest, kc.Literal) else str(greatest)
        key = text, by_mask, index.factor
        _, known = self.limits.get(key, (None, index.high))
        self.limits[key] = greatest, max(index.high, known)


def _is_small(index: AffineIndex) -> bool:
    """Whether nothing overflows that is computed with an index."""
    fits = 0 <= index.factor <= LARGEST_FACTOR
    return fits and index.low >= -FAR_OFFSET and index.high <= FAR_OFFSET


def divisor(name: str, right: kc.Expression) -> int:
    """What a quotient or residue is by, if that is a small number; 0 if it is not."""
    if not isinstance(right, kc.Literal) or name not in (*QUOTIENTS, *RESIDUES):
        return 0
    by = int(right.value) + (1 if name in MASKS else 0)
    return (
        by if 1 < by <= LARGEST_DIVISOR and not (name in MASKS and by & by - 1) else 0
    )


def as_long(exp: kc.Expression) -> kc.Expression:
    """An integer as an i64."""
    if isinstance(exp, kc.Literal):
        return long_literal(int(exp.value))
    return exp if exp.type == kc.LONG else kc.Cast(exp, kc.LONG)
