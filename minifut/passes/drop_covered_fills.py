"""Pass: an array that a map overwrites is not filled before.

    scatter (scatter (replicate n 0) evens xs) odds ys     at 2 * i and at 2 * i + 1

The positions that a map over h points writes are all those of an array in three cases:

    m arrays in turn, in blocks of s     i + (m - 1) s (i / s) + c s,  c = 0 .. m - 1
    backwards                            n - 1 - i
    transposed                           (i % s) t + i / s

where the array has m h elements, and blocks are whole: s is positive and divides h.
That is tested before the map; if it does not hold, the array is filled. Butterflies of
a Fourier transform write blocks of s = 1, 2, 4, ..

Source: digits of positions in mixed radix, as in Van Loan, "Computational Frameworks
for the Fast Fourier Transform" (1992), 1.4 and 3.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minifut.ir import core, scalars, types
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Constant, Program, Stm
from minifut.ir.host_bodies import map_statements
from minifut.ir.kernels import GRID, SegMap, WriteReturns
from minifut.ir.node import immutable, replace
from minifut.ir.scope import scope_of
from minifut.ir.sizes import ONE, ZERO, Quotient, Size, as_size, maximum
from minifut.names import Name, NameSource
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace

QUOTIENTS = ("div", "quot")
RESTS = ("mod", "rem")
Equality = tuple[Size, Size]


@immutable
class _Covering:
    """What has to hold for positions to be all of an array: sizes that are equal, and
    the length of blocks, a positive number that divides the number of points."""

    equal: tuple[Equality, ...]
    block: Size = ONE


@rule(SegMap, paper="Van Loan, Computational Frameworks for the FFT (1992)")
def drop_covered_fill(statement: Stm, context: StatementContext) -> Outcome:
    """A map that writes all elements of an array does not need those that are there.

    before:
        given (h: i64, n: i64, xs: [h]f32, ys: [h]f32)
        let a: [n]f32 = replicate([n], 0.0f32)
        let b: [n]f32 = segmap grid (i < h) -> (f32) {
          let even: i64 = mul_i64(i, 2i64)
          let odd: i64 = add_i64(even, 1i64)
          let x: f32 = xs[i]
          let y: f32 = ys[i]
          return writes a [n] with ((even) = x, (odd) = y)
        }
        return b
    after:
        like before, with
        let a: [n]f32 = replicate([n], 0.0f32)
        => let whole: i64 = size(2 * h)
        => let covered: bool = eq_i64(n, whole)
        => let c: [n]f32 = if covered then {
        =>   let d: [n]f32 = scratch(f32, [n])
        =>   return d
        => } else {
        =>   let e: [n]f32 = replicate([n], 0.0f32)
        =>   return e
        => }
        writes a => writes c
    declines: positions are not known to be all of the array
        like before, with
        (odd) = y => (even) = y
    """
    exp = statement.exp
    if not isinstance(exp, SegMap) or exp.level != GRID or len(exp.space.sizes) != 1:
        return None
    build = context.builder(statement)
    positions = _Positions(exp, context.definitions)
    results = list(exp.body.result)
    tested: dict[_Covering, Atom] = {}
    for at, result in enumerate(results):
        if not isinstance(result, WriteReturns):
            continue
        fill = context.definition(result.array)
        if not isinstance(fill, core.Replicate) or fill.shape != result.shape:
            continue
        covering = positions.covering(result)
        if covering is None:
            continue
        if covering not in tested:
            tested[covering] = _test(build, covering, exp.space.sizes[0])
        array = _filled_unless(build, tested[covering], fill, result.array, context)
        results[at] = replace(result, array=array)
    if not tested:
        return Declined("positions are not known to be all of the array")
    body = replace(exp.body, result=tuple(results))
    return (*build.statements, replace(statement, exp=replace(exp, body=body)))


class _Positions:
    """The positions that a map writes, as sizes over its index and what there is before
    it."""

    def __init__(self, exp: SegMap, outer: Mapping[Name, Stm]) -> None:
        (self.index,) = exp.space.indices
        (self.points,) = exp.space.sizes
        self.inner = {p.name: s for s in exp.body.statements for p in s.pattern}
        self.outer = outer
        self.forms: dict[Atom, Size | None] = {}

    def covering(self, result: WriteReturns) -> _Covering | None:
        """What makes these writes all of the array; None if nothing does."""
        if len(result.shape) != 1:
            return None
        found = [self.form(place) for (place,), _ in result.writes]
        forms = {form for form in found if form is not None}
        if not forms or len(forms) < len(found):
            return None
        (total,) = result.shape
        at, count = Size.of(self.index), len(forms)
        for block in dict.fromkeys((ONE, *_divisors(forms, self.index))):
            row = at // block
            first = at + block * row * (count - 1)
            if forms == {first + block * c for c in range(count)}:
                return _Covering(((total, self.points * count),), block)
        if count > 1:
            return None
        (form,) = forms
        last = form + at
        if self.index not in last.names():
            return _Covering(((total, self.points), (last, total - 1)))
        return self._transposed(form, total)

    def _transposed(self, form: Size, total: Size) -> _Covering | None:
        at = Size.of(self.index)
        for block in _divisors({form}, self.index):
            row = at // block
            rows, _ = (form - row).divided(at)
            if form == row + rows * (at - row * block):
                equal = ((total, self.points), (total, rows * block))
                return _Covering(equal, block)
        return None

    def form(self, atom: Atom) -> Size | None:
        """An i64 of the body; None if it is not known. What wraps around in between
        does not matter, since the final position is in an array. Quotients are of the
        index alone."""
        if atom not in self.forms:
            self.forms[atom] = self._form(atom)
        return self.forms[atom]

    def _form(self, atom: Atom) -> Size | None:
        if isinstance(atom, Constant):
            return as_size(int(atom.value))
        statement = self.inner.get(atom) or self.outer.get(atom)
        exp = statement.exp if statement else None
        match exp:
            case core.SizeExp(size):
                return size
            case core.ScalarOp(operator, (left, right)) if operator.type == types.I64:
                return self._combined(operator.name, left, right) or (
                    None if atom in self.inner else Size.of(atom)
                )
        return None if atom in self.inner else Size.of(atom)

    def _combined(self, name: str, left: Atom, right: Atom) -> Size | None:
        a, b = self.form(left), self.form(right)
        if a is None or b is None:
            return None
        match name:
            case "add" | "sub" | "mul":
                made = scalars.OF_POLYNOMIALS[name](a, b)
            case _ if name in QUOTIENTS and a == Size.of(self.index):
                made = a // b
            case _ if name in RESTS and a == Size.of(self.index):
                made = a - b * (a // b)
            case _:
                return None
        return made if made.is_short else None


def _divisors(forms: set[Size], index: Name) -> Iterator[Size]:
    """What the index is divided by."""
    for form in forms:
        for monomial, _ in form.terms:
            for atom in monomial:
                if isinstance(atom, Quotient) and atom.dividend == Size.of(index):
                    yield atom.divisor


def _test(build: Builder, covering: _Covering, points: Size) -> Atom:
    """Whether positions are all of an array."""

    def atom(size: Size) -> Atom:
        return build.size_atom(size)

    parts = [build.op("eq", atom(a), atom(b)) for a, b in covering.equal]
    if covering.block != ONE:
        block = covering.block
        rest = build.op("mod", atom(points), atom(maximum(ONE, block)))
        parts.append(build.op("eq", rest, atom(ZERO)))
        parts.append(build.op("lt", atom(ZERO), atom(block)))
    return build.all_of(parts)


def _filled_unless(
    build: Builder,
    covered: Atom,
    fill: core.Replicate,
    array: Name,
    context: StatementContext,
) -> Name:
    """The array, filled if it is not covered."""
    type_ = context.scope[array]
    assert isinstance(type_, types.ArrayType)
    sides = []
    for exp in (core.Scratch(type_.element, fill.shape), fill):
        inner = build.nested()
        sides.append(inner.finish(inner.let(exp, array.base)))
    return build.let(core.If(covered, *sides), array.base, type_)


def drop_covered_fills(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Leave arrays unfilled of which a map writes all elements."""
    scope = scope_of(program)
    derivation = Derivation(trace or Trace())
    outer: dict[Name, Stm] = {}

    def changed(statement: Stm) -> tuple[Stm, ...]:
        outer.update((p.name, statement) for p in statement.pattern)
        context = StatementContext(names, scope, outer, derivation=derivation)
        outcome = drop_covered_fill(statement, context)
        if isinstance(outcome, tuple):
            scope.update(scope_of(*outcome))
            return outcome
        return (replace(statement, exp=map_statements(statement.exp, changed)),)

    made: Program = map_statements(program, changed)
    return made
