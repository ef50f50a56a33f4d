r"""A loop that carries accumulators only: its rounds may run in any order
(`map_of_update_loop`).

    loop (b = a) for i < n do .. update_acc(b, ..)
    →  map(n, (a, iota n), \b i -> .. update_acc(b, ..))

Updates with an associative and commutative operator commute, so that a loop over
nothing else is a map. Of values that overwrite each other the last one of a loop wins.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.accumulators import WithAcc
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Constant, ForLoop, Lambda, Loop, Param, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import ZERO, Size, maximum
from minifut.ir.soacs import map_
from minifut.ir.traverse import atom_size, map_children
from minifut.ir.types import I64, AccType, shape_of
from minifut.names import Name
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(WithAcc)
def map_of_update_loop(statement: Stm, context: StatementContext) -> Outcome:
    r"""Make a map of a loop that does nothing but updates.

    before:
        given (n: i64, k: i64, hs: [k]i32, is: [n]i64)
        let ys: [k]i32 = with_acc((acc([k], (hs), (0i32), add_i32)),
          \(a: acc a [k] (i32)) -> (acc a [k] (i32)) {
          return loop (b: acc a [k] (i32) = a) for r: i64 < n do {
            let i: i64 = is[r]
            return update_acc(b, (i), (1i32))
          }
        })
    after:
        let ys: [k]i32 = with_acc((acc([k], (hs), (0i32), add_i32)),
          \(a: acc a [k] (i32)) -> (acc a [k] (i32)) {
          let rounds: [n]i64 = iota i64 (n, 0i64, 1i64)
          return map(n, (a, rounds),
            \(b: acc a [k] (i32), r: i64) -> (acc a [k] (i32)) {
              let i: i64 = is[r]
              return update_acc(b, (i), (1i32))
            })
        })
    declines: no loop carries just accumulators
        like before, with
        let ys: [k]i32 = with_acc((acc([k], (hs), (0i32), add_i32)),
        => let ys: [k]i32 = with_acc((acc([k], (hs))),
    """
    exp = statement.exp_of(WithAcc)
    roots = {
        parameter.name
        for parameter, item in zip(exp.function.parameters, exp.inputs, strict=True)
        if item.operator is not None
    }
    function = _Mapping(context, roots).node(exp.function)
    if function is exp.function:
        return Declined("no loop carries just accumulators with operators")
    return (replace(statement, exp=replace(exp, function=function)),)


class _Mapping:
    """`roots`: the accumulators whose updates commute."""

    def __init__(self, context: StatementContext, roots: set[Name]) -> None:
        self.context = context
        self.roots = roots

    def node(self, node: Any) -> Any:
        node = map_children(node, self.node)
        if not isinstance(node, Body):
            return node
        loops = [self.is_rewritten(s.exp) for s in node.statements]
        if not any(loops):
            return node
        build = Builder(self.context.names, self.context.scope)
        for statement, wanted in zip(node.statements, loops, strict=True):
            build.location = statement.location
            if wanted:
                self.map(build, statement)
            else:
                build.append(statement)
        return replace(node, statements=tuple(build.statements))

    def is_rewritten(self, exp: object) -> bool:
        if not isinstance(exp, Loop) or not isinstance(exp.form, ForLoop):
            return False
        types = [parameter.type for parameter in exp.parameters]
        return exp.form.type == I64 and all(
            isinstance(type_, AccType) and type_.root in self.roots for type_ in types
        )

    def map(self, build: Builder, statement: Stm) -> None:
        loop = statement.exp
        assert isinstance(loop, Loop) and isinstance(loop.form, ForLoop)
        width = self.rounds(loop.form.bound)
        rounds = build.iota(width)
        index = Param(loop.form.index, I64)
        types = tuple(parameter.type for parameter in loop.parameters)
        function = Lambda((*loop.parameters, index), loop.body, types)
        starts = tuple(atom for atom in loop.initial if isinstance(atom, Name))
        exp = map_(width, (*starts, rounds), function)
        build.append(replace(statement, exp=exp))

    def rounds(self, bound: Atom) -> Size:
        """A loop runs not at all below zero; a size of an array is not below it."""
        size = atom_size(bound)
        if isinstance(bound, Constant):
            return maximum(ZERO, size)
        known = any(size in shape_of(t) for t in self.context.scope.values())
        return size if known else maximum(ZERO, size)
