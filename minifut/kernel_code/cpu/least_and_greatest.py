"""Minima and maxima of floats in register tiles, where one operand cannot be a NaN.

    loop (s = mine) ..  let t = min_f32(s, x)           t = x < s ? x : s

The program's minimum prefers what is not a NaN, for which machines need several
instructions; but a running minimum that starts from a number stays one, since a NaN is
never less. So one comparison does, which is a single instruction.
"""

from __future__ import annotations

import math

from minifut.ir import core
from minifut.ir.core import Atom, Constant, Stm
from minifut.ir.kernels import REGISTER, Returns, SegMap
from minifut.names import Name


def running_extremes(exp: SegMap, held: dict[Name, Atom | None]) -> set[Name]:
    """The parameters of loops of a thread that are running minima or maxima: they start
    from its own element of an array in `held`, whose first value is a number, and end
    as its new element."""
    made = {p.name: s for s in exp.body.statements for p in s.pattern}
    returned = {r.value for r in exp.body.result if isinstance(r, Returns)}
    found: set[Name] = set()
    for statement in exp.body.statements:
        loop = statement.exp
        if not isinstance(loop, core.Loop):
            continue
        for position, parameter in enumerate(loop.parameters):
            start = loop.initial[position]
            maker = made.get(start) if isinstance(start, Name) else None
            if (
                maker is not None
                and isinstance(maker.exp, core.Index)
                and _is_number(held.get(maker.exp.array))
                and statement.pattern[position].name in returned
                and _is_extreme(loop, position)
            ):
                found.add(parameter.name)
    return found


def _is_number(value: Atom | None) -> bool:
    return isinstance(value, Constant) and not math.isnan(float(value.value))


def _is_extreme(loop: core.Loop, position: int) -> bool:
    """Whether the result is the minimum or maximum of the parameter and something."""
    name = loop.parameters[position].name
    for statement in loop.body.statements:
        nest = statement.exp
        if not isinstance(nest, SegMap) or nest.level != REGISTER:
            continue
        for bound, result in zip(statement.pattern, nest.body.result, strict=True):
            if bound.name == loop.body.result[position]:
                made = {p.name: s for s in nest.body.statements for p in s.pattern}
                assert isinstance(result, Returns)
                return _combines(made, result.value, name)
    return False


def _combines(made: dict[Name, Stm], value: Atom, name: Name) -> bool:
    maker = made.get(value) if isinstance(value, Name) else None
    if maker is None or not isinstance(maker.exp, core.ScalarOp):
        return False
    if maker.exp.operator.name not in ("min", "max"):
        return False
    for atom in maker.exp.operands:
        read = made.get(atom) if isinstance(atom, Name) else None
        if read and isinstance(read.exp, core.Index) and read.exp.array == name:
            return True
    return False
