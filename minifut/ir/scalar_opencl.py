"""How scalar operators are spelled in OpenCL C.

    spelling(add_i32).text("a", "b")            (int)((uint)a + (uint)b)
    spelling(add_i32).text("a", "b", width=4)   as_int4(as_uint4(a) + as_uint4(b))
    spelling(div_i32).text("a", "b")            div_i32(a, b)      helpers: ("div_i32",)

Operands must be primary expressions (names, constants, things in parentheses or calls),
of the register type: f16 lives in registers as `float` (each operation rounds it), in
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

from minifut.ir.core import Constant
from minifut.ir.node import value
from minifut.ir.rounding import digits
from minifut.ir.scalar_helpers import CIRCULAR, QUARTERED, VECTOR_HELPERS, helper_source
from minifut.ir.scalars import COMPARISONS, INFIX, Operator, OperatorCost, operator_cost
from minifut.ir.types import ScalarType

C_NAMES = {
    "i8": "char", "i16": "short", "i32": "int", "i64": "long",
    "u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong",
    "f16": "float", "f32": "float", "f64": "double", "bool": "bool",
}  # fmt: skip


@value
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
    if name in COMPARISONS:
        return Spelling(f"({{0}} {INFIX[name]} {{1}})")
    if type_.kind == "bool":
        return _logic(name)
    if type_.is_integer:
        return _integer(name, type_)
    return _half(name) if type_.bits == 16 else _float(name, type_)


def _logic(name: str) -> Spelling:
    if name == "not":
        return Spelling("(!{0})")
    sign = {"and": "&&", "or": "||", "xor": "!="}[name]
    return Spelling(f"({{0}} {sign} {{1}})")


def _integer(name: str, type_: ScalarType) -> Spelling:
    own = C_NAMES[type_.name]
    unsigned = own if type_.kind == "uint" else f"u{own}"
    if name in ("add", "sub", "mul"):
        sign = INFIX[name]
        return Spelling(
            _wrapped(f"{{0}} {sign} {{1}}", own, unsigned),
            f"as_{own}{{v}}(as_{unsigned}{{v}}({{0}}) {sign} "
            f"as_{unsigned}{{v}}({{1}}))",
        )
    match name:
        case "and" | "or" | "xor":
            text = f"({{0}} {INFIX[name]} {{1}})"
            return Spelling(text if type_.bits >= 32 else f"({own}){text}", text)
        case "neg":
            vector = f"as_{own}{{v}}(({unsigned}{{v}})(0) - as_{unsigned}{{v}}({{0}}))"
            return Spelling(_wrapped("-{0}", own, unsigned), vector)
        case "not":
            return Spelling(f"({own})(~{{0}})", "(~{0})")
        case "abs":
            return Spelling(f"({own})abs({{0}})", f"as_{own}{{v}}(abs({{0}}))")
        case "min" | "max":
            # Comparisons vectorise; the built-in functions of PoCL do not.
            return Spelling(_CHOICE[name], f"{name}({{0}}, {{1}})")
        case "mul_hi":
            return Spelling(f"{name}({{0}}, {{1}})", f"{name}({{0}}, {{1}})")
        case "sgn":
            # A comparison of vectors is -1 where it holds.
            vector = f"min({{0}}, ({own}{{v}})(1))"
            if type_.kind == "int":
                zero = f"({own}{{v}})(0)"
                vector = f"(({{0}} < {zero}) - ({{0}} > {zero}))"
            return Spelling(f"({own})(({{0}} > 0) - ({{0}} < 0))", vector)
        case "popc":
            return Spelling("(int)popcount({0})", "convert_int{v}(popcount({0}))")
        case "clz":
            return Spelling("(int)clz({0})", "convert_int{v}(clz({0}))")
        case "mad_hi":
            inner = "mul_hi({0}, {1})"
            as_own, cast = f"as_{own}{{v}}", f"as_{unsigned}{{v}}"
            vector = f"{as_own}({cast}({inner}) + {cast}({{2}}))"
            return Spelling(f"({own})(({unsigned}){inner} + ({unsigned}){{2}})", vector)
    helper, places = f"{name}_{type_}", "{0}" if name == "ctz" else "{0}, {1}"
    if name not in VECTOR_HELPERS:
        return Spelling(f"{helper}({places})", None, (helper,))
    wide = f"{helper}_{{v}}"
    return Spelling(f"{helper}({places})", f"{wide}({places})", (helper,), (wide,))


_CHOICE = {"min": "({1} < {0} ? {1} : {0})", "max": "({0} < {1} ? {1} : {0})"}


def _wrapped(text: str, own: str, unsigned: str) -> str:
    """A scalar sum or product that wraps. Narrow types are computed as int."""
    if own in ("char", "short", "uchar", "ushort"):
        # The product of two ushorts can exceed int, so compute in uint.
        text = text.replace("{0}", "(uint){0}") if "*" in text else text
        return f"({own})({text})"
    if own == unsigned:
        return f"({text})"
    for operand in ("{0}", "{1}"):
        text = text.replace(operand, f"({unsigned}){operand}")
    return f"({own})({text})"


_RENAMED = {
    "abs": "fabs",
    "mod": "fmod",
    "rem": "fmod",
    "round": "rint",
    "gamma": "tgamma",
}
_BINARY = {
    "pow", "mod", "rem", "atan2", "atan2pi", "hypot", "copysign", "nextafter", "ldexp",
}  # fmt: skip


def _float(name: str, type_: ScalarType) -> Spelling:
    simple = {
        "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})",
        "div": "({0} / {1})", "neg": "(-{0})", "fma": "fma({0}, {1}, {2})",
        "mad": "({0} * {1} + {2})", "lerp": "({0} + ({1} - {0}) * {2})",
    }  # fmt: skip
    if name in simple:
        return Spelling(simple[name], simple[name])
    bits = "uint" if type_.bits == 32 else "ulong"
    match name:
        case "to_bits":
            return Spelling(f"as_{bits}({{0}})", f"as_{bits}{{v}}({{0}})")
        case "from_bits":
            own = C_NAMES[type_.name]
            return Spelling(f"as_{own}({{0}})", f"as_{own}{{v}}({{0}})")
        case "min" | "max":
            ordered = "{1} < {0}" if name == "min" else "{0} < {1}"
            choice = f"({ordered} || {{0}} != {{0}} ? {{1}} : {{0}})"
            return Spelling(choice, choice)
        case "isnan" | "isinf":
            return Spelling(f"({name}({{0}}) != 0)")
        case "sgn":
            # The sum makes a negative zero positive.
            text = "((isnan({0}) ? {0} : sign({0})) + 0.0f)"
            return Spelling(text, text)
    if name in CIRCULAR and type_.bits == 32:
        wide = f"{name}_f32_{{v}}"
        return Spelling(f"{name}({{0}})", f"{wide}({{0}})", (), (wide,))
    call = _RENAMED.get(name, name)
    text = f"{call}({{0}}, {{1}})" if name in _BINARY else f"{call}({{0}})"
    if call in QUARTERED and type_.bits == 64:
        wide = f"{call}_f64_{{v}}"
        return Spelling(text, f"{wide}({{0}}, {{1}})", (), (wide,))
    return Spelling(text, text)


def calls_library(operator: Operator) -> bool:
    """Whether the operator is a function of many instructions, such as `exp`, of which
    the device's compiler makes no vectors of its own, though there are functions for
    vectors."""
    return (
        operator.type.is_float
        and operator.result.is_float
        and operator_cost(operator) is OperatorCost.FUNCTION
        and spelling(operator).vector is not None
    )


_EXACT = {"neg", "abs", "sgn", "min", "max", "floor", "ceil", "round", "trunc",
          "copysign", "isnan", "isinf"}  # fmt: skip


def _half(name: str) -> Spelling:
    """f16: as f32, then rounded."""
    if name in ("to_bits", "from_bits"):
        return Spelling(f"{name}_f16({{0}})", None, (f"{name}_f16",))
    if name == "nextafter":
        return Spelling("nextafter_f16({0}, {1})", None, ("nextafter_f16",))
    single = _float(name, ScalarType("f32", "float", 32))
    if name in _EXACT:
        return single
    return Spelling(
        f"round_f16({single.scalar})",
        single.vector and f"round_f16_{{v}}({single.vector})",
        (*single.helpers, "round_f16"),
        (*single.vector_helpers, "round_f16_{v}"),
    )


def _conversion(source: ScalarType, target: ScalarType) -> Spelling:
    c = C_NAMES[target.name]
    if source == target:
        return Spelling("{0}", "{0}")
    if target.kind == "bool":
        return Spelling("({0} != 0)")
    if source.is_float and target.is_integer:
        taken = f"convert_{c}_sat({{0}})"
        if target.kind == "uint":
            # A negative number goes by way of the signed type as wide.
            negative = f"as_{c}(convert_{c[1:]}_sat({{0}}))"
            taken = f"({{0}} < 0 ? {negative} : {taken})"
        return Spelling(f"(isfinite({{0}}) ? {taken} : ({c})0)")
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
    vector = None if source.kind == "bool" else f"convert_{c}{{v}}({{0}})"
    return Spelling(f"({c}){{0}}", vector)
