r"""Pass: elements are read where they are, not in arrays of them in other places.

    let shifted = map (\d -> map (\i -> xs[(i + d) % n]) (iota n)) [1, -1]
    map (\i -> shifted[0, i] + shifted[1, i]) (iota n)
  →
    map (\i -> xs[(i + 1) % n] + xs[(i - 1) % n]) (iota n)

Such a map is a *move*: a nest of cheap scalar code, whose innermost level loads nothing
but the element that it gives. Fusion makes one map of a move and a consumer that takes
its elements in order; here the consumer requires elements at other places, or at
several. Without the array nothing is written and read again, and index-set splitting
sees what the consumer reads.

Of a flattened view, element p is that at p / m, p % m. Blocks of points have both
without divisions (`kernel_passes.strip_mine`). So SOACs read nests of any scalar code
(`moves`), of whose flattened results fusion makes no flat map: where inputs vary along
one dimension only, or there are several results.

Conditions: nothing but reads uses the array, no reader is in more loops and SOACs
than the array has dimensions (else an index would be found again and again for the
same element), and nothing before the last of them overwrites what the move reads.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import Any

from minifut.ir.builder import Builder
from minifut.ir.core import (
    Atom,
    Body,
    Copy,
    Index,
    Iota,
    Program,
    Rearrange,
    Replicate,
    Reshape,
    Stm,
)
from minifut.ir.node import immutable, replace, same_or
from minifut.ir.scope import Scope, scope_of
from minifut.ir.search import contains, nodes_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.traverse import free_names, map_children
from minifut.ir.types import I64, ArrayType
from minifut.names import Name, NameSource
from minifut.passes.fold_by_rows import nest_fold
from minifut.passes.moves import Move, readable_moves
from minifut.passes.remove_checks.driver import remove_checks
from minifut.passes.simplify.driver import simplify
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace

NO_MOVE = Declined("the array is no move")


def read_through(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Read elements where they lie instead of arrays of the same in other places.

    What reads one may be a move itself.
    """
    changed, before = _read_moves(program, names, trace), program
    while changed is not before:
        before = simplify(changed, names)
        changed = _read_moves(before, names, trace)
    if changed is program:
        return program
    return simplify(remove_checks(changed, names, trace), names)


def _read_moves(program: Program, names: NameSource, trace: Trace | None) -> Program:
    if not contains(program, Screma | Replicate):
        return program
    scope = cache(lambda: scope_of(program))
    iotas = cache(lambda: _iotas(program))
    derivation = None if trace is None else Derivation(trace, declined=False)

    def inside(node: Any) -> Any:
        if isinstance(node, Stm) and not contains(node, Screma | Replicate):
            return node
        node = map_children(node, inside)
        return without_moves(node) if type(node) is Body else node

    def without_moves(body: Body) -> Body:
        for at, statement in enumerate(body.statements, 1):
            rest = Body(body.statements[at:], body.result)
            moves = readable_moves(statement, rest, iotas)
            if moves:
                context = MoveContext(names, scope(), moves, derivation)
                read = without_moves(_Reads(context).body(rest))
                return Body((*body.statements[:at], *read.statements), read.result)
        return body

    functions = same_or([inside(f) for f in program.functions], program.functions)
    return replace(program, functions=functions)


def _iotas(program: Program) -> set[Name]:
    """The arrays whose elements are their positions, or easily found from these."""
    return {
        statement.pattern[0].name
        for statement in nodes_of(Stm, program)
        if isinstance(statement.exp, Iota)
    }


