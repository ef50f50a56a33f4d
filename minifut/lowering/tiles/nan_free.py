"""NaN-free minimum and maximum reductions in register tiles.

    loop (s = mine) ..  let t = min_f32(s, x)           t = x < s ? x : s

The program's minimum returns the operand that is not a NaN, which takes several
instructions; but an accumulator that starts from a number stays one, since no
comparison with a NaN holds. So one comparison suffices, which is one instruction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from minifut.ir import core
from minifut.ir.core import Atom, Constant, Stm
from minifut.ir.kernels import REGISTER, Returns, SegMap
from minifut.names import Name


def nan_free_accumulators(exp: SegMap, starts: Mapping[Name, Constant]) -> set[Name]:
    """The loop parameters of a thread that accumulate a minimum or maximum and never
    are a NaN: they start from the thread's element of an array in `starts`, which
    starts from a number, and end as its new element."""
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
                and _is_number(starts.get(maker.exp.array))
                and statement.pattern[position].name in returned
                and _is_min_or_max(loop, position)
            ):
                found.add(parameter.name)
    return found


def _is_number(value: Constant | None) -> bool:
    return value is not None and not math.isnan(float(value.value))


def _is_min_or_max(loop: core.Loop, position: int) -> bool:
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
