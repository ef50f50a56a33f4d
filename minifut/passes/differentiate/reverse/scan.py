r"""Adjoints of scans, by what the operator is.

    +         a scan from the end
    others    y_i = y_(i-1) ⊙ x_i: the adjoints r of all y are the linear recurrence
              r_i = y'_i + J_(i+1) r_(i+1), solved by a scan of linear functions

The Jacobian J of the operator in its left operand is made entry by entry. Entries that
are 0 for every x make blocks of components that do not depend on each other: each has
a scan of its own, with a matrix of its size; with a sum if the only entry is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Body, Constant, Lambda, Stm
from minifut.ir.node import flagged
from minifut.ir.soacs import Scan, Screma
from minifut.ir.types import I64, ScalarType
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import adder, choose, is_zero, plus
from minifut.passes.differentiate.reverse import operators
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.folds import as_loop, only_fold, takes
from minifut.passes.differentiate.reverse.reduce import backwards, before
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed, ReverseOutcome
from minifut.rewrite.rule import rule


@rule(paper="SC 2022, section 5.2")
def vjp_scan_add(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""Running sums: each element is in all sums from its own on.

    before:
        given (n: i64, xs: [n]f64)
        let scanned: [n]f64 = scanomap(n, (xs),
          scan(add_f64, (0.0f64)),
          \(x: f64) -> (f64) {x})
    after:
        let scanned: [n]f64 = scanomap(n, (xs), scan(add_f64, (0.0f64)),
          \(x: f64) -> (f64) {x})
        let extent: i64 = size(n - 1)
        let w_1: [n]f64 = scanned_seed[extent :+ n by -1i64]
        let sums: [n]f64 = scanomap(n, (w_1), scan(add_f64, (0.0f64)),
          \(x_3: f64) -> (f64) {x_3})
        let sums_1: [n]f64 = sums[extent :+ n by -1i64]
        return scanned, sums_1
    """
    exp = statement.exp_of(Screma)
    fold = only_fold(exp)
    if not isinstance(fold, Scan) or operators.scalar_operator(fold.operator) != "add":
        return None
    (result,), (array,) = statement.pattern, exp.arrays
    type_ = fold.operator.results[0]

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if isinstance(adjoint, Name):
            scan = Scan(adder(build, type_), (build.zero(type_),))
            given = backwards(build, adjoint)
            function = operators.identity(build, (type_,))
            sums = soacs.scanomap(exp.width, (given,), (scan,), function)
            adjoints.add(build, array, backwards(build, build.let(sums, "sums")))

    return Reversed((statement,), back)


@rule(paper="IFL 2023, section 4")
def vjp_scan(statement: Stm, sweep: ReverseSweep) -> ReverseOutcome:
    r"""Any associative operator on scalars; see the module.

    before:
        like before of vjp_scan_add, with
        scan(add_f64, (0.0f64)) => scan(mul_f64, (1.0f64))
    after:
        let scanned: [n]f64 = scanomap(n, (xs), scan(mul_f64, (1.0f64)),
          \(x: f64) -> (f64) {x})
        let extent: i64 = size(n - 1)
        let iota_1: [n]i64 = iota i64 (n, 0i64, 1i64)
        let entry_1: [n]f64 = map(n, (iota_1), \(i: i64) -> (f64) {
          let sub: i64 = sub_i64(extent, i)
          let add: i64 = add_i64(sub, 1i64)
          let min_1: i64 = min_i64(add, extent)
          let xs_3: f64 = xs[min_1]
          let eq: bool = eq_i64(i, 0i64)
          return if eq then {0.0f64} else {xs_3}
        })
        let w_1: [n]f64 = scanned_seed[extent :+ n by -1i64]
        let (solved: [n]f64, x_1: [n]f64) = scanomap(n, (w_1, entry_1),
          scan(\(x_2: f64, x_3: f64, x_4: f64, x_5: f64) -> (f64, f64) {
            let mul_1: f64 = mul_f64(x_5, x_2)
            let add_1: f64 = add_f64(x_4, mul_1)
            let mul_2: f64 = mul_f64(x_5, x_3)
            return add_1, mul_2
          }, (0.0f64, 1.0f64)),
          \(x_6: f64, x_7: f64) -> (f64, f64) {x_6, x_7})
        let solved_1: [n]f64 = solved[extent :+ n by -1i64]
        let iota_2: [n]i64 = iota i64 (n, 0i64, 1i64)
        let x_8: [n]f64 = map(n, (iota_2, solved_1), \(x_9: i64, x_10: f64) -> (f64) {
          let eq_1: bool = eq_i64(x_9, 0i64)
          let before: f64 = if eq_1 then {1.0f64} else {
            let sub_1: i64 = sub_i64(x_9, 1i64)
            return scanned[sub_1]
          }
          return mul_f64(before, x_10)
        })
        return scanned, x_8
    """
    exp = statement.exp_of(Screma)
    fold = only_fold(exp)
    if not isinstance(fold, Scan):
        return None
    active = sweep.activity.of([parameter.name for parameter in statement.pattern])
    types = set(flagged(fold.operator.results, active))
    scalars = operators.all_scalar(fold.operator.results) and len(types) == 1
    if not scalars or not takes(fold.operator, sweep):
        return as_loop(statement, sweep)

    def back(build: Builder, adjoints: Adjoints) -> None:
        if any(adjoints.of_pattern(statement.pattern)):
            _Recurrence(statement, exp, fold, sweep, adjoints).emit(build)

    return Reversed((statement,), back)


