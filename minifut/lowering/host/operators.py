"""Scalar operators that the host computes itself, as Python text.

    add_i32   wrap_i32({0} + {1})          lt_f32   ({0} < {1})

The templates are the column `host` of `ir.scalar_table`. Operators without one (they
are rare between kernels) run in a kernel of one point, so that they mean the same
everywhere.
"""

from __future__ import annotations

import re
from functools import cache

from minifut.ir.scalars import Operator, row_of


@cache
def host_text(operator: Operator) -> str | None:
    """A template with {0}, {1} for the operands; None if the host leaves it to a
    kernel."""
    type_ = operator.type
    if operator.name == "convert":
        return _conversion(operator)
    row = row_of(operator)
    text = row.c if row.host == "same" else row.host
    if text is None:
        return None
    before = text.partition("(")[0]
    if type_.is_float and before == "wrap":
        cast = re.sub(r"\{\d\}", rf"{type_}(\g<0>)", text)
        return cast.removeprefix("wrap")
    if type_.is_float and row.signature == "xxb":
        return f"bool{text}"
    if before == "wrap":
        text = f"wrap_{type_}{text.removeprefix('wrap')}"
    text = text.removeprefix("narrow")
    return text.replace("{bits}", str(type_.bits)).replace("{type}", str(type_))


def _conversion(operator: Operator) -> str | None:
    source, target = operator.operands[0], operator.result
    if source == target:
        return "{0}"
    if target.kind == "bool":
        return "bool({0} != 0)"
    if target.is_float:
        return f"{target}({{0}})"
    if source.is_float:
        return f"truncate({{0}}, {target.bits}, {target.kind == 'int'})"
    return "int({0})" if source.kind == "bool" else f"wrap_{target}({{0}})"
