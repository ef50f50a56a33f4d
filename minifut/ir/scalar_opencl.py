"""How scalar operators are spelled in OpenCL C.

    spelling(add_i32).text("a", "b")            (int)((uint)a + (uint)b)
    spelling(add_i32).text("a", "b", width=4)   as_int4(as_uint4(a) + as_uint4(b))
    spelling(div_i32).text("a", "b")            div_i32(a, b)      helpers: ("div_i32",)

Operands must be primary expressions (names, constants, things in parentheses or calls),
of the register type: f16 is in registers as `float` (each operation rounds it), in
memory as `half`, to be read and written with the helpers `load_f16`, `store_f16`; bool
is `bool` in registers and `uchar` in memory. `helper_text` gives the functions that the
spellings used need, each after those it calls. Where `vector` is None there is no
spelling for vector types. f64 needs the pragma of `cl_khr_fp64`.

Signed arithmetic is done in the unsigned type, because C leaves overflow undefined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

from minifut.ir.c_types import C_NAMES
from minifut.ir.core import Constant
from minifut.ir.node import immutable, replace
from minifut.ir.rounding import digits
from minifut.ir.scalar_conversions import conversion
from minifut.ir.scalar_helpers import has_function, helper_source
from minifut.ir.scalar_table import OperatorCost, Row
from minifut.ir.scalars import Operator, operator_cost, row_of
from minifut.ir.types import F16, F32, F64, I64, U64, ScalarType

REORDERED = ("add", "mul", "min", "max", "and", "or", "xor")
"""operators by which the device's compiler folds in vectors, in another order: floats
where they are reassociated"""
FEW_ROUNDS = 8
"""of a loop, which do not fill a vector"""


@immutable
class Spelling:
    """Templates with {0}, {1}, ... for operands and {v} for the vector width, which the
    names of the functions that vectors need have too."""

    scalar: str
    vector: str | None = None
    helpers: tuple[str, ...] = ()
    vector_helpers: tuple[str, ...] = ()

    def helpers_for(self, width: int) -> tuple[str, ...]:
        """The functions that the expression calls."""
        if width == 1:
            return self.helpers
        return tuple(helper.format(v=width) for helper in self.vector_helpers)

    def text(self, *operands: str, width: int = 1) -> str:
        """The expression for these operands."""
        if width == 1:
            return self.scalar.format(*operands, v="")
        assert self.vector is not None, f"{self.scalar} has no vector spelling"
        return self.vector.format(*operands, v=width)


def register_type(type_: ScalarType, width: int = 1) -> str:
    """The C type of a variable."""
    return C_NAMES[type_.name] + (str(width) if width > 1 else "")


def memory_type(type_: ScalarType) -> str:
    """The C type of an array's elements."""
    return {"f16": "half", "bool": "uchar"}.get(type_.name, C_NAMES[type_.name])


def helper_text(helpers: Iterable[str]) -> str:
    """The C functions of these names and of those they call, each once."""
    written: dict[str, str] = {}
    for helper in helpers:
        for needed, text in helper_source(helper):
            written.setdefault(needed, text)
    return "\n".join(written.values())


def constant_text(constant: Constant) -> str:
    """A constant as a C expression of its register type."""
    number, type_ = constant.value, constant.type
    if type_.kind == "bool":
        return "true" if number else "false"
    if type_.is_float:
        return _float_text(float(number), type_)
    number = int(number)
    suffix = {"i64": "L", "u32": "u", "u64": "UL"}.get(type_.name, "")
    if type_.bits < 32:
        return f"({C_NAMES[type_.name]}){number}"
    if type_.kind == "int" and number == -(2 ** (type_.bits - 1)):
        return f"({number + 1}{suffix} - 1{suffix})"
    return f"({number}{suffix})" if number < 0 else f"{number}{suffix}"


def _float_text(number: float, type_: ScalarType) -> str:
    cast = "(double)" if type_.bits == 64 else ""
    if math.isnan(number):
        return f"{cast}NAN"
    if math.isinf(number):
        return f"{cast}INFINITY" if number > 0 else f"({cast}-INFINITY)"
    text = digits(number, 64) if type_.bits == 64 else f"{digits(number, 32)}f"
    return f"({text})" if text.startswith("-") else text


# --- spellings -------------------------------------------------------------------


