"""Scalar operators that the host computes itself, as Python text.

    add_i32   wrap_i32({0} + {1})          lt_f32   ({0} < {1})

Integers and bools are Python's, floats NumPy scalars. The functions named here stand in
`minifut.opencl.runtime.host_scalars`. All other operators (they are rare between
kernels) run in a kernel of one point, so that they mean the same everywhere.
"""

from __future__ import annotations

from functools import cache

from minifut.ir.scalars import COMPARISONS, INFIX, Operator


@cache
def host_text(operator: Operator) -> str | None:
    """A template with {0}, {1} for the operands; None if the host leaves it to a
    kernel."""
    name, type_ = operator.name, operator.type
    if name == "convert":
        return _conversion(operator)
    if name in COMPARISONS:
        text = f"({{0}} {INFIX[name]} {{1}})"
        return f"bool{text}" if type_.is_float else text
    if type_.is_float:
        return _float(name, str(type_))
    if type_.is_integer:
        return _integer(name, str(type_))
    return {
        "and": "({0} and {1})", "or": "({0} or {1})",
        "xor": "({0} != {1})", "not": "(not {0})",
    }[name]  # fmt: skip


def _integer(name: str, type_: str) -> str | None:
    wrap, bits = f"wrap_{type_}", type_[1:]
    if name in ("add", "sub", "mul"):
        return f"{wrap}({{0}} {INFIX[name]} {{1}})"
    if name in ("and", "or", "xor"):
        return f"({{0}} {INFIX[name]} {{1}})"
    return {
        "div": f"{wrap}(floor_div({{0}}, {{1}}))",
        "mod": "floor_mod({0}, {1})",
        "quot": f"{wrap}(quotient({{0}}, {{1}}))",
        "rem": "remainder({0}, {1})",
        "min": "min({0}, {1})",
        "max": "max({0}, {1})",
        "neg": f"{wrap}(-{{0}})",
        "not": f"{wrap}(~{{0}})",
        "abs": f"{wrap}(abs({{0}}))",
        "sgn": "sign({0})",
        "shl": f"{wrap}(shift_left({{0}}, {{1}}, {bits}))",
        "shr": f"shift_right({{0}}, {{1}}, {bits})",
        "pow": f"{wrap}(power({{0}}, {{1}}, {bits}))",
        "mul_hi": f"(({{0}} * {{1}}) >> {bits})",
        "mad_hi": f"{wrap}((({{0}} * {{1}}) >> {bits}) + {{2}})",
        "popc": f"wrap_u{bits}({{0}}).bit_count()",
        "clz": f"({bits} - wrap_u{bits}({{0}}).bit_length())",
        "ctz": f"trailing_zeros({{0}}, {bits})",
    }.get(name)


def _float(name: str, type_: str) -> str | None:
    if name in ("add", "sub", "mul"):
        return f"({type_}({{0}}) {INFIX[name]} {type_}({{1}}))"
    return {
        "div": f"({type_}({{0}}) / {type_}({{1}}))",
        "neg": f"(-{type_}({{0}}))",
        "abs": f"abs({type_}({{0}}))",
        "min": f"{type_}(fmin({{0}}, {{1}}))",
        "max": f"{type_}(fmax({{0}}, {{1}}))",
        "sqrt": f"sqrt({type_}({{0}}))",
    }.get(name)


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
