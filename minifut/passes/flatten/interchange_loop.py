r"""A loop or branch inside a map nest: the nest moves into it.

    nest (i < n) { let ys = yss[i]  loop (ws = ys) for k < q do f k ws }
    →  loop (wss = yss) for k < q do nest (i < n) { let ws = wss[i]  f k ws }
    nest (i < n) { if c then e1 else e2 }        c the same for all i
    →  if c then nest (i < n) { e1 } else nest (i < n) { e2 }

Loop parameters that start the same at all points are replicated, except scalars that
also stay the same: those the host carries. Conditions: all points run the loop equally
often (the bound, or the condition of a `while`, is the same for all), or take the same
branch; shapes of its parameters or results do not vary, and a body holds parallelism
that becomes kernels (else it is better off inside a thread).
"""

from __future__ import annotations

from minifut.ir import host_bodies, traverse, types
from minifut.ir.core import Body, If, Index, Loop, Match, Param, Stm
from minifut.names import Name
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.distribute import distribute_body
from minifut.passes.flatten.expansion import expand
from minifut.passes.flatten.exploitable import is_exploitable, same_everywhere
from minifut.passes.flatten.judgement import FUTHARK, SLIDES, Answer
from minifut.rewrite.rule import EMITTED, Declined, rule


@rule(Loop, label="map-loop interchange", paper=SLIDES)
def interchange_map_with_loop(judgement: Judgement, context: NestContext) -> Answer:
    r"""Interchange a map with a loop: the host runs the loop, its body is in the nest.

    before:
        given (n: i64, m: i64, q: i64, xss: [n][m]i64)
        let rs: [n][m]i64 = segmap grid (i < n) -> ([m]i64) {
          let xs: [m]i64 = xss[i]
          let r: [m]i64 = loop (as: [m]i64 = xs) for k: i64 < q do {
            return map(m, (as), \(a: i64) -> (i64) {add_i64(a, k)})
          }
          return returns r
        }
    after:
        let start: [n][m]i64 = xss
        let rs: [n][m]i64 = loop (ass: [n][m]i64 = start) for k: i64 < q do {
          return segmap grid (i < n) -> ([m]i64) {
            let xs: [m]i64 = xss[i]
            let as: [m]i64 = ass[i]
            return returns map(m, (as), \(a: i64) -> (i64) {add_i64(a, k)})
          }
        }
    declines: differs between points
        like before, with
        q: i64 => qs: [n]i64
        let r: [m]i64 = loop (as: [m]i64 = xs) for k: i64 < q do {
        => let q: i64 = qs[i]
        => let r: [m]i64 = loop (as: [m]i64 = xs) for k: i64 < q do {
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Loop)
    if not nest.depth:
        return None
    if not is_exploitable(nest, statement):
        return NOTHING_GAINED
    same = same_everywhere(exp, nest.bound)
    inside = context.inner()
    parameters, initial, rows, results = [], [], [], []
    outer: list[Param] = []
    accumulators: dict[Name, Name] = {}
    for parameter, atom, bound in zip(
        exp.parameters, exp.initial, pattern, strict=True
    ):
        if parameter.name in same:
            parameters.append(parameter)
            initial.append(atom)
            outer.append(Param(context.build.names.like(bound.name), parameter.type))
            continue
        start = context.expanded(nest, parameter.name, parameter.type)
        expand(context, nest, atom, start)
        initial.append(start.name)
        carried = context.expanded(nest, parameter.name, parameter.type)
        parameters.append(carried)
        if isinstance(parameter.type, types.AccType):
            accumulators[parameter.name] = carried.name
        else:
            row = Param(parameter.name, parameter.type)
            rows.append(Stm((row,), Index(carried.name, nest.indices)))
        results.append(context.expanded(nest, parameter.name, parameter.type))
        outer.append(bound)
    atoms = iter(results)
    given = [
        atom if parameter.name in same else next(atoms).name
        for parameter, atom in zip(exp.parameters, exp.body.result, strict=True)
    ]
    varying = tuple(
        atom
        for parameter, atom in zip(exp.parameters, exp.body.result, strict=True)
        if parameter.name not in same
    )
    distribute_body(
        inside,
        nest.then(rows),
        traverse.substitute(Body(exp.body.statements, varying), accumulators),
        tuple(results),
    )
    body = inside.build.finish(*given)
    context.emit(tuple(outer), Loop(tuple(parameters), tuple(initial), exp.form, body))
    for bound, made in zip(pattern, outer, strict=True):
        if bound is not made:
            expand(context, nest, made.name, bound)
    return EMITTED


NOTHING_GAINED = Declined("it differs between points, or holds nothing parallel")


@rule(paper=FUTHARK)
def interchange_map_with_branch(judgement: Judgement, context: NestContext) -> Answer:
    r"""Interchange a map with an invariant branch: decide on the host, then run the
    nest.

    before:
        given (n: i64, m: i64, c: bool, xss: [n][m]i32)
        let rs: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
          let xs: [m]i32 = xss[i]
          let r: [m]i32 = if c then {
            return map(m, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
          } else {xs}
          return returns r
        }
    after:
        let rs: [n][m]i32 = if c then {
          return segmap grid (i < n) -> ([m]i32) {
            let xs: [m]i32 = xss[i]
            return returns map(m, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
          }
        } else {
          let zss: [n][m]i32 = xss
          return zss
        }
    declines: differs between points
        like before, with
        c: bool => cs: [n]bool
        let r: [m]i32 = if c then {
        => let c: bool = cs[i]
        => let r: [m]i32 = if c then {
    """
    nest, statement, pattern = judgement
    exp = statement.exp
    if not isinstance(exp, If | Match) or not nest.depth:
        return None
    if not is_exploitable(nest, statement):
        return NOTHING_GAINED

    def branch(body: Body) -> Body:
        inside = context.inner()
        results = tuple(
            context.expanded(nest, parameter.name, parameter.type)
            for parameter in statement.pattern
        )
        distribute_body(inside, nest, body, results)
        return inside.build.finish(*(result.name for result in results))

    context.emit(pattern, host_bodies.map_bodies(exp, branch))
    return EMITTED
