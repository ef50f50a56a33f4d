"""Branches whose way is known or does not matter, and checks that hold.

if true then {a} else {b}   →  a          if c then {x} else {x}  →  x
if c then {true} else {false}  →  c       assert(true, ..)        →  nothing
"""

from __future__ import annotations

from minifut.ir.core import Assert, Atom, Body, Constant, Exp, If, Match
from minifut.passes.simplify.site import Instead, Pattern, Site


def take_known_branch(site: Site, pattern: Pattern, exp: If) -> Exp | Instead | None:
    """A branch on a constant."""
    if not isinstance(exp.condition, Constant):
        return None
    body = exp.then if exp.condition.value else exp.otherwise
    return Instead(body.statements, body.result)


def merge_equal_branches(site: Site, pattern: Pattern, exp: If) -> Instead | None:
    """Branches that compute nothing and give the same, or just the condition."""
    if exp.then.statements or exp.otherwise.statements:
        return None
    atoms: list[Atom] = []
    for then, otherwise in zip(exp.then.result, exp.otherwise.result, strict=True):
        if then == otherwise:
            atoms.append(then)
        elif _is_bool(then, True) and _is_bool(otherwise, False):
            atoms.append(exp.condition)
        else:
            return None
    return Instead((), tuple(atoms))


def _is_bool(atom: Atom, truth: bool) -> bool:
    return isinstance(atom, Constant) and atom.value is truth


def take_known_case(site: Site, pattern: Pattern, exp: Match) -> Instead | None:
    """A match on constants."""
    values = [a for a in exp.scrutinees if isinstance(a, Constant)]
    if len(values) != len(exp.scrutinees):
        return None
    body: Body = exp.default
    for case in reversed(exp.cases):
        pairs = zip(case.values, values, strict=True)
        if all(wanted is None or wanted == value for wanted, value in pairs):
            body = case.body
    return Instead(body.statements, body.result)


def drop_true_check(site: Site, pattern: Pattern, exp: Assert) -> Instead | None:
    """A check of the constant true."""
    return Instead((), ()) if _is_bool(exp.condition, True) else None
