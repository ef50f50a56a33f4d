"""Bounds of the index arithmetic of a kernel, as sizes over what a launch gives.

    let i: i64 = i64(get_global_id(0))         |i| <= global_id
    for j = i to n by threads                  |j| <= max(global_id, n)
    let row: i64 = j / m                       |row| <= max(global_id, n) // max(1, m)
    let bin: i64 = bins[j]                     unknown

The names of these sizes are scalar parameters, taken to be at least 0, build constants,
and stand-ins for the extents of a launch. A variable with several values has the bound
of all of them; one that a loop multiplies while it is small, that of the loop's
condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from minifut.ir.node import immutable
from minifut.ir.sizes import Extreme, Quotient, Size, SizeFactor, maximum, product
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import targets
from minifut.kernel_passes.narrow.bound import (
    Bound,
    of_any,
    of_extreme,
    of_quotient,
    of_remainder,
    short,
)
from minifut.names import Name, NameSource

IDENTITIES = ("get_local_id", "get_global_id", "get_group_id", "get_num_groups")
MOST_ROUNDS = 6
"""of looking at all statements: each gives bounds to variables that others use"""


@immutable
class GivenValue:
    """A value that a variable is given, the condition of the loop around that, and
    those of the branches."""

    exp: kc.Expression
    facts: Conditions
    condition: kc.Expression | None = None


Conditions = tuple[kc.Expression, ...]


class Bounds:
    """The bounds of the i64 variables of a kernel."""

    def __init__(self, kernel: kc.Kernel, names: NameSource) -> None:
        self.names = names
        self.known: dict[Name, Bound] = {}
        self.extents: dict[tuple[str, int], Name] = {}
        self.sources: dict[Name, list[GivenValue]] = {}
        self.loops: dict[Name, tuple[kc.For, Conditions]] = {}
        self.copies: dict[Name, kc.Expression] = {}
        self.opaque: set[Name] = set()
        for parameter in kernel.parameters:
            if isinstance(parameter, kc.ScalarParameter) and parameter.type == I64:
                self.known[parameter.name] = Bound(Size.of(parameter.name), exact=True)
        for constant in kernel.constants:
            self.known[constant.name] = Bound(Size.of(constant.name), exact=True)
        if isinstance(kernel.group_size, Name):
            group = kernel.group_size
            self.known[group] = Bound(Size.of(group), exact=True)
        self._collect(kernel.body.statements, (), None)
        self._solve()

    # --- variables --------------------------------------------------------------------

    def _collect(
        self,
        statements: Iterable[kc.Statement],
        facts: Conditions,
        condition: kc.Expression | None,
    ) -> None:
        """Note where variables get values."""
        for statement in statements:
            if isinstance(statement, kc.Branch):
                then, rest = statement.then, statement.otherwise or kc.Block(())
                self._collect(then.statements, (*facts, statement.condition), condition)
                self._collect(rest.statements, facts, condition)
                continue
            self._note(statement, facts, condition)
            inside = condition
            if isinstance(statement, kc.For | kc.While):
                inside = getattr(statement, "condition", None)
            for block in kc.blocks_of(statement):
                self._collect(block.statements, facts, inside)

    def _note(
        self,
        statement: kc.Statement,
        facts: Conditions,
        condition: kc.Expression | None,
    ) -> None:
        """Note the variables that a statement itself gives values."""
        if isinstance(statement, kc.Unrolled):
            self.copies[statement.index] = statement.count
        elif isinstance(statement, kc.For) and statement.variable.type == kc.LONG:
            self.loops[statement.variable.name] = statement, facts
        for variable in targets(statement):
            if not isinstance(variable, kc.Variable) or variable.name in self.loops:
                continue
            given = self.sources.setdefault(variable.name, [])
            if isinstance(statement, kc.Assign):
                given.append(GivenValue(statement.exp, facts, condition))
            elif isinstance(statement, kc.Declare) and statement.init is not None:
                given.append(GivenValue(statement.init, facts))
            else:
                self.opaque.add(variable.name)

    def _solve(self) -> None:
        """Find bounds until none is new."""
        for index, count in self.copies.items():
            most = self.of(count)
            if most is not None:
                self.known[index] = Bound(most.size)
        for _ in range(MOST_ROUNDS):
            before = len(self.known)
            for name, sources in self.sources.items():
                if name not in self.known and name not in self.opaque:
                    found = self._of_sources(name, sources)
                    if found is not None:
                        self.known[name] = found
            for name, (loop, facts) in self.loops.items():
                if name not in self.known and name not in self.sources:
                    with self.assuming(facts):
                        found = self._of_loop(loop)
                    if found is not None:
                        self.known[name] = found
            if len(self.known) == before:
                return

    def _of_sources(self, name: Name, sources: list[GivenValue]) -> Bound | None:
        """The bound of all values of a variable."""
        found = [self._of_source(name, source, sources) for source in sources]
        whole = found[0] if len(found) == 1 else of_any(found)
        guarded = any(source.condition is not None for source in sources)
        return None if guarded and whole and not whole.natural else whole

    def _of_source(
        self, name: Name, source: GivenValue, sources: list[GivenValue]
    ) -> Bound | None:
        """The bound of a value, in a loop with a condition that of the loop's others,
        unless the variable has another value there."""
        with self.assuming(source.facts):
            condition = source.condition
            if condition is None or sum(s.condition is condition for s in sources) > 1:
                return self.of(source.exp)
            guard = self._guard(name, condition)
            if guard is None:
                return self.of(source.exp)
            self.known[name] = guard
            found = self.of(source.exp)
            del self.known[name]
            return found

    @contextmanager
    def assuming(self, facts: Conditions) -> Iterator[None]:
        """Where conditions hold: `u64(x) < u64(limit)` bounds a variable that has but
        one value."""
        if not facts:
            yield
            return
        before = dict(self.known)
        for fact in facts:
            match fact:
                case kc.Binary(
                    "<", kc.Cast(kc.Variable(name, kc.LONG)), kc.Cast(limit, kc.ULONG)
                ) if len(self.sources.get(name, ())) == 1:
                    bound = self.of(limit)
                    if bound is not None and bound.natural and name not in self.known:
                        self.known[name] = Bound(bound.size)
        try:
            yield
        finally:
            self.known = before

    def _guard(self, name: Name, condition: kc.Expression) -> Bound | None:
        """The bound of a variable where a loop's condition holds, if that variable is
        natural: `name < limit` or `name * 2 <= limit` with others."""
        if not isinstance(condition, kc.Binary):
            return None
        symbol, left, right = condition.symbol, condition.left, condition.right
        if symbol in ("&", "&&"):
            return self._guard(name, left) or self._guard(name, right)
        match left:
            case kc.Binary("*", kc.Variable() as variable, kc.Literal()):
                left = variable
        own = isinstance(left, kc.Variable) and left.name == name
        limit = self.of(right) if own and symbol in ("<", "<=") else None
        return limit and Bound(limit.size)

    def _of_loop(self, loop: kc.For) -> Bound | None:
        start, bound, step = map(self.of, (loop.start, loop.bound, loop.step))
        if start is None or bound is None or step is None or not step.natural:
            return None
        size = bound.size
        if start.size.as_constant != 0:
            size = maximum(start.size, size)
        return short(Bound(size, start.natural))

    # --- expressions ------------------------------------------------------------------

    def of(self, exp: kc.Expression) -> Bound | None:
        """The bound of an i64 expression; None if it is unknown."""
        if exp.type != kc.LONG:
            return None
        match exp:
            case kc.Variable(name):
                return self.known.get(name)
            case kc.Literal(value):
                number = int(value)
                known = Size.constant(abs(number))
                return short(Bound(known, number >= 0, number >= 0))
            case kc.Cast(kc.Call(function, (kc.Literal(dimension),))) if (
                function in IDENTITIES
            ):
                key = function, int(dimension)
                if key not in self.extents:
                    self.extents[key] = self.names.fresh(function.removeprefix("get_"))
                return Bound(Size.of(self.extents[key]))
            case kc.Cast(operand) if operand.type == kc.LONG:
                return self.of(operand)
            case kc.Cast(operand) if operand.type == kc.ULONG:
                return self._of_unsigned(operand)
            case kc.Call("min" | "max" as name, (left, right)):
                return of_extreme(name, self.of(left), self.of(right))
            case kc.Select(_, then, otherwise):
                return of_any([self.of(then), self.of(otherwise)])
            case kc.SizeValue(size):
                return self.of_size(size)
        found = kc.infix(exp)
        return found and self._binary(*found)

    def _of_unsigned(self, exp: kc.Expression) -> Bound | None:
        """The same of an expression of u64: the lesser of two has any of their
        bounds."""
        match exp:
            case kc.Cast(operand) if operand.type == kc.LONG:
                bound = self.of(operand)
                return bound if bound is not None and bound.natural else None
            case kc.Call("min", (left, right)):
                found = self._of_unsigned(left) or self._of_unsigned(right)
                return found and Bound(found.size)
        return None

    def _binary(
        self, symbol: str, left: kc.Expression, right: kc.Expression
    ) -> Bound | None:
        a, b = self.of(left), self.of(right)
        if symbol == "&":
            masks = [m for m in (b, a) if m is not None and m.natural]
            return Bound(masks[0].size) if masks else None
        if a is None or b is None:
            return None
        both = a.natural and b.natural
        match symbol:
            case "+":
                return short(Bound(a.size + b.size, both, a.exact and b.exact))
            case "-" if self.is_remainder(left, right):
                return of_remainder(a, self._divisor(right))
            case "-":
                return short(Bound(a.size + b.size, False))
            case "*":
                return short(Bound(a.size * b.size, both, a.exact and b.exact))
            case "/" | "quot":
                return of_quotient(a, b, both)
            case "div" if both:
                return of_quotient(a, b, both)
            case "%" | "rem" | "mod" if both:
                return of_remainder(a, b)
            case "min" | "max":
                return of_extreme(symbol, a, b)
            case ">>" | "shr" if both:
                return Bound(a.size)
        return None

    def is_remainder(self, left: kc.Expression, right: kc.Expression) -> bool:
        """Whether that is `x - q * d` where q is x / d and natural."""
        match right:
            case kc.Binary("*", kc.Variable(name), divisor):
                sources = self.sources.get(name, [])
                if len(sources) != 1 or name in self.opaque:
                    return False
                match sources[0].exp:
                    case kc.Binary("/", dividend, by):
                        bound = self.known.get(name)
                        fits = self.is_same(dividend, left)
                        fits &= self.is_same(by, divisor)
                        return fits and bound is not None and bound.natural
        return False

    def _divisor(self, subtracted: kc.Expression) -> Bound:
        assert isinstance(subtracted, kc.Binary)
        found = self.of(subtracted.right)
        assert found is not None
        return found

    def of_size(self, size: Size) -> Bound | None:
        """The bound of a size over variables of the kernel."""
        total, natural = Size.constant(0), True
        for monomial, coefficient in size.terms:
            parts = [self.of_atom(atom) for atom in monomial]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            total += product(tuple(p.size for p in known)) * abs(coefficient)
            natural &= coefficient > 0 and all(p.natural for p in known)
        names = (self.known.get(name) for name in size.names())
        exact = natural and all(b is not None and b.exact for b in names)
        return short(Bound(total, natural, exact))

    def of_atom(self, atom: SizeFactor) -> Bound | None:
        """The bound of an atom of a size."""
        match atom:
            case Name():
                return self.known.get(atom)
            case Quotient(dividend, divisor, up):
                a, b = self.of_size(dividend), self.of_size(divisor)
                if a is None or b is None or not (a.natural and b.natural):
                    return None
                return of_quotient(a, b, True, up)
            case Extreme(operands, greatest):
                found = self.of_size(operands[0])
                for operand in operands[1:]:
                    name = "max" if greatest else "min"
                    found = of_extreme(name, found, self.of_size(operand))
                return found

    def is_same(self, one: kc.Expression, other: kc.Expression) -> bool:
        """Whether two expressions are the same number, size, or variable with but one
        value."""
        match one, other:
            case kc.Variable(a), kc.Variable(b):
                return a == b and len(self.sources.get(a, ())) <= 1
            case kc.Literal(a), kc.Literal(b):
                return a == b
            case kc.SizeValue(a), kc.SizeValue(b):
                return a == b and all(
                    len(self.sources.get(name, ())) <= 1 for name in a.names()
                )
        return False