@immutable
class MoveContext:
    """What is known as a move where a statement is."""

    names: NameSource
    scope: Scope
    moves: dict[Name, Move]
    derivation: Derivation | None = None
    emitted: tuple[Stm, ...] = ()
    flattened: dict[Name, Stm] = field(default_factory=dict)
    """the views of moves with fewer dimensions"""

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements carry the location of this one."""
        return Builder(self.names, self.scope, statement.location)


@rule(Index)
def read_element_of_move(statement: Stm, context: MoveContext) -> Outcome:
    r"""Compute an element of a move, or a row that is a result, where it is read.

    before:
        given (n: i64, xs: [n]f32, i: i64)
        let last: i64 = sub_i64(n, 1i64)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let ys: [n]f32 = map(n, (is), \(j: i64) -> (f32) {
          let k: i64 = sub_i64(last, j)
          return xs[k]
        })
        let y: f32 = ys[i]
        return y
    after:
        let last: i64 = sub_i64(n, 1i64)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let j: i64 = is[i]
        let k: i64 = sub_i64(last, j)
        let x: f32 = xs[k]
        let y: f32 = x
    before:
        given (xss: [3][4]f32)
        let is: [4]i64 = iota i64 (4, 0i64, 1i64)
        let js: [3]i64 = iota i64 (3, 0i64, 1i64)
        let yss: [4][3]f32 = map(4, (is), \(i: i64) -> ([3]f32) {
          return map(3, (js), \(j: i64) -> (f32) {xss[j, i]})
        })
        let flat: [12]f32 = reshape([12], yss)
        let y: f32 = flat[7i64]
        return y
    after:
        let is: [4]i64 = iota i64 (4, 0i64, 1i64)
        let js: [3]i64 = iota i64 (3, 0i64, 1i64)
        let column: i64 = rem_i64(7i64, 3i64)
        let row: i64 = quot_i64(7i64, 3i64)
        let i: i64 = is[row]
        let j: i64 = js[column]
        let x: f32 = xss[j, i]
        let y: f32 = x
    declines: the array is no move
        given (n: i64, xs: [n]f32, i: i64)
        let y: f32 = xs[i]
    """
    exp = statement.exp_of(Index)
    if exp.array not in context.moves:
        return NO_MOVE
    build = context.builder(statement)
    read = context.moves[exp.array].at(exp.slice).element(build)
    build.append(replace(statement, exp=Copy(read)))
    return tuple(build.statements)


@rule(SOAC_EXPRESSIONS)
def take_positions(statement: Stm, context: MoveContext) -> Outcome:
    r"""Give a SOAC the positions of elements of a move in place of the elements.

    before:
        like before of read_element_of_move, with
        [n]f32, i: i64 => [n]f32
        let y: f32 = ys[i]
        => let zs: [n]f32 = map(n, (ys), \(y: f32) -> (f32) {add_f32(y, 1f32)})
        return y => return ys, zs
    after:
        let last: i64 = sub_i64(n, 1i64)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let ys: [n]f32 = map(n, (is), \(j: i64) -> (f32) {
          let k: i64 = sub_i64(last, j)
          return xs[k]
        })
        let js: [n]i64 = iota i64 (n, 0i64, 1i64)
        let zs: [n]f32 = map(n, (js), \(i: i64) -> (f32) {
          let y: f32 = ys[i]
          return add_f32(y, 1f32)
        })
    declines: the array is no move
        given (n: i64, xs: [n]f32)
        let zs: [n]f32 = map(n, (xs), \(y: f32) -> (f32) {add_f32(y, 1f32)})
    """
    exp: Any = statement.exp
    if context.moves.keys().isdisjoint(exp.arrays):
        return NO_MOVE
    build = context.builder(statement)
    positions = build.iota(exp.width)
    (position,) = build.parameters((I64,), "i")
    arrays, parameters, reads = [positions], [position], []
    for parameter, array in zip(exp.function.parameters, exp.arrays, strict=True):
        if array in context.moves:
            reads.append(Stm((parameter,), Index(array, (position.name,))))
        else:
            arrays.append(array)
            parameters.append(parameter)
    body = replace(
        exp.function.body, statements=(*reads, *exp.function.body.statements)
    )
    function = replace(exp.function, parameters=tuple(parameters), body=body)
    made = replace(exp, arrays=tuple(arrays), function=function)
    return (*build.statements, replace(statement, exp=made))


@immutable
class _Reads:
    """Rewrites all reads of the moves that the context knows; rows and views that are
    taken of one are known from then on."""

    context: MoveContext

    def body(self, body: Body) -> Body:
        made: list[Stm] = []
        for statement in body.statements:
            made += self.statement(statement, body.result)
        return replace(body, statements=same_or(made, body.statements))

    def statement(self, statement: Stm, result: tuple[Atom, ...]) -> tuple[Stm, ...]:
        exp = statement.exp
        if self.context.moves.keys().isdisjoint(free_names(exp)):
            return (statement,)
        if isinstance(exp, Rearrange):
            move = self.context.moves[exp.array].rearranged(exp.permutation)
            self.context.moves[statement.pattern[0].name] = move
            return ()
        if isinstance(exp, Reshape):
            (bound,) = statement.pattern
            flat = self.context.moves[exp.array].flattened(len(exp.shape))
            self.context.moves[bound.name] = flat
            self.context.flattened[bound.name] = statement
            return ()
        if isinstance(exp, Index):
            (bound,) = statement.pattern
            if isinstance(bound.type, ArrayType) and bound.name not in result:
                self.context.moves[bound.name] = self.context.moves[exp.array].at(
                    exp.slice
                )
                return ()
            read: tuple[Stm, ...] = read_element_of_move(statement, self.context)
            return read
        nested = self.nested(statement)
        if nested is not None:
            return tuple(s for each in nested for s in self.statement(each, result))
        before: list[Stm] = []
        if isinstance(exp, SOAC_EXPRESSIONS):
            outcome = take_positions(statement, self.context)
            if isinstance(outcome, tuple):
                *before, statement = outcome
        inside = map_children(statement.exp, self.node)
        return (*before, replace(statement, exp=inside))

    def nested(self, statement: Stm) -> tuple[Stm, ...] | None:
        """The fold of flattened moves as one of rows, whose elements are neighbours."""
        views = self.context.flattened
        if not isinstance(statement.exp, Screma):
            return None
        taken = [views[a] for a in statement.exp.arrays if a in views]
        if not taken:
            return None
        apart = {view.exp_of(Reshape).array for view in taken}
        scope, names = self.context.scope, self.context.names
        outcome = nest_fold(statement, StatementContext(names, scope, views), apart)
        return outcome if isinstance(outcome, tuple) else None

    def node(self, node: Any) -> Any:
        return (
            self.body(node) if isinstance(node, Body) else map_children(node, self.node)
        )
