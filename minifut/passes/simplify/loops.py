"""Loops that never run, and parameters that never change.

loop (a = x, b = y) for i < n do {a, f b}   →   loop (b = y) for i < n do {f b}
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Atom, Constant, ForLoop, Loop, Stm, WhileLoop
from minifut.ir.node import replace
from minifut.ir.traverse import size_names, substitute
from minifut.names import Name
from minifut.rewrite.context import StatementContext, with_values
from minifut.rewrite.rule import Declined, Outcome, rule

DROP_EMPTY_LOOP_REFUSED = Declined("the loop may run")


@rule(core.Loop)
def drop_empty_loop(statement: Stm, context: StatementContext) -> Outcome:
    """Remove a loop without iterations.

    before:
        given (x: i32)
        let y: i32 = loop (a: i32 = x) for i: i64 < 0i64 do {add_i32(a, 1i32)}
    after:
        let y: i32 = x
    declines: the loop may run
        given (x: i32, n: i64)
        let y: i32 = loop (a: i32 = x) for i: i64 < n do {add_i32(a, 1i32)}
    """
    exp = statement.exp
    assert isinstance(exp, Loop)
    if not isinstance(exp.form, ForLoop) or not isinstance(exp.form.bound, Constant):
        return DROP_EMPTY_LOOP_REFUSED
    if exp.form.bound.value > 0:
        return DROP_EMPTY_LOOP_REFUSED
    return with_values(statement, (), exp.initial)


DROP_INVARIANT_PARAMETERS_REFUSED = Declined("all parameters change")


@rule(core.Loop)
def drop_invariant_parameters(statement: Stm, context: StatementContext) -> Outcome:
    """Remove loop parameters that keep their initial value.

    before:
        given (x: i32, y: i32)
        let (a: i32, b: i32) = loop (p: i32 = x, q: i32 = y) for i: i64 < 3i64 do {
          let r: i32 = add_i32(q, p)
          return p, r
        }
    after:
        let b: i32 = loop (q: i32 = y) for i: i64 < 3i64 do {add_i32(q, x)}
        let a: i32 = x
    declines: all parameters change
        given (y: i32)
        let b: i32 = loop (q: i32 = y) for i: i64 < 3i64 do {add_i32(q, 1i32)}
    """
    exp = statement.exp
    assert isinstance(exp, Loop)
    pattern = statement.pattern
    same: dict[Name, Atom] = {}
    rows = list(zip(exp.parameters, exp.initial, exp.body.result, strict=True))
    for parameter, initial, following in rows:
        if following in (parameter.name, initial):
            same[parameter.name] = initial
    if isinstance(exp.form, WhileLoop):
        same.pop(exp.form.condition, None)
    sized = {n for p in exp.parameters for n in size_names(p.type)}
    if any(not _fits(same[name]) and name in sized for name in same):
        return DROP_INVARIANT_PARAMETERS_REFUSED
    if not same:
        return DROP_INVARIANT_PARAMETERS_REFUSED
    kept = [n for n, (p, _, _) in enumerate(rows) if p.name not in same]
    known = {
        bound.name: initial
        for bound, (p, initial, _) in zip(pattern, rows, strict=True)
        if p.name in same
    }
    body = substitute(exp.body, same)
    loop = Loop(
        substitute(tuple(exp.parameters[n] for n in kept), same),
        tuple(exp.initial[n] for n in kept),
        exp.form,
        replace(body, result=tuple(body.result[n] for n in kept)),
    )
    atoms = [
        bound.name if p.name not in same else initial
        for bound, (p, initial, _) in zip(pattern, rows, strict=True)
    ]
    left = Stm(
        substitute(tuple(pattern[n] for n in kept), known),
        loop,
        statement.attributes,
        statement.location,
    )
    return with_values(statement, (left,), tuple(atoms))


def _fits(atom: Atom) -> bool:
    return isinstance(atom, Name) or isinstance(atom.value, int)
