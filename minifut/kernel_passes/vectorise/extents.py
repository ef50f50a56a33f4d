"""The least and the greatest value of an integer among the points of a block.

    i = first ..< first + 16
    max(0, i - m + 1)        from max(0, first - m + 1) to max(0, first + 15 - m + 1);
                             from a point to the next it grows by 0 to 1

Sums, multiples, minima and maxima are monotone in each operand, so that their ends are
made of those of the operands; the values of all points are between them. That holds
where nothing wraps around: what points share and was used is kept, to be tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minifut.ir.node import immutable, mutable
from minifut.ir.sizes import Extreme, Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.varying import varies
from minifut.names import Name

LARGEST_FACTOR = 64


@immutable
class Extent:
    """An integer: its values for the `first` and the `last` point, `between` which
    numbers it is for all, and by how much it grows from each point to the next."""

    first: kc.Expression
    last: kc.Expression
    between: tuple[kc.Expression, kc.Expression]
    slowest: int
    fastest: int

    @staticmethod
    def of_all(exp: kc.Expression) -> Extent:
        """What is the same for all points."""
        return Extent(exp, exp, (exp, exp), 0, 0)

    @property
    def low(self) -> kc.Expression:
        """No value is less. Where the number only grows, or only falls, it is that of a
        point: numbers that are added may have their ends at different ones."""
        if self.slowest >= 0:
            return self.first
        return self.last if self.fastest <= 0 else self.between[0]

    @property
    def high(self) -> kc.Expression:
        """No value is greater."""
        if self.slowest >= 0:
            return self.last
        return self.first if self.fastest <= 0 else self.between[1]

    @property
    def is_shared(self) -> bool:
        """Whether all points have the same value."""
        return self.slowest == self.fastest == 0

    @property
    def is_steady(self) -> bool:
        """Whether it grows by nothing or one."""
        return self.slowest >= 0 and self.fastest <= 1

    def plus(self, other: Extent) -> Extent:
        return Extent(
            self.first + other.first,
            self.last + other.last,
            (self.low + other.low, self.high + other.high),
            self.slowest + other.slowest,
            self.fastest + other.fastest,
        )

    def times(self, factor: int) -> Extent:
        if factor == 1:
            return self
        first, last, low, high = (
            factor * end for end in (self.first, self.last, self.low, self.high)
        )
        slow, fast = sorted((self.slowest * factor, self.fastest * factor))
        between = (low, high) if factor > 0 else (high, low)
        return Extent(first, last, between, slow, fast)

    def extreme(self, function: str, other: Extent) -> Extent:
        """The minimum or maximum of both."""

        def of(left: kc.Expression, right: kc.Expression) -> kc.Expression:
            return kc.Call(function, (left, right), kc.LONG)

        return Extent(
            of(self.first, other.first),
            of(self.last, other.last),
            (of(self.low, other.low), of(self.high, other.high)),
            min(self.slowest, other.slowest),
            max(self.fastest, other.fastest),
        )


@mutable
class ExtentFinder:
    """The extents of integers of points of which `index` is known. `definitions` are
    those of variables that points declare and never change; what is not `varying` is
    the same for all points, and in `shared` if it was used."""

    index: tuple[Name, Extent]
    definitions: Mapping[Name, kc.Expression]
    varying: frozenset[Name]
    shared: list[kc.Expression]

    def of(self, exp: kc.Expression) -> Extent | None:
        """The extent of an i64; None if it is not known."""
        if exp.type != kc.LONG:
            return None
        if not varies(exp, self.varying):
            if not isinstance(exp, kc.Literal):
                self.shared.append(exp)
            return Extent.of_all(exp)
        match exp:
            case kc.Variable(name, _) if name == self.index[0]:
                return self.index[1]
            case kc.Variable(name, _) if name in self.definitions:
                return self.of(self.definitions[name])
            case kc.Cast(operand, _):
                return self.of(operand)
            case kc.SizeValue(size, _):
                return self._of_size(size)
            case kc.Call("min" | "max" as symbol, (left, right), _):
                return self._combined(symbol, left, right)
        found = kc.infix(exp)
        return found and self._combined(*found)

    def differing(self, exp: kc.Expression, function: str) -> list[kc.Expression]:
        """Of the numbers whose minimum or maximum this is those that points do not
        share."""
        if not varies(exp, self.varying):
            return []
        operands = self._operands(exp, function)
        if operands is None:
            return [exp]
        return [part for each in operands for part in self.differing(each, function)]

    def _operands(
        self, exp: kc.Expression, function: str
    ) -> Sequence[kc.Expression] | None:
        match exp:
            case kc.Variable(name, _):
                made = self.definitions.get(name)
                return None if made is None else self._operands(made, function)
            case kc.SizeValue(Size(((((Extreme(operands, greatest),)), 1),)), _):
                fits = function == ("max" if greatest else "min")
                return [size_value(operand) for operand in operands] if fits else None
            case kc.Call(called, inner, _):
                return inner if called == function else None
        symbol, *both = kc.infix(exp) or ("",)
        return both if symbol == function else None

    def _combined(
        self, symbol: str, left: kc.Expression, right: kc.Expression
    ) -> Extent | None:
        if symbol == "*" and isinstance(left, kc.Literal):
            left, right = right, left
        a = self.of(left)
        if a is not None and symbol == "*":
            return self._multiple(a, right)
        b = None if a is None else self.of(right)
        if a is None or b is None:
            return None
        match symbol:
            case "+":
                return a.plus(b)
            case "-":
                return a.plus(b.times(-1))
            case "min" | "max":
                return a.extreme(symbol, b)
        return None

    def _multiple(self, extent: Extent, factor: kc.Expression) -> Extent | None:
        """A multiple by a small number."""
        by = int(factor.value) if isinstance(factor, kc.Literal) else 0
        return extent.times(by) if 0 < abs(by) <= LARGEST_FACTOR else None

    def _of_size(self, size: Size) -> Extent | None:
        total: Extent | None = None
        for monomial, coefficient in size.terms:
            one = self._of_factor(Size(((monomial, 1),)))
            if one is None or (abs(coefficient) > LARGEST_FACTOR and monomial):
                return None
            term = one.times(coefficient)
            total = term if total is None else total.plus(term)
        return total

    def _of_factor(self, factor: Size) -> Extent | None:
        """A product of sizes."""
        exp = size_value(factor)
        if not varies(exp, self.varying) or isinstance(exp, kc.Variable):
            return self.of(exp)
        match factor.terms:
            case (((Extreme(operands, greatest),), _),):
                total, *others = [self.of(size_value(operand)) for operand in operands]
                for other in others:
                    if total is None or other is None:
                        return None
                    total = total.extreme("max" if greatest else "min", other)
                return total
        return None


def size_value(size: Size) -> kc.Expression:
    """A size as an expression."""
    number, name = size.as_constant, size.as_name
    if number is not None:
        return kc.Literal(number, kc.LONG)
    return kc.SizeValue(size) if name is None else kc.Variable(name, kc.LONG)
