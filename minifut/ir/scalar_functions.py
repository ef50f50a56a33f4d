"""Functions of floats where those of OpenCL C are slow or wrong, as C functions.

    sin_f32_8(x)     polynomials of our own, of vectors and of single numbers
    atan_f32(x)      atan((float4)(x)).x, where PoCL's for one number takes longer
    mod_f64_8(x, y)  four lanes at a time, where PoCL's for eight is wrong
    floor_f32(x)     the instruction, of which clang makes vectors
    floor_f32_8(x)   the same: PoCL's takes four to seven times as long

Powers are in `scalar_powers.py`.
"""

from __future__ import annotations

from minifut.ir.c_types import C_NAMES
from minifut.ir.scalar_powers import ON_CPU

_CIRCULAR = ("sin", "cos", "tan")
# PoCL reduces all lanes as large arguments need it if one is at least 2**23, and small
# ones then come out wrong: sin of 1e-5 beside 1e8 as 0.01.
_CIRCULAR_FUNCTION = """
__attribute__((always_inline)) float# {name}_f32_#(float# x) {{{near}
  int# large = fabs(x) >= (float#)(0x1p23f);
  float# of_small = {name}(large ? (float#)(0) : x);
  if (any(large)) of_small = large ? {name}(large ? x : (float#)(0x1p23f)) : of_small;
  return {result};
}}
"""
# Cody and Waite's reduction by multiples of pi / 2 in three parts, then polynomials:
# within 1.5 units in the last place. What is common to sin and cos is computed once.
_NEAR = """
  float# sum = fma(x, (float#)(0.636619747f), (float#)(0x1.8p23f)), k = sum - 0x1.8p23f;
  int# quarter = as_int#(sum) + {quarter}, far = !(fabs(x) < (float#)(48039.0f));
  float# a = fma(k, (float#)(-0x1.921fb0p0f), x);
  a = fma(k, (float#)(-0x1.846988p-48f), fma(k, (float#)(-0x1.5110b4p-22f), a));
  float# s = a * a, p = fma((float#)(2.86567956e-6f), s, (float#)(-1.98559923e-4f));
  p = fma(fma(p, s, (float#)(8.33338592e-3f)), s, (float#)(-0.166666672f));
  float# q = fma((float#)(2.44677067e-5f), s, (float#)(-1.38877297e-3f));
  q = fma(fma(q, s, (float#)(4.16666567e-2f)), s, (float#)(-0.5f));
  p = fma(p, fma(a, s, (float#)(0)), a);
  float# y = (quarter & 1) != 0 ? fma(q, s, (float#)(1)) : p;
  y = as_float#(as_int#(y) ^ ((quarter & 2) << 30));
  if (!any(far)) return y;
  x = far ? x : (float#)(0);"""
_ONE_CIRCULAR = """
float {name}_f32(float x) {{
#if {on_cpu}{near}
  return {name}(x);
#else
  return {name}(x);
#endif
}}
"""
_BY_VECTORS = frozenset(
    ("log", "log10", "sin", "cos", "tan", "sinh", "atan", "atan2", "asin", "acos")
) | {"erf", "cbrt", "log1p", "expm1", "hypot"}
"""Functions of which PoCL's for single numbers take up to five times as long as those
for vectors: of an AMD EPYC, log of f32 17 and 11 ns, atan2 73 and 15, atan of f64 67
and 32, erf 85 and 48. (Those like exp are code without calls, which clang makes vectors
of.)"""
_ONE_BY_VECTOR = """
{own} {name}_{type}({parameters}) {{
#if {on_cpu}
  return {name}({vectors}).x;
#else
  return {name}({numbers});
#endif
}}
"""
_QUARTERED = {"mod": "fmod", "rem": "fmod"}
"""Functions of two f64 that PoCL computes wrongly for eight lanes, not for four, with
AVX-512."""