class _Recurrence:
    """The return sweep of one scan."""

    def __init__(
        self,
        statement: Stm,
        exp: Screma,
        fold: Scan,
        sweep: ReverseSweep,
        adjoints: Adjoints,
    ) -> None:
        self.exp, self.fold, self.sweep, self.adjoints = exp, fold, sweep, adjoints
        self.ys = [parameter.name for parameter in statement.pattern]
        flags = sweep.activity.of(self.ys)
        self.active = [n for n, flag in enumerate(flags) if flag]
        self.types: list[ScalarType] = [
            type_
            for n, type_ in enumerate(fold.operator.results)
            if n in self.active and isinstance(type_, ScalarType)
        ]

    def emit(self, build: Builder) -> None:
        """The linear recurrence, then the adjoints of the elements."""
        adjoints = self.adjoints
        ybars = [adjoints.or_zero(build, self.ys[n]) for n in self.active]
        entries, rows = self.linear_functions(build)
        order = [backwards(build, y) for y in ybars if isinstance(y, Name)]
        solved: dict[int, Name] = {}
        for block in _blocks(len(self.active), entries):
            pairs = [(a, b) for a in block for b in block]
            matrix = [rows.get(pair) for pair in pairs]
            given = [order[n] for n in block]
            known = {pair: entries[pair] for pair in pairs if pair in entries}
            if len(block) == 1 and known.get((block[0], block[0])) == 1:
                matrix = []
            types = [self.types[n] for n in block]
            made = _solve(build, self.exp, types, given, matrix)
            solved |= zip(block, made, strict=True)
        rs = [backwards(build, solved[n]) for n in range(len(self.active))]
        self.elements(build, rs)

    def jacobian(
        self, inner: Builder, lefts: Sequence[Atom], rights: Sequence[Atom], side: int
    ) -> list[list[Atom | None]]:
        """For each active result with the adjoint 1 those of the operands on a side;
        None for what is 0 everywhere."""
        found = []
        for n, type_ in zip(self.active, self.types, strict=True):
            seeds: list[Atom | None] = [None] * len(self.ys)
            seeds[n] = constant(1, type_)
            found.append(self.back(inner, lefts, rights, seeds, side))
        return found

    def back(
        self,
        inner: Builder,
        lefts: Sequence[Atom],
        rights: Sequence[Atom],
        seeds: list[Atom | None],
        side: int,
    ) -> list[Atom | None]:
        """The adjoints of the operands on one side (0: left) for those of results."""
        operator = inner.copy(self.fold.operator)
        count = len(self.ys)
        given = (*lefts, *rights)
        for parameter, atom in zip(operator.parameters, given, strict=True):
            inner.bind((parameter,), core.Copy(atom))
        wanted = [operator.parameters[side * count + n].name for n in self.active]
        self.sweep.activity.names.update(wanted)
        own = self.sweep.adjoints()
        body = Body(operator.body.statements, operator.body.result)
        self.sweep.again(inner, body, own, seeds)
        return [own.of(name) for name in wanted]

    def linear_functions(
        self, build: Builder
    ) -> tuple[dict[tuple[int, int], float | None], dict[tuple[int, int], Name]]:
        """The Jacobians from the end to the start: for each pair (left operand, result)
        that is not 0 everywhere, its value if that is constant, and its array."""
        exp = self.exp
        last = build.size_atom(exp.width - 1)
        index = build.parameters((I64,), "i")
        inner = build.nested()
        place = inner.sub(last, index[0].name)
        following = inner.op("min", inner.add(place, i64(1)), last)
        lefts = [inner.index(y, place) for y in self.ys]
        rights = [inner.index(x, following) for x in exp.arrays]
        matrix = self.jacobian(inner, lefts, rights, 0)
        entries: dict[tuple[int, int], float | None] = {}
        atoms = []
        at_end = inner.op("eq", index[0].name, i64(0))
        for result, row in enumerate(matrix):
            for left, atom in enumerate(row):
                if atom is not None and not is_zero(atom):
                    known = atom.value if isinstance(atom, Constant) else None
                    entries[left, result] = known
                    nothing = constant(0, self.types[left])
                    # nothing follows the last element: not even a NaN may come of it
                    atoms.append(choose(inner, at_end, nothing, atom))
        if not atoms:
            return entries, {}
        function = Lambda(index, inner.finish(*atoms), inner.types(atoms))
        made = build.map((build.iota(exp.width),), function, ["entry"])
        return entries, dict(zip(entries, made, strict=True))

    def elements(self, build: Builder, rs: list[Name]) -> None:
        """The adjoints of the elements from those of all results."""
        exp = self.exp
        flags = self.sweep.activity.of(exp.arrays)
        wanted = [n for n in self.active if flags[n]]

        def element(inner: Builder, i: Name, *given: Name) -> list[Atom]:
            xs, own = given[: len(self.ys)], given[len(self.ys) :]
            lefts = before(inner, tuple(self.ys), self.fold.neutral, i)
            seeds: list[Atom | None] = [None] * len(self.ys)
            for n, r in zip(self.active, own, strict=True):
                seeds[n] = r
            found = self.back(inner, lefts, xs, seeds, 1)
            pairs = zip(self.active, found, self.types, strict=True)
            return [
                constant(0, type_) if atom is None else atom
                for n, atom, type_ in pairs
                if n in wanted
            ]

        made = build.map((build.iota(exp.width), *exp.arrays, *rs), element)
        for n, adjoint in zip(wanted, made, strict=True):
            self.adjoints.add(build, exp.arrays[n], adjoint)


