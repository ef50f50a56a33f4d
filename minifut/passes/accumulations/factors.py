r"""Sums before products by what the summation does not change (`sum_before_product`).

    with_acc(A, \a -> map(n, (a, xss), \b xs ->
      let rs = map(m, (wss), \ws -> redomap(d, (ws, xs), +, \w x -> w * x))
      in map(m, (b, iota m, rs), \c j r -> update_acc(c, (j), (r)))))
    →  let sums = with_acc(zeros, \a -> map(n, (a, xss), \b xs ->
         map(d, (b, iota d, xs), \c i x -> update_acc(c, (i), (x)))))
       with_acc(A, \a -> map(m, (a, iota m, wss), \b j ws ->
         map(d, (b, ws, sums), \c w x -> update_acc(c, (j), (w * x)))))

What the points of a map add to is the sum of their products with the same matrix, and
so the product of the matrix with their sum: n * d + m * d multiplications in the place
of n * m * d. The adjoints of what is subtracted from points, or added to them, before a
linear function are such sums. Conditions: one update of the accumulator, at the numbers
of levels around it; the product is needed for nothing else. Numbers are rounded as they
are when they are summed in another order; an infinite factor may give NaN in other
cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Assert, Atom, Body, If, Lambda, Param, Stm, Trace
from minifut.ir.node import immutable, replace
from minifut.ir.search import contains
from minifut.ir.sizes import product
from minifut.ir.soacs import Screma, map_
from minifut.ir.traverse import free_names, map_children, rename
from minifut.ir.types import I64, AccType, ScalarType, array_of, row_type
from minifut.names import Name
from minifut.passes.accumulations.inner_products import (
    InnerProduct,
    differs_with,
    inner_product,
)
from minifut.passes.flatten.cheap import all_cheap
from minifut.passes.simplify.dead_code import remove_dead_code_in
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

NO_SUM = Declined("no update adds an inner product at the numbers of levels around it")
NO_FACTOR = Declined("no factor stays the same while the others are summed up")
EXPENSIVE = Declined("the factors are more than cheap scalar code, or have checks")


@rule(WithAcc)
def sum_before_product(statement: Stm, context: StatementContext) -> Outcome:
    r"""Sum up what is multiplied by a factor that the sum does not change.

    before:
        given (n: i64, m: i64, d: i64, wss: [m][d]i32, xss: [n][d]i32, zs: [m]i32)
        let is: [m]i64 = iota i64 (m, 0i64, 1i64)
        let rs: [m]i32 = with_acc((acc([m], (zs), (0i32), add_i32)),
          \(a: acc a [m] (i32)) -> (acc a [m] (i32)) {
          return map(n, (a, xss),
            \(b: acc a [m] (i32), xs: [d]i32) -> (acc a [m] (i32)) {
              let vs: [m]i32 = map(m, (wss), \(ws: [d]i32) -> (i32) {
                return redomap(d, (ws, xs), reduce commutative(add_i32, (0i32)),
                  mul_i32)
              })
              return map(m, (b, is, vs),
                \(c: acc a [m] (i32), i: i64, v: i32) -> (acc a [m] (i32)) {
                  let u: i32 = neg_i32(v)
                  return update_acc(c, (i), (u))
                })
            })
        })
    after:
        let is: [m]i64 = iota i64 (m, 0i64, 1i64)
        let zeros: [d]i32 = replicate([d], 0i32)
        let sums: [d]i32 = with_acc((acc([d], (zeros), (0i32), add_i32)),
          \(a: acc a [d] (i32)) -> (acc a [d] (i32)) {
          return map(n, (a, xss),
            \(b: acc a [d] (i32), xs: [d]i32) -> (acc a [d] (i32)) {
              let vs: [m]i32 = map(m, (wss), \(ws: [d]i32) -> (i32) {
                return redomap(d, (ws, xs), reduce commutative(add_i32, (0i32)),
                  mul_i32)
              })
              let js: [d]i64 = iota i64 (d, 0i64, 1i64)
              return map(d, (b, js, xs),
                \(h: acc a [d] (i32), j: i64, x: i32) -> (acc a [d] (i32)) {
                  let u: i32 = neg_i32(x)
                  return update_acc(h, (j), (u))
                })
            })
        })
        let some: bool = lt_i64(0i64, n)
        let rs: [m]i32 = if some then {
          return with_acc((acc([m], (zs), (0i32), add_i32)),
            \(a_1: acc a_1 [m] (i32)) -> (acc a_1 [m] (i32)) {
            let ks: [m]i64 = iota i64 (m, 0i64, 1i64)
            return map(m, (a_1, ks),
              \(b_1: acc a_1 [m] (i32), k: i64) -> (acc a_1 [m] (i32)) {
                let ls: [d]i64 = iota i64 (d, 0i64, 1i64)
                return map(d, (b_1, ls),
                  \(c_1: acc a_1 [m] (i32), l: i64) -> (acc a_1 [m] (i32)) {
                    let ws_1: [d]i32 = wss[k]
                    let w_1: i32 = ws_1[l]
                    let sum: i32 = sums[l]
                    let r: i32 = mul_i32(w_1, sum)
                    return update_acc(c_1, (k), (r))
                  })
              })
          })
        } else {zs}
    declines: no factor stays the same
        like before, with
        given (n: i64, m: i64, d: i64, wss: [m][d]i32, xss: [n][d]i32, zs: [m]i32)
        => given (n: i64, m: i64, d: i64, w: [n][m][d]i32, xss: [n][d]i32, zs: [m]i32)
        map(n, (a, xss),
        => map(n, (a, xss, w),
        \(b: acc a [m] (i32), xs: [d]i32)
        => \(b: acc a [m] (i32), xs: [d]i32, wss: [m][d]i32)
    """
    exp = statement.exp_of(WithAcc)
    outcome = NO_SUM
    for number in range(len(exp.inputs)):
        found = inner_product(exp, number, context)
        if found is None:
            continue
        made = _apart(statement, exp, number, found, context)
        if not isinstance(made, Declined):
            return made
        outcome = made
    return outcome


def _apart(
    statement: Stm,
    exp: WithAcc,
    number: int,
    found: InnerProduct,
    context: StatementContext,
) -> tuple[Stm, ...] | Declined:
    """The sums, then the updates with their products; or why not."""
    nest, differs = found.nest, found.nest.differs()
    last, sum_level = len(nest.levels) - 2, len(nest.levels) - 1
    summed = {n for n in range(last) if n not in found.order}
    factors = [t for t in found.terms if differs_with(differs, t).isdisjoint(summed)]
    summands = [t for t in found.terms if t not in factors]
    sides = [
        any(last in differs_with(differs, t) for t in s) for s in (factors, summands)
    ]
    if not (summed and summands) or sides != [True, False]:
        return NO_FACTOR
    levels = (*sorted(found.order), sum_level)
    if any(name in differs for n in levels for name in nest.levels[n].width.names()):
        return NO_FACTOR
    inner = [s for level in nest.levels[last:] for s in level.statements]
    own = [s for s in inner if all(last not in differs[p.name] for p in s.pattern)]
    before = remove_dead_code_in(Body(tuple(own), tuple(summands))).statements
    plan = _Plan(found, levels, tuple(factors), tuple(summands), before)
    around = nest.levels[last]
    bound = {p.name for p in around.parameters}
    bound.update(p.name for s in around.statements for p in s.pattern)
    if any(array in bound for _, array in plan.rows):
        return NO_FACTOR
    needed = nest.needed(dict.fromkeys(levels, i64(0)), plan.factors).statements
    if not all_cheap((*before, *needed)):
        return EXPENSIVE
    if any(
        contains(s, Assert | Trace) for level in nest.levels for s in level.statements
    ):
        return EXPENSIVE
    build = context.builder(statement)
    sums = plan.sum_up(build, statement, exp, number)
    points = product(tuple(nest.levels[n].width for n in summed))
    some = build.op("lt", i64(0), build.size_atom(points), base="some")
    branch = build.nested()
    then = branch.finish(*branch.let_many(plan.updates(branch, sums)))
    pattern = (statement.pattern[number],)
    build.bind(pattern, If(some, then, Body((), nest.item.arrays)))
    return tuple(build.statements)


@immutable
class _Plan:
    """The levels of the indices and of the sum; the factors; what is summed up, with
    the statements that compute it in place of the last map."""

    found: InnerProduct
    levels: tuple[int, ...]
    factors: tuple[Atom, ...]
    summands: tuple[Atom, ...]
    before: tuple[Stm, ...]

    @property
    def for_sums(self) -> tuple[int, ...]:
        """The levels that there are sums for."""
        return tuple(n for n in self.levels if n != len(self.found.nest.levels) - 2)

    @property
    def rows(self) -> tuple[tuple[Param, Name], ...]:
        """The parameters of the sum that the summands need, with their arrays."""
        level = self.found.nest.levels[-1]
        needed = free_names(Body(self.before, self.summands))
        pairs = zip(level.parameters, level.arrays, strict=True)
        return tuple((p, array) for p, array in pairs if p.name in needed)

    def sum_up(self, build: Builder, statement: Stm, exp: WithAcc, number: int) -> Name:
        """Emit the `WithAcc` with the summands in place of products; their sums."""
        nest = self.found.nest
        (array,) = nest.item.arrays
        element = row_type(build.type(array), len(nest.item.shape))
        assert isinstance(element, ScalarType)
        shape = tuple(nest.levels[n].width for n in self.for_sums)
        zeros = build.replicate(shape, constant(0, element))
        item = replace(nest.item, shape=shape, arrays=(zeros,))
        item = replace(item, operator=rename(nest.item.operator, build.names))
        root = exp.function.parameters[number].name
        change = _Change(root, AccType(root, shape, (element,)), self, build)
        function = change.node(exp.function)
        sums = Param(build.names.like(array), array_of(element, shape))
        inputs = (*exp.inputs[:number], item, *exp.inputs[number + 1 :])
        pattern = list(statement.pattern)
        pattern[number] = sums
        build.bind(tuple(pattern), WithAcc(inputs, function))
        return sums.name

    def replacement(self, build: Builder, type_: AccType) -> Screma:
        """The map that updates with summands in place of the last level."""
        found, level = self.found, self.found.nest.levels[-1]
        indices = dict(zip(found.order, found.update.indices, strict=True))
        (old,) = [
            a for a in found.last_map.arrays if isinstance(build.type(a), AccType)
        ]
        points = build.iota(level.width)
        acc, number = build.parameters((type_, I64))
        inner = build.nested()
        inner.scope.update((p.name, p.type) for p, _ in self.rows)
        inner.extend(self.before)
        value = _product(inner, self.summands)
        for _ in range(found.negations):
            value = inner.op("neg", value)
        at = [indices[n] for n in self.for_sums[:-1]]
        exp = UpdateAcc(acc.name, (*at, number.name), (value,))
        body = inner.finish(inner.let(exp, acc.name.base, type_))
        parameters = (acc, number, *[p for p, _ in self.rows])
        function = rename(Lambda(parameters, body, (type_,)), build.names)
        arrays = (old, points, *[array for _, array in self.rows])
        return map_(level.width, arrays, function)

    def updates(self, build: Builder, sums: Name) -> WithAcc:
        """The updates with products of factors and sums."""
        nest = self.found.nest

        def update(inner: Builder, acc: Name, at: dict[int, Atom], _: object) -> Name:
            factors = inner.inline(nest.needed(at, self.factors))
            value = inner.index(sums, *[at[n] for n in self.for_sums])
            result = _product(inner, (*factors, value))
            return inner.update_acc(acc, [at[n] for n in self.found.order], (result,))

        return nest.updates(build, self.levels, update)


def _product(build: Builder, factors: tuple[Atom, ...]) -> Atom:
    value, *others = factors
    for other in others:
        value = build.mul(value, other)
    return value


@immutable
class _Change:
    """Gives an accumulator another type, and other updates in place of its last map."""

    root: Name
    type: AccType
    plan: _Plan
    build: Builder

    def node(self, node: Any) -> Any:
        if isinstance(node, Body):
            return Body(tuple(self.statements(node)), node.result)
        node = map_children(node, self.node)
        if isinstance(node, Lambda):
            results = [self.type if self.is_own(t) else t for t in node.results]
            return replace(node, results=tuple(results))
        if isinstance(node, Param) and self.is_own(node.type):
            return replace(node, type=self.type)
        return node

    def statements(self, body: Body) -> Iterator[Stm]:
        for statement in body.statements:
            if statement is not self.plan.found.last:
                yield self.node(statement)
                continue
            inner = self.build.nested()
            exp = self.plan.replacement(inner, self.type)
            yield from inner.statements
            pattern = tuple(self.node(p) for p in statement.pattern)
            yield replace(statement, pattern=pattern, exp=exp)

    def is_own(self, type_: object) -> bool:
        return isinstance(type_, AccType) and type_.root == self.root