# PoCL calls a function where there is one instruction, which clang knows and of which
# it makes vectors.
_INSTRUCTIONS = {"floor": "floor", "ceil": "ceil", "round": "rint", "trunc": "trunc"}
_INSTRUCTIONS |= {"abs": "fabs", "sqrt": "sqrt", "copysign": "copysign", "fma": "fma"}
_OPERANDS = {"copysign": "xy", "fma": "xyz"}
_FEATURES = {"fma": "__FMA__"}
_ELEMENTWISE = _INSTRUCTIONS | {"abs": "abs", "round": "roundeven"}
del _ELEMENTWISE["sqrt"]
_INSTRUCTION = """
{own} {name}_{type}({parameters}) {{
#if defined(__clang__) && (defined({feature}) || defined(__aarch64__))
  return __builtin_{function}{suffix}({numbers});
#else
  return {function}({numbers});
#endif
}}
"""
_INSTRUCTION_OF_VECTORS = """
{own} {name}_{type}({parameters}) {{
#ifdef __has_builtin
#if __has_builtin({builtin}) && (defined({feature}) || defined(__aarch64__))
#define {name}_{type}_AT_ONCE
#endif
#endif
#ifdef {name}_{type}_AT_ONCE
  return {builtin}({numbers});
#else
  return {function}({numbers});
#endif
}}
"""


def has_float_function(name: str, bits: int, of_vectors: bool) -> bool:
    """Whether there is one for floats of so many bits."""
    if of_vectors:
        return name in _ELEMENTWISE or name in {32: _CIRCULAR, 64: _QUARTERED}[bits]
    return name in _INSTRUCTIONS or name in _BY_VECTORS


def float_function(name: str, type_: str, width: str) -> str:
    """The text of a function, for a number of lanes or, without, for one number."""
    if not width:
        return _one_number(name, type_)
    if name in _ELEMENTWISE:
        return _instruction(name, type_, width)
    if name in _QUARTERED:
        return _in_quarters(name, int(width))
    near = _NEAR.format(quarter=int(name == "cos")) if name != "tan" else ""
    result = "far ? of_small : y" if near else "of_small"
    text = _CIRCULAR_FUNCTION.format(name=name, near=near, result=result)
    return text.replace("#", width).lstrip()


def _in_quarters(name: str, width: int) -> str:
    parts = (
        [".s0123", ".s4567", ".s89ab", ".scdef"][: width // 4] if width > 4 else [""]
    )
    calls = ", ".join(f"{_QUARTERED[name]}(x{part}, y{part})" for part in parts)
    own = f"double{width}"
    head = f"{own} {name}_f64_{width}({own} x, {own} y)"
    return f"{head} {{\n  return ({own})({calls});\n}}\n"


def _instruction(name: str, type_: str, width: str = "") -> str:
    own, operands = C_NAMES[type_] + width, _OPERANDS.get(name, "x")
    template = _INSTRUCTION_OF_VECTORS if width else _INSTRUCTION
    return template.format(
        own=own,
        suffix="f" if type_ == "f32" else "",
        name=name,
        type=f"{type_}_{width}" if width else type_,
        builtin=f"__builtin_elementwise_{_ELEMENTWISE.get(name)}",
        function=_INSTRUCTIONS[name],
        feature=_FEATURES.get(name, "__SSE4_1__"),
        parameters=", ".join(f"{own} {number}" for number in operands),
        numbers=", ".join(operands),
    ).lstrip()


def _one_number(name: str, type_: str) -> str:
    """A function of single numbers: of its own, or the first of a short vector's."""
    if name in _INSTRUCTIONS:
        return _instruction(name, type_)
    if type_ == "f32" and name in ("sin", "cos"):
        near = _NEAR.format(quarter=int(name == "cos")).replace("any(far)", "far")
        near = near[: near.index("\n  x = far")].replace("#", "")
        return _ONE_CIRCULAR.format(name=name, near=near, on_cpu=ON_CPU).lstrip()
    own, lanes = C_NAMES[type_], 4 if type_ == "f32" else 2
    numbers = ["x", "y"] if name in ("atan2", "hypot") else ["x"]
    return _ONE_BY_VECTOR.format(
        own=own,
        name=name,
        type=type_,
        parameters=", ".join(f"{own} {number}" for number in numbers),
        vectors=", ".join(f"({own}{lanes})({number})" for number in numbers),
        numbers=", ".join(numbers),
        on_cpu=ON_CPU,
    ).lstrip()
