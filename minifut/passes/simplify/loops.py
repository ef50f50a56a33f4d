"""Loops that never run, and parameters that never change.

loop (a = x, b = y) for i < n do {a, f b}   →   loop (b = y) for i < n do {f b}
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, ForLoop, Loop, Stm
from minifut.ir.node import replace
from minifut.ir.traverse import size_names, substitute
from minifut.names import Name
from minifut.passes.simplify.site import Instead, Pattern, Site


def drop_empty_loop(site: Site, pattern: Pattern, exp: Loop) -> Instead | None:
    """A loop of no rounds."""
    if not isinstance(exp.form, ForLoop) or not isinstance(exp.form.bound, Constant):
        return None
    return Instead((), exp.initial) if exp.form.bound.value <= 0 else None


def drop_invariant_parameters(
    site: Site, pattern: Pattern, exp: Loop
) -> Instead | None:
    """Parameters that stay what they start as."""
    same: dict[Name, Atom] = {}
    rows = list(zip(exp.parameters, exp.initial, exp.body.result, strict=True))
    for parameter, initial, following in rows:
        if following in (parameter.name, initial):
            same[parameter.name] = initial
    condition = getattr(exp.form, "condition", None)
    same.pop(condition, None)  # type: ignore[arg-type]
    sized = {n for p in exp.parameters for n in size_names(p.type)}
    if any(not _fits(same[name]) and name in sized for name in same):
        return None
    if not same:
        return None
    kept = [n for n, (p, _, _) in enumerate(rows) if p.name not in same]
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
        tuple(pattern[n] for n in kept),
        loop,
        site.build.attributes,
        site.build.location,
    )
    return Instead((left,), tuple(atoms))


def _fits(atom: Atom) -> bool:
    return isinstance(atom, Name) or isinstance(atom.value, int)
