"""Loops that are written out, and parameters that never change.

#[unroll] loop (a = x) for i < 2 do {f a i}   →   f (f x 0) 1
loop (a = x, b = y) for i < n do {a, f b}     →   loop (b = y) for i < n do {f b}
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Atom, Constant, ForLoop, Loop, Stm, WhileLoop
from minifut.ir.node import replace
from minifut.ir.traverse import rename, size_names, substitute
from minifut.names import Name
from minifut.rewrite.context import StatementContext, with_values
from minifut.rewrite.rule import Declined, Outcome, rule

UNROLL = "unroll"
NOT_UNROLLED = Declined("it is not marked #[unroll], or the rounds are not known")


@rule(core.Loop)
def unroll_loop(statement: Stm, context: StatementContext) -> Outcome:
    """Write out the rounds of a loop: those of one marked `#[unroll]`, or none.

    before:
        given (x: i32, y: i32)
        #[unroll] let z: i32 = loop (a: i32 = x) for i: i32 < 2i32 do {
          let b: i32 = mul_i32(a, y)
          return add_i32(b, i)
        }
    after:
        let b: i32 = mul_i32(x, y)
        let c: i32 = add_i32(b, 0i32)
        let d: i32 = mul_i32(c, y)
        let e: i32 = add_i32(d, 1i32)
        let z: i32 = e
    declines: it is not marked #[unroll], or the rounds are not known
        given (x: i32, n: i64)
        #[unroll] let y: i32 = loop (a: i32 = x) for i: i64 < n do {add_i32(a, 1i32)}
    """
    exp = statement.exp_of(Loop)
    if not isinstance(exp.form, ForLoop) or not isinstance(exp.form.bound, Constant):
        return NOT_UNROLLED
    rounds = int(exp.form.bound.value)
    if rounds > 0 and (UNROLL not in statement.attributes or _varies(exp)):
        return NOT_UNROLLED
    atoms = exp.initial
    made: list[Stm] = []
    for number in range(rounds):
        known = dict(zip((p.name for p in exp.parameters), atoms, strict=True))
        known[exp.form.index] = Constant(number, exp.form.type)
        body = rename(exp.body, context.names, known)
        made += body.statements
        atoms = body.result
    return with_values(statement, tuple(made), atoms)


def _varies(exp: Loop) -> bool:
    """Whether the sizes of parameters are parameters."""
    sizes = {n for p in exp.parameters for n in size_names(p.type)}
    return not sizes.isdisjoint(p.name for p in exp.parameters)


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
    exp = statement.exp_of(Loop)
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
