"""The C functions of quotients and remainders of vectors of integers.

    mod_u32_16(x, y)      x - y * trunc((double)x / (double)y)

No processor divides vectors of integers, but of floats. Exact: with up to 16 bits in
f32, up to 51 in f64, a quotient that is not whole is farther from the next whole number
than the error of the division. So of 64 bits it is done lane by lane if an operand is
far from zero. A lane that divides by zero gets 0, as one point would.

Doubles become integers by adding 1.5 * 2^52, whose last bit counts ones: without
AVX-512, no instruction converts vectors of them to and from 64 bits.

Source: Hacker's Delight, 17-3 (Warren, 2012).
"""

from __future__ import annotations

from minifut.ir.types import ScalarType

ROUNDED = {"div": "floor", "mod": "floor", "quot": "trunc", "rem": "trunc"}
_SHORT = """
{own}# {name}_{type}_#({own}# x, {own}# y) {{
  float# whole = {round}_f32_#(convert_float#(x) / convert_float#(y));
  {own}# quotient = convert_{own}#(convert_int#(whole));
  return y == ({own}#)(0) ? ({own}#)(0) : {result};
}}
"""
# The least integer divided by -1 needs one bit more, which is lost as it has to be.
_SINGLE = """
{own}# {name}_{type}_#({own}# x, {own}# y) {{
  double# whole = {round}_f64_#(convert_double#(x) / convert_double#(y)) + 0x1.8p52;
  {own}# quotient = convert_{own}#(as_ulong#(whole));
  return y == ({own}#)(0) ? ({own}#)(0) : {result};
}}
"""
_LONG = """
{own}# {name}_{type}_#({own}# x, {own}# y) {{
  if (any(({size}) >= (ulong#)(0x8000000000000UL))) {{
    {own} left[#], right[#];
    vstore#(x, 0, left);
    vstore#(y, 0, right);
    for (int i = 0; i < #; i++) left[i] = {name}_{type}(left[i], right[i]);
    return vload#(0, left);
  }}
  ulong# one = (ulong#)(0x4338000000000000UL);
  double# a = as_double#(as_ulong#(x) + one) - 0x1.8p52;
  double# b = as_double#(as_ulong#(y) + one) - 0x1.8p52;
  double# quotient = {round}_f64_#(a / b);
  {own}# result = as_{own}#(as_ulong#(({result}) + 0x1.8p52) - one);
  return y == ({own}#)(0) ? ({own}#)(0) : result;
}}
"""


def quotient_function(name: str, type_: ScalarType, own: str) -> str:
    """The text of a function, # for the lanes; `own` is its type in C."""
    signed = type_.kind == "int"
    template = _SHORT if type_.bits < 32 else _SINGLE if type_.bits < 64 else _LONG
    left, right = ("a", "b") if type_.bits == 64 else ("x", "y")
    size = "as_ulong#((x ^ x >> 63) | (y ^ y >> 63))" if signed else "x | y"
    whole = name in ("div", "quot")
    return template.format(
        name=name,
        type=type_,
        own=own,
        round=ROUNDED[name] if signed else "trunc",
        size=size,
        result="quotient" if whole else f"{left} - quotient * {right}",
    )
