r"""What is computed for updates apart from the updates (`distribute_updates`).

    with_acc(A, \a -> map(n, (a, xs), \b x ->
      let r = redomap .. x in map(m, (b, ys), \c y -> update_acc(c, .., (r * y)))))
    →  let rs = map(n, (xs), \x -> redomap .. x)
       with_acc(A, \a -> map(n, (a, rs), \b r -> map(m, (b, ys), ..)))

So the computation is a map with a kernel of its own, and the updates are a nest of
cheap statements, which can be summed up over `n` (`reduce_updates`) and tiled. It pays
where an update does not differ with some level. What is cheap is not stored, and maps
of few scalar operations move into the updates. Memory is bounded as that of tapes is:
what is stored has at most as many dimensions as what is read or made anyhow. After the
distribution of maps over their bodies in flattening (Henriksen et al., PLDI 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.ir import scope, search, types
from minifut.ir.accumulators import UpdateAcc, WithAcc, updates_accumulators
from minifut.ir.core import Assert, Body, Copy, Lambda, Param, Stm, Trace
from minifut.ir.node import replace
from minifut.ir.soacs import Screma, map_
from minifut.ir.traverse import free_names, map_children, rename, walk
from minifut.names import Name
from minifut.passes.flatten.cheap import is_cheap
from minifut.passes.fusion.pair import is_free
from minifut.passes.simplify.dead_code import remove_dead_code_in
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

NO_WORK = Declined("the maps around its updates compute nothing that is worth storing")
LARGE = Declined("what would be stored has more dimensions than all it reads and makes")

Levels = frozenset[int]


@rule(WithAcc, paper="PLDI 2017")
def distribute_updates(statement: Stm, context: StatementContext) -> Outcome:
    r"""Compute before the updates what is more than cheap scalar code.

    before:
        like before of reduce_updates, with
        given (n: i64, m: i64, xs: [n]i32, ys: [m]i32, zs: [m]i32)
        => given (n: i64, m: i64, k: i64, xss: [n][k]i32, ys: [m]i32, zs: [m]i32)
        let f: acc a [m] (i32) = map(n, (a, xs),
        \(b: acc a [m] (i32), x: i32) -> (acc a [m] (i32)) {
        => let f: acc a [m] (i32) = map(n, (a, xss),
        => \(b: acc a [m] (i32), xs: [k]i32) -> (acc a [m] (i32)) {
        => let x: i32 = redomap(k, (xs), reduce commutative(max_i32, (0i32)),
        => \(z: i32) -> (i32) {z})
    after:
        like before of reduce_updates, with
        given (n: i64, m: i64, xs: [n]i32, ys: [m]i32, zs: [m]i32) =>
        let rs: => let xs: [n]i32 = map(n, (xss), \(row: [k]i32) -> (i32) {
        => let most: i32 = redomap(k, (row), reduce commutative(max_i32, (0i32)),
        => \(z: i32) -> (i32) {z})
        => return most
        => })
        => let rs:
        map(n, (a, xs) => map(n, (a, xss, xs)
        x: i32) => xs_1: [k]i32, x: i32)
    before:
        given (n: i64, m: i64, xss: [n][m]i32, ys: [n]i32)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let rs: [n]i32 = with_acc((acc([n], (ys), (0i32), add_i32)),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
          return map(n, (a, is, xss),
            \(b: acc a [n] (i32), i: i64, xs: [m]i32) -> (acc a [n] (i32)) {
              let (c: acc a [n] (i32), us: [m]i32) = map(m, (b, xs),
                \(d: acc a [n] (i32), x: i32) -> (acc a [n] (i32), i32) {
                  let e: acc a [n] (i32) = update_acc(d, (0i64), (x))
                  let u: i32 = add_i32(x, 1i32)
                  return e, u
                })
              let t: i32 = redomap(m, (us), reduce commutative(max_i32, (0i32)),
                \(z: i32) -> (i32) {z})
              let v: i32 = redomap(m, (xs), reduce commutative(max_i32, (0i32)),
                \(z_1: i32) -> (i32) {z_1})
              let w: i32 = mul_i32(t, v)
              return update_acc(c, (i), (w))
            })
        })
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let vs: [n]i32 = map(n, (is, xss), \(i: i64, xs: [m]i32) -> (i32) {
          return redomap(m, (xs), reduce commutative(max_i32, (0i32)),
            \(z: i32) -> (i32) {z})
        })
        let rs: [n]i32 = with_acc((acc([n], (ys), (0i32), add_i32)),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
          return map(n, (a, is, xss, vs),
            \(b: acc a [n] (i32), i_1: i64, xs_1: [m]i32, v_1: i32) ->
              (acc a [n] (i32)) {
              let (c: acc a [n] (i32), us: [m]i32) = map(m, (b, xs_1),
                \(d: acc a [n] (i32), x: i32) -> (acc a [n] (i32), i32) {
                  let u: i32 = add_i32(x, 1i32)
                  let e: acc a [n] (i32) = update_acc(d, (0i64), (x))
                  return e, u
                })
              let t: i32 = redomap(m, (us), reduce commutative(max_i32, (0i32)),
                \(z_1: i32) -> (i32) {z_1})
              let w: i32 = mul_i32(t, v_1)
              return update_acc(c, (i_1), (w))
            })
        })
    declines: every update differs with all levels around it
        like before of separate_updates, with
        let c: acc a [k] (i32) = update_acc(b, (i), (1i32))
        => return update_acc(b, (i), (1i32))
        return update_acc(c, (0i64), (2i32)) =>
    declines: what would be stored has more dimensions than all it reads and makes
        like before of reduce_updates, with
        let e: acc a [m] (i32) = map(m, (b, is, ys),
        => let vs: [m]i32 = map(m, (ys), \(y: i32) -> (i32) {
        => let v: i32 = loop (w: i32 = y) for k: i64 < 3i64 do {mul_i32(w, x)}
        => return v
        => })
        => let e: acc a [m] (i32) = map(m, (b, is, vs),
        i: i64, y: i32 => i: i64, u: i32
        let v: i32 = mul_i32(x, y) return update_acc(c, (i), (v))
        => return update_acc(c, (i), (u))
    """
    exp = statement.exp_of(WithAcc)
    if search.contains(exp.function, Assert | Trace):
        return Declined("it has checks or output")
    if not _sums_up(exp.function.body, {}, 0):
        return Declined("every update differs with all levels around it")
    distribution = _Distribution(context)
    before, body = distribution.body(exp.function.body)
    if not distribution.stored:
        return NO_WORK
    bound = {p.name for node in walk(exp.function) for p in _bound(node)}
    shapes = {n for p in distribution.stored for n in free_names(p.type)}
    if bound & shapes:
        return Declined("what would be stored has no regular shape")
    most = scope.greatest_rank(statement, context.scope)
    if any(len(types.shape_of(p.type)) > most for s in before for p in s.pattern):
        return LARGE
    made = replace(exp, function=replace(exp.function, body=body))
    return (*before, replace(statement, exp=made))


def _bound(node: object) -> Sequence[Param]:
    match node:
        case Stm():
            return node.pattern
        case Lambda():
            return node.parameters
    return ()


def _sums_up(body: Body, differs: dict[Name, Levels], depth: int) -> bool:
    """Whether an update inside does not differ with all of the maps around it; for each
    name `differs` has the maps whose points it differs with."""
    nothing: Levels = frozenset()
    for statement in body.statements:
        exp = statement.exp
        names = free_names(exp)
        own = nothing.union(*[differs.get(name, nothing) for name in names])
        if isinstance(exp, UpdateAcc):
            indices = [i for i in exp.indices if isinstance(i, Name)]
            found = [differs.get(i, nothing) for i in indices]
            if len(nothing.union(*found)) < depth:
                return True
        elif isinstance(exp, Screma) and updates_accumulators(exp):
            inner = dict(differs)
            for p, array in zip(exp.function.parameters, exp.arrays, strict=True):
                inner[p.name] = differs.get(array, nothing) | {depth}
            if _sums_up(exp.function.body, inner, depth + 1):
                return True
        differs.update((p.name, own) for p in statement.pattern)
    return False


def _is_acc(parameter: Param) -> bool:
    return isinstance(parameter.type, types.AccType)


class _Distribution:
    """Takes maps over accumulators apart; `stored` is what is computed before them."""

    def __init__(self, context: StatementContext) -> None:
        self.context = context
        self.stored: list[Param] = []

    def body(self, body: Body) -> tuple[list[Stm], Body]:
        """The statements before the updates, and the updates with what needs them."""
        before: list[Stm] = []
        updates: list[Stm] = []
        made_late: set[Name] = set()
        for statement in body.statements:
            exp = statement.exp
            late = not made_late.isdisjoint(free_names(exp))
            if isinstance(exp, Screma) and updates_accumulators(exp) and not late:
                made, statement = self.map(statement, exp)
                before += made
            if late or any(map(_is_acc, statement.pattern)):
                updates.append(statement)
                made_late.update(p.name for p in statement.pattern if not _is_acc(p))
            else:
                before.append(statement)
        return before, Body(tuple(updates), body.result)

    def map(self, statement: Stm, exp: Screma) -> tuple[list[Stm], Stm]:
        """The map that computes what is stored, if anything is; that of the updates."""
        function = exp.function
        before, updates = self.body(function.body)
        needed = set(free_names(updates))
        kept: list[Stm] = []
        stored: list[Param] = []
        for inner in reversed(before):
            own = [p for p in inner.pattern if p.name in needed]
            if not own:
                continue
            if _is_free_map(inner):
                updates, left = _moved_into(inner, updates, self.context)
                needed = set(free_names(updates)).union(*map(free_names, kept))
                if not left:
                    continue
            if not is_cheap(inner):
                stored += own
                continue
            kept.insert(0, inner)
            needed |= free_names(inner)
        body = Body((*kept, *updates.statements), updates.result)
        if not stored:
            made = replace(exp, function=replace(function, body=body))
            return [], replace(statement, exp=made)
        self.stored += stored
        pairs = list(zip(function.parameters, exp.arrays, strict=True))
        data = [(p, array) for p, array in pairs if not _is_acc(p)]
        result = tuple(p.name for p in stored)
        before_updates = Lambda(
            tuple(p for p, _ in data),
            remove_dead_code_in(Body(tuple(before), result)),
            tuple(p.type for p in stored),
        )
        compute = map_(
            exp.width,
            tuple(array for _, array in data),
            rename(before_updates, self.context.names),
        )
        pattern = tuple(
            Param(self.context.names.like(p.name), types.array_of(p.type, (exp.width,)))
            for p in stored
        )
        arrays = (*exp.arrays, *[p.name for p in pattern])
        both = Lambda((*function.parameters, *stored), body, function.results)
        update = map_(exp.width, arrays, both)
        computed = Stm(pattern, compute, (), statement.location)
        return [computed], replace(statement, exp=update)


def _is_free_map(statement: Stm) -> bool:
    exp = statement.exp
    return isinstance(exp, Screma) and exp.is_map and is_free(exp.function)


def _moved_into(made: Stm, body: Body, context: StatementContext) -> tuple[Body, bool]:
    """The updates with the results of a map computed where maps over accumulators take
    their elements, and whether something else still needs them."""
    exp = made.exp_of(Screma)
    numbers = {p.name: n for n, p in enumerate(made.pattern)}

    def moved(node: Any) -> Any:
        node = map_children(node, moved)
        if not isinstance(node, Screma) or not updates_accumulators(node):
            return node
        arrays, parameters = [], []
        before: list[Stm] = []
        pairs = zip(node.function.parameters, node.arrays, strict=True)
        for parameter, array in pairs:
            if array not in numbers:
                arrays.append(array)
                parameters.append(parameter)
                continue
            own = rename(exp.function, context.names)
            arrays += exp.arrays
            parameters += own.parameters
            value = own.body.result[numbers[array]]
            before += (*own.body.statements, Stm((parameter,), Copy(value)))
        if not before:
            return node
        inner = node.function.body
        whole = Body((*before, *inner.statements), inner.result)
        function = Lambda(tuple(parameters), whole, node.function.results)
        return replace(node, arrays=tuple(arrays), function=function)

    after: Body = moved(body)
    return after, bool(numbers.keys() & free_names(after))