@cache
def spelling(operator: Operator) -> Spelling:
    """How an operator is written."""
    name, type_ = operator.name, operator.type
    if name == "convert":
        return _conversion(operator.operands[0], operator.result)
    row = row_of(operator)
    if type_ != F16 or has_function(name, F16):
        return _spelling(row, operator)
    single = _spelling(row, replace(operator, operands=(F32, *operator.operands[1:])))
    if row.exact:
        return single
    return Spelling(
        f"round_f16({single.scalar})",
        single.vector and f"round_f16_{{v}}({single.vector})",
        (*single.helpers, "round_f16"),
        (*single.vector_helpers, "round_f16_{v}"),
    )


def _spelling(row: Row, operator: Operator) -> Spelling:
    """The operator as its row says, unless a function goes before."""
    name, type_ = row.name, operator.type
    places = ", ".join(f"{{{i}}}" for i in range(len(operator.operands)))
    template = row.c or f"{name}({places})"
    scalar, vector = _filled(template, type_), row.vector
    helpers: tuple[str, ...] = ()
    if has_function(name, type_):
        scalar = f"{name}_{type_}({places})"
        vector = vector if type_ in (F32, F64) else None
        helpers = (f"{name}_{type_}",)
    if has_function(name, type_, of_vectors=True):
        wide = f"{name}_{type_}_{{v}}"
        return Spelling(scalar, f"{wide}({places})", helpers, (wide,))
    if vector is not None:
        vector = _filled(template if vector == "same" else vector, type_, vector=True)
    return Spelling(scalar, vector, helpers)


def _filled(template: str, type_: ScalarType, vector: bool = False) -> str:
    """The template of a row at a type."""
    own = C_NAMES[type_.name]
    unsigned = _UNSIGNED.get(own, f"u{own}")
    kind, text = "", template
    if template.startswith(("wrap(", "narrow(")):
        kind, _, text = template.partition("(")
        text = f"({text}"
    if type_.is_integer:
        if kind == "wrap":
            text = _wrapped(text, own, unsigned, vector)
        elif kind == "narrow" and type_.bits < 32 and not vector:
            text = f"({own}){text}"
    return text.replace("{own}", own).replace("{unsigned}", unsigned)


_UNSIGNED = {"float": "uint", "double": "ulong"} | {
    name: name for name in C_NAMES.values() if name.startswith("u")
}


def _wrapped(text: str, own: str, unsigned: str, vector: bool) -> str:
    """A sum or product that wraps. Narrow scalars are computed as int."""
    cast = f"as_{unsigned}{{v}}({{}})" if vector else f"({unsigned}){{}}"
    if not vector:
        if own == unsigned and "short" not in own and "char" not in own:
            return text
        if "short" in own or "char" in own:
            # The product of two ushorts can exceed int, so compute in uint.
            return f"({own}){text.replace('({0} *', '((uint){0} *')}"
    for operand in ("{0}", "{1}"):
        text = text.replace(operand, cast.replace("{}", operand))
    return f"as_{own}{{v}}{text}" if vector else f"({own}){text}"


def calls_library(operator: Operator) -> bool:
    """Whether the operator is a function of many instructions, such as `exp` or the
    conversion of floats to integers of 64 bits, of which the device's compiler makes no
    vectors of its own, though there are functions for vectors."""
    if operator.name == "convert":
        return operator.type.is_float and operator.result in (I64, U64)
    return (
        operator.type.is_float
        and operator.result.is_float
        and operator_cost(operator) is OperatorCost.FUNCTION
        and spelling(operator).vector is not None
    )


def _conversion(source: ScalarType, target: ScalarType) -> Spelling:
    c = C_NAMES[target.name]
    if source == target:
        return Spelling("{0}", "{0}")
    if target.kind == "bool":
        return Spelling("({0} != 0)")
    if source.is_float and target.is_integer:
        name = conversion(source, target)
        of_lanes = conversion(source, target, "{v}")
        return Spelling(f"{name}({{0}})", f"{of_lanes}({{0}})", (name,), (of_lanes,))
    if target.bits == 16 and target.is_float:
        if source.bits == 64 and source.is_float:
            return Spelling("round_f16_f64({0})", None, ("round_f16_f64",))
        rounded = "round_f16_{v}(convert_float{v}({0}))"
        return Spelling(
            "round_f16((float){0})",
            None if source.kind == "bool" else rounded,
            ("round_f16",),
            ("round_f16_{v}",),
        )
    if source in (I64, U64) and target.is_float:
        of_lanes = conversion(source, target, "{v}")
        return Spelling(f"({c}){{0}}", f"{of_lanes}({{0}})", (), (of_lanes,))
    vector = None if source.kind == "bool" else f"convert_{c}{{v}}({{0}})"
    return Spelling(f"({c}){{0}}", vector)
