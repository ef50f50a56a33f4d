r"""The passes `unswitch`: loops get a copy for the execution path of the default
parameters.

    loop (a = x) for i < n do { .. if groups then {segmap group ..} else {b} .. }
  →
    let usual = not groups
    if usual then loop (a = x) for i < n do { .. b .. }
    else loop (a = x) for i < n do { .. segmap group .. }

Versions that are never selected by default still have a cost: the results of all
versions must have the same layout, for which arrays are transposed in each iteration,
and views cannot be fused across the branch. In the copy without the branch, layouts are
those of a program without versions.

Conditions: the branch is decided by a threshold that by default is reached always or
never, is loop-invariant, and has results of several dimensions (scalars and rows have
one layout only). The remaining branches, by sizes, stay in both copies; a single
condition is known in both.

Bound: only outermost such loops are copied, once, so that code of the host at most
doubles. The pass runs for each schedule, since each has its own defaults. Source: loop
unswitching (Allen and Cocke, "A catalogue of optimizing transformations").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from dataclasses import replace as replace_field
from functools import partial

from minifut.ir.builder import FALSE, TRUE, Builder
from minifut.ir.core import Atom, Body, If, Loop, Program, ScalarOp, Stm
from minifut.ir.host_bodies import host_bodies
from minifut.ir.node import mutable, replace
from minifut.ir.scalars import operator
from minifut.ir.scope import add_parameters, fresh_copy
from minifut.ir.traverse import bound_names, free_names, rename_to, substitute
from minifut.ir.types import BOOL, shape_of
from minifut.names import Name, NameSource
from minifut.passes.layout.by_default import DECIDING, value_by_default
from minifut.passes.simplify.driver import simplify_body
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.strategy import outermost, rewrite
from minifut.rewrite.trace import Trace


def unswitch(
    kind: str, program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program with outermost loops of the host unswitched on what the defaults of a
    kind of device decide."""

    def unswitch_for_kind(statement: Stm, context: StatementContext) -> Outcome:
        if context.levels:
            return None
        return unswitched(statement, context, kind)

    rule_for_kind = replace_field(unswitch_loop, function=unswitch_for_kind)
    return rewrite(program, outermost(rule_for_kind), names, trace)


unswitch_for_cpu = partial(unswitch, "cpu")
unswitch_for_gpu = partial(unswitch, "gpu")


@rule(Loop, paper="A catalogue of optimizing transformations")
def unswitch_loop(statement: Stm, context: StatementContext) -> Outcome:
    """Make a copy of a loop in which branches are decided by the defaults of a CPU.

    before:
        given (n: i64, m: i64, x: [n][m]i64)
        let y: [n][m]i64 = loop (a: [n][m]i64 = x) for k: i64 < 3i64 do {
          let asked: bool = at_least(n, "f.map.intra" "threshold"
            ("cpu" = 4611686018427387904, "gpu" = 256) bounds 0 4611686018427387904)
          return if asked then {
            let c: [n][m]i64 = segmap group (i < n) -> ([m]i64) {returns a[i]}
            return c
          } else {
            let d: [m][n]i64 = segmap grid (j < m, l < n) -> (i64) {returns a[l, j]}
            let f: [n][m]i64 = rearrange((1, 0), d)
            return f
          }
        }
    after:
        let asked: bool = at_least(n, "f.map.intra" "threshold"
          ("cpu" = 4611686018427387904, "gpu" = 256) bounds 0 4611686018427387904)
        let usual: bool = not_bool(asked)
        let y: [n][m]i64 = if usual then {
          return loop (a: [n][m]i64 = x) for k: i64 < 3i64 do {
            let d: [m][n]i64 = segmap grid (j < m, l < n) -> (i64) {returns a[l, j]}
            return rearrange((1, 0), d)
          }
        } else {
          return loop (b: [n][m]i64 = x) for q: i64 < 3i64 do {
            return segmap group (i < n) -> ([m]i64) {returns b[i]}
          }
        }
    declines: no default parameters decide
        like before, with
        "cpu" = 4611686018427387904 => "cpu" = 8
    """
    return unswitched(statement, context, "cpu")


