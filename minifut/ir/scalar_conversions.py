"""The C functions that convert floats to integers, and vectors of 64 bits to floats.

    to_i32_f32(x)   to_i64_f64_8(x)      of one number, of the lanes of a vector

What is too large or too small becomes the integer that is nearest; what is negative
goes to the signed type of as many bits first, if the target has no sign; infinity and
NaN become 0. OpenCL's `convert_T_sat` knows the limits, too, but is not one instruction
on any processor: clamped first, numbers of up to 32 bits are converted by one for all
lanes. To and from 64 bits there is one with AVX-512 only; else, where all lanes fit,
those of f32 go by way of i32, and to those of f64 a number is added whose last bit
counts ones; else lane by lane. From 64 bits to floats goes by way of i32, too, if all
lanes fit. The functions call none: PoCL's `fabs` and `isfinite` would keep clang from
making vectors. A number is finite if it less itself is 0.

Source: Hacker's Delight, 17-3 (Warren, 2012), conversion by adding 1.5 * 2^52.
"""

from __future__ import annotations

import re

from minifut.ir.c_types import C_NAMES
from minifut.ir.scalar_functions import float_function
from minifut.ir.types import SCALARS, ScalarType

_NAME = re.compile(r"to_([iu]\d+)_(f32|f64)(?:_(\d+))?")
_NAME_TO_FLOATS = re.compile(r"to_(f32|f64)_([iu]64)_(\d+)")
_NARROW = """
{target}@ {name}({source}@ x) {{
  {source}@ near = x < ({source}@)({least}) ? ({source}@)({least}) : x;
  near = near > ({source}@)({most}) ? ({source}@)({most}) : near;
  near = x - x == ({source}@)(0) ? near : ({source}@)(0);
  {target}@ y = {convert};{beyond}
  return y;
}}
"""
# The largest float is below the largest integer of 32 bits.
_BEYOND = """
  y = (x > near) & (x < (float@)(INFINITY)) ? ({target}@)({largest}) : y;"""
_LONG = """
long {name}({source} x) {{
  if (x > ({source})-0x1p63 && x < ({source})0x1p63) return (long)x;
  if (x - x != 0) return 0;
  return x > 0 ? 0x7fffffffffffffffL : (long)0x8000000000000000L;
}}
"""
_ULONG = """
ulong {name}({source} x) {{
  if (x > ({source})-0x1p63 && x < ({source})0x1p63) return (ulong)(long)x;
  if (x - x != 0) return 0UL;
  if (x < 0) return 0x8000000000000000UL;
  return x < ({source})0x1p64 ? (ulong)x : 0xffffffffffffffffUL;
}}
"""
_AT_ONCE = "defined(POCL_DEVICE_ADDRESS_BITS) && defined(__AVX512DQ__)"
_LONG_AT_ONCE = """#if {at_once}
  {source}@ near = x > ({source}@)(-0x1p63) ? x : ({source}@)(-0x1p63);
  near = near < ({source}@)(0x1p63) ? near : ({source}@)(0);
  near = x - x == ({source}@)(0) ? near : ({source}@)(0);
  long@ y = __builtin_convertvector(near, long@);
  return {large} ? (long@)(0x7fffffffffffffffL) : y;
#endif
"""
_LARGE = {
    "f32": "convert_long@((x >= (float@)(0x1p63f)) & (x < (float@)(INFINITY)))",
    "f64": "(x >= (double@)(0x1p63)) & (x < (double@)(INFINITY))",
}
_LONG_LANES = """
{target}@ {name}({source}@ x) {{
{at_once}  if (all((x > ({source}@)(-{limit})) & (x < ({source}@)({limit}))))
    return as_{target}@({fitting});
  {source} numbers[@];
  {target} parts[@];
  vstore@(x, 0, numbers);
  for (int i = 0; i < @; i++) parts[i] = {single}(numbers[i]);
  return vload@(0, parts);
}}
"""
_FLOATS = """
{target}@ {name}({source}@ x) {{
#if {at_once}
  return __builtin_convertvector(x, {target}@);
#endif
  int@ low = convert_int@(x);
  if (all({fits})) return convert_{target}@(low);
  return convert_{target}@(x);
}}
"""
_FITTING = {
    "f32": ("0x1p31f", "convert_long@(convert_int@(x))"),
    "f64": ("0x1p51", "as_long@(trunc_f64_@(x) + 0x1.8p52) - 0x4338000000000000L"),
}


def conversion(source: ScalarType, target: ScalarType, width: str = "") -> str:
    """The name of the function; `width` may be a template. Numbers of f16 are those of
    f32 in registers."""
    known = "f32" if source.is_float and source.bits < 64 else source
    return f"to_{target}_{known}" + (f"_{width}" if width else "")


def conversion_source(name: str) -> list[tuple[str, str]] | None:
    """The function of that name after those it calls: pairs of name and C text; None
    if it is none of these."""
    if (found := _NAME_TO_FLOATS.fullmatch(name)) is not None:
        fits = {"i64": "convert_long@(low) == x", "u64": "x < (ulong@)(0x80000000UL)"}
        text = _FLOATS.format(
            name=name,
            target=C_NAMES[found[1]],
            source=C_NAMES[found[2]],
            fits=fits[found[2]],
            at_once=_AT_ONCE,
        )
        return [(name, text.replace("@", found[3]).lstrip())]
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    target, number, width = SCALARS[found[1]], found[2], found[3] or ""
    signed = target.kind == "int"
    terms = {"name": name, "source": C_NAMES[number], "target": C_NAMES[target.name]}
    before: list[tuple[str, str]] = []
    if target.bits < 64:
        by = conversion(SCALARS[number], SCALARS["i64"], width)
        text = _narrow(target, number, width, by, terms)
        if by in text:
            before = conversion_source(by) or []
    elif not width:
        text = (_LONG if signed else _ULONG).format(**terms)
    else:
        single = conversion(SCALARS[number], target)
        before = conversion_source(single) or []
        if number == "f64":
            function = f"trunc_f64_{width}"
            before = [*before, (function, float_function("trunc", "f64", width))]
        limit, fitting = _FITTING[number]
        terms |= {"single": single, "limit": limit, "fitting": fitting}
        at_once = _LONG_AT_ONCE.format(at_once=_AT_ONCE, large=_LARGE[number], **terms)
        text = _LONG_LANES.format(at_once=at_once if signed else "", **terms)
    return [*before, (name, text.replace("@", width).lstrip())]


def _narrow(
    target: ScalarType, number: str, width: str, by: str, terms: dict[str, str]
) -> str:
    bits, own = target.bits, terms["target"]
    signed = target.kind == "int"
    largest = (1 << (bits - signed)) - 1
    is_exact = number == "f64" or bits < 32
    end = ".0f" if number == "f32" else ".0"
    most = largest if is_exact else largest - (127 if signed else 255)
    wide = f"convert_int{width}(near)" if width else "(int)near"
    if bits == 32 and not signed:
        wide = f"{by}(near)"
    beyond = "" if is_exact else _BEYOND.format(target=own, largest=hex(largest))
    return _NARROW.format(
        least=f"{-(1 << (bits - 1))}{end}",
        most=f"{most}{end}",
        convert=f"convert_{own}{width}({wide})" if width else f"({own})({wide})",
        beyond=beyond,
        **terms,
    )
