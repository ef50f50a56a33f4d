"""Operators of folds that combine each component by a scalar operator."""

from __future__ import annotations

from collections.abc import Collection

from minifut.ir.core import Lambda, ScalarOp
from minifut.ir.types import ScalarType
from minifut.names import Name


def component_operators(function: Lambda) -> list[ScalarOp] | None:
    """The scalar operator of each component, if result j is just `a_j op b_j`."""
    count = len(function.results)
    made = {s.pattern[0].name: s.exp for s in function.body.statements if s.pattern}
    names = [p.name for p in function.parameters]
    found = []
    for j, atom in enumerate(function.body.result):
        exp = made.get(atom) if isinstance(atom, Name) else None
        if not isinstance(exp, ScalarOp) or len(exp.operands) != 2:
            return None
        if set(exp.operands) != {names[j], names[count + j]}:
            return None
        found.append(exp)
    return found


def combines_by(
    function: Lambda, names: Collection[str], types: Collection[ScalarType]
) -> bool:
    """Whether each component is one of these types, and combined by such operators."""
    components = component_operators(function)
    return components is not None and all(
        exp.operator.name in names and exp.operator.result in types
        for exp in components
    )