def unswitched(
    statement: Stm, context: StatementContext, kind: str
) -> tuple[Stm, ...] | Declined:
    """The loop's two copies, with the test of whether all is as by default."""
    loop = statement.exp_of(Loop)
    decisions = _Decisions(kind, set(bound_names(loop)))
    decisions.visit(loop.body)
    found = decisions.found
    if not found:
        return Declined("no default parameters decide on layouts in the loop")
    build = Builder(context.names, context.scope, statement.location)
    fresh = {name: context.names.like(name) for name in decisions.needed}
    for needed in decisions.needed.values():
        build.append(rename_to(needed, fresh))
    usual: Atom = TRUE
    for condition, value in found.items():
        term = fresh.get(condition, condition)
        if not value:
            term = build.let(ScalarOp(operator("not", BOOL), (term,)), "usual")
        if usual != TRUE:
            term = build.let(ScalarOp(operator("and", BOOL), (usual, term)), "usual")
        usual = term
    alone = len(found) == 1
    otherwise = {c: not value for c, value in found.items() if alone}
    bodies = (_where(values, statement, context) for values in (found, otherwise))
    build.append(replace(statement, exp=If(usual, *bodies)))
    return tuple(build.statements)


def _where(
    values: Mapping[Name, bool], statement: Stm, context: StatementContext
) -> Body:
    """The statement where these conditions are known."""
    if not values:
        own = {p.name: context.names.like(p.name) for p in statement.pattern}
        pattern = rename_to(statement.pattern, own)
        add_parameters(context.scope, pattern)
        copy = replace(statement, pattern=pattern)
        return Body((copy,), tuple(own.values()))
    known = {c: TRUE if value else FALSE for c, value in values.items()}
    copy = fresh_copy(substitute(statement, known), context.names, context.scope)
    whole = Body((copy,), tuple(p.name for p in copy.pattern))
    return simplify_body(whole, context.names, context.scope)


@mutable
class _Decisions:
    """What the defaults of a kind of device decide in a loop that binds the names
    `inside`: conditions with their values, and the statements of the loop that are
    `needed` for computing those ahead of it, in order."""

    kind: str
    inside: set[Name]
    definitions: dict[Name, Stm] = field(default_factory=dict)
    found: dict[Name, bool] = field(default_factory=dict)
    needed: dict[Name, Stm] = field(default_factory=dict)

    def visit(self, body: Body) -> None:
        """Find conditions, where the way by default leads past them."""
        for statement in body.statements:
            exp = statement.exp
            if isinstance(exp, DECIDING):
                self.definitions[statement.pattern[0].name] = statement
            elif not isinstance(exp, If) or not self.decide(statement, exp):
                for inner in host_bodies(exp):
                    self.visit(inner)

    def decide(self, statement: Stm, exp: If) -> bool:
        """Whether the defaults decide a branch on layouts."""
        condition = exp.condition
        value = value_by_default(condition, self.definitions, self.kind)
        if value is None or not isinstance(condition, Name):
            return False
        if not any(len(shape_of(p.type)) > 1 for p in statement.pattern):
            return False
        needed: dict[Name, Stm] = {}
        if not self.collect(condition, needed):
            return False
        self.found[condition] = value
        self.needed |= needed
        self.visit(exp.then if value else exp.otherwise)
        return True

    def collect(self, name: Name, needed: dict[Name, Stm]) -> bool:
        """Note what a name needs from inside the loop, if that is the same each time
        round."""
        if name not in self.inside or name in needed:
            return True
        statement = self.definitions.get(name)
        if statement is None:
            return False
        if not all(self.collect(each, needed) for each in free_names(statement)):
            return False
        needed[name] = statement
        return True