def _blocks(
    count: int, entries: dict[tuple[int, int], float | None]
) -> list[list[int]]:
    """The components in groups that no entry joins."""
    groups = [{n} for n in range(count)]
    for pair in entries:
        joined = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if not group & set(pair)]
        groups.append(set().union(*joined))
    return sorted(sorted(group) for group in groups)


def _solve(
    build: Builder,
    exp: Screma,
    types: Sequence[ScalarType],
    given: Sequence[Name],
    matrix: Sequence[Name | None],
) -> tuple[Name, ...]:
    """r_i = given_i + matrix_i r_(i-1), for one block, by a scan. An empty matrix is
    the number 1, an entry None is 0."""
    size, type_ = len(given), types[0]
    if not matrix:
        scan = Scan(adder(build, type_), (build.zero(type_),))
        function = operators.identity(build, (type_,))
        return build.let_many(
            soacs.scanomap(exp.width, tuple(given), (scan,), function)
        )
    present = [entry for entry in matrix if entry is not None]
    if not present:
        return tuple(given)
    nothing = constant(0, type_)

    def pair(_: Builder, *rows: Name) -> list[Atom]:
        own = iter(rows[size:])
        entries = [nothing if entry is None else next(own) for entry in matrix]
        return [*rows[:size], *entries]

    function = build.function([type_] * (size + len(present)), pair)
    neutral: list[Atom] = [nothing] * size
    neutral += [constant(n // size == n % size, type_) for n in range(size * size)]
    flat = [type_] * (size + size * size)
    operator = build.function(flat * 2, _composition(size))
    scan = Scan(operator, tuple(neutral))
    soac = soacs.scanomap(exp.width, (*given, *present), (scan,), function)
    return build.let_many(soac, ["solved"] * size)[:size]


def _composition(size: int) -> Callable[..., list[Atom]]:
    """Affine functions one after the other: (c, M) then (d, N) is (d + N c, N M)."""

    def compose(inner: Builder, *atoms: Name) -> list[Atom]:
        half = size + size * size
        c, m = atoms[:size], atoms[size:half]
        d, n = atoms[half : half + size], atoms[half + size :]

        def dot(start: Atom | None, row: int, column: Sequence[Atom]) -> Atom:
            total = start
            for k in range(size):
                part = inner.mul(n[row * size + k], column[k])
                total = part if total is None else plus(inner, total, part)
            assert total is not None
            return total

        vector = [dot(d[row], row, c) for row in range(size)]
        product = [
            dot(None, row, [m[k * size + column] for k in range(size)])
            for row in range(size)
            for column in range(size)
        ]
        return [*vector, *product]

    return compose
