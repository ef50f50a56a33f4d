"""The C functions behind scalar operators that have no total spelling in OpenCL C.

Named like the operator (`div_i32`); `helper_source` gives a function with those it
calls before it.
"""

from __future__ import annotations

import re

from minifut.ir.scalar_conversions import conversion_source
from minifut.ir.scalar_functions import float_function, has_float_function
from minifut.ir.scalar_powers import power_source
from minifut.ir.scalar_quotients import ROUNDED, quotient_function
from minifut.ir.types import SCALARS, U32, ScalarType

_SIGNED = {
    "div": """
{own} div_{type}({own} x, {own} y) {{
  if (y == 0) return 0;
  if (y == -1) return ({own})(({wide})0 - ({wide})x);
  {own} quotient = x / y;
  return quotient - (quotient * y != x && (x < 0) != (y < 0));
}}
""",
    "mod": """
{own} mod_{type}({own} x, {own} y) {{
  if (y == 0 || y == -1) return 0;
  {own} rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}}
""",
    "quot": """
{own} quot_{type}({own} x, {own} y) {{
  if (y == 0) return 0;
  return y == -1 ? ({own})(({wide})0 - ({wide})x) : x / y;
}}
""",
    "rem": """
{own} rem_{type}({own} x, {own} y) {{
  return y == 0 || y == -1 ? 0 : x % y;
}}
""",
    "shl": """
{own} shl_{type}({own} x, {own} y) {{
  return ({unsigned})y < {bits} ? ({own})(({unsigned})x << y) : 0;
}}
""",
    "shr": """
{own} shr_{type}({own} x, {own} y) {{
  return ({unsigned})y < {bits} ? x >> y : (x < 0 ? -1 : 0);
}}
""",
    "pow": """
{own} pow_{type}({own} x, {own} y) {{
  if (y < 0) return 0;
  {wide} base = ({wide})x, power = 1;
  for (; y > 0; y >>= 1) {{
    if (y & 1) power *= base;
    base *= base;
  }}
  return ({own})power;
}}
""",
    "popc": """
int popc_{type}({own} x) {{
  {wide} bits = ({unsigned})x;
  bits = bits - ((bits >> 1) & {pairs});
  bits = (bits & {fours}) + ((bits >> 2) & {fours});
  bits = (bits + (bits >> 4)) & {bytes};
  return (int)(({wide})(bits * {ones}) >> {bits_above}) & 255;
}}
""",
    "ctz": """
int ctz_{type}({own} x) {{
  {unsigned} low = ({unsigned})(({wide})x & (({wide})0 - ({wide})x));
  return (int)popcount(({unsigned})(low - ({wide})1));
}}
""",
}

_UNSIGNED = {
    "div": """
{own} div_{type}({own} x, {own} y) {{
  return y == 0 ? 0 : x / y;
}}
""",
    "mod": """
{own} mod_{type}({own} x, {own} y) {{
  return y == 0 ? 0 : x % y;
}}
""",
    "shl": _SIGNED["shl"],
    "shr": """
{own} shr_{type}({own} x, {own} y) {{
  return y < {bits} ? x >> y : 0;
}}
""",
    "pow": """
{own} pow_{type}({own} x, {own} y) {{
  {wide} base = ({wide})x, power = 1;
  for (; y > 0; y >>= 1) {{
    if (y & 1) power *= base;
    base *= base;
  }}
  return ({own})power;
}}
""",
    "popc": _SIGNED["popc"],
    "ctz": _SIGNED["ctz"],
}
_UNSIGNED["quot"] = _UNSIGNED["div"].replace("div", "quot")
_UNSIGNED["rem"] = _UNSIGNED["mod"].replace("mod", "rem")

# Of vectors, `#` lanes. OpenCL shifts by the places modulo the width, so that a shift
# by more is only to be replaced. PoCL counts the bits of vectors one element after the
# other; of the sums of pairs, fours and bytes clang makes the instruction for vectors.
# Vectors multiply words in every other place, to words of twice as many bits.
_OF_VECTORS = {
    "shl": """
{own}# shl_{type}_#({own}# x, {own}# y) {{
  {unsigned}# places = as_{unsigned}#(y);
  return places < ({unsigned}#)({bits}) ? x << places : ({own}#)(0);
}}
""",
    "shr": """
{own}# shr_{type}_#({own}# x, {own}# y) {{
  {unsigned}# places = as_{unsigned}#(y);
  return places < ({unsigned}#)({bits}) ? x >> places : {shifted_out};
}}
""",
    "pow": """
{own}# pow_{type}_#({own}# x, {own}# y) {{
  {unsigned}# base = as_{unsigned}#(x), power = ({unsigned}#)(1);
  {unsigned}# left = as_{unsigned}#(y >= ({own}#)(0) ? y : ({own}#)(0));
  while (any(left != ({unsigned}#)(0))) {{
    power = (left & ({unsigned}#)(1)) != ({unsigned}#)(0) ? power * base : power;
    base *= base;
    left >>= 1;
  }}
  return y >= ({own}#)(0) ? as_{own}#(power) : ({own}#)(0);
}}
""",
    "popc": """
int# popc_{type}_#({own}# y) {{
  {unsigned}# x = as_{unsigned}#(y);
  x = x - ((x >> 1) & ({unsigned}#)({pairs}));
  x = (x & ({unsigned}#)({fours})) + ((x >> 2) & ({unsigned}#)({fours}));
  x = (x + (x >> 4)) & ({unsigned}#)({bytes});
  return convert_int#((x * ({unsigned}#)({ones})) >> {bits_above});
}}
""",
    "ctz": """
int# ctz_{type}_#({own}# x) {{
  {unsigned}# low = as_{unsigned}#(x) & (({unsigned}#)(0) - as_{unsigned}#(x));
  return popc_{type}_#(as_{own}#(low - ({unsigned}#)(1)));
}}
""",
    "mul_hi": """
{own}# mul_hi_{type}_#({own}# x, {own}# y) {{
#ifdef __ENDIAN_LITTLE__
  const ulong{half} low = (ulong{half})({all_ones}UL);
  ulong{half} even = (as_ulong{half}(x) & low) * (as_ulong{half}(y) & low);
  ulong{half} odd = (as_ulong{half}(x) >> 32) * (as_ulong{half}(y) >> 32);
  return as_{own}#((even >> 32) | (odd & ~low));
#else
  return mul_hi(x, y);
#endif
}}
""",
}
_OF_WORDS = {"mul_hi": U32}
"""functions of vectors that there are for one type only"""
# On CPUs, clang's own access to a half is one instruction, the function of the library
# often many. Bytes, because only those may be examined through a pointer to another
# type: else a compiler may take it that a store of a half leaves a ushort alone.
HALF: dict[str, str] = {
    "access_f16": """
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define LOAD_F16(place) __builtin_load_halff(place)
#define STORE_F16(x, place) __builtin_store_halff(x, place)
#else
#define LOAD_F16(place) vload_half(0, place)
#define STORE_F16(x, place) vstore_half_rte(x, 0, place)
#endif
""",
    "load_f16": """
float load_f16(__global const half *place) {
  return LOAD_F16(place);
}
""",
    "store_f16": """
void store_f16(float x, __global half *place) {
  STORE_F16(x, place);
}
""",
    "to_bits_f16": """
ushort to_bits_f16(float x) {
  uchar2 bits;
  STORE_F16(x, (half *)&bits);
  return as_ushort(bits);
}
""",
    "from_bits_f16": """
float from_bits_f16(ushort x) {
  uchar2 bits = as_uchar2(x);
  return LOAD_F16((half *)&bits);
}
""",
    "round_f16": """
float round_f16(float x) {
  return from_bits_f16(to_bits_f16(x));
}
""",
    "round_f16_f64": """
float round_f16_f64(double x) {
  uchar2 bits;
  vstore_half_rte(x, 0, (half *)&bits);
  return vload_half(0, (half *)&bits);
}
""",
    "nextafter_f16": """
float nextafter_f16(float x, float y) {
  if (isnan(x) || isnan(y)) return NAN;
  if (x == y) return y;
  if (x == 0) return copysign(from_bits_f16(1), y);
  ushort bits = to_bits_f16(x);
  return from_bits_f16((ushort)((x < y) == (x > 0) ? bits + 1 : bits - 1));
}
""",
}

for _width in (2, 4, 8, 16):
    # Ties to even at the last of eleven bits. Below the least normal number, one half
    # added makes the sum as coarse as halves are there; what is too large is infinite.
    HALF[f"round_f16_{_width}"] = """
float# round_f16_#(float# x) {
  uint# sign = as_uint#(x) & 0x80000000u, bits = as_uint#(x) ^ sign;
  float# size = as_float#(bits);
  float# near = as_float#((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
  near = near > 65504.0f ? (float#)(INFINITY) : near;
  near = size < 0x1p-14f ? (size + 0.5f) - 0.5f : near;
  near = size == size ? near : size;
  return as_float#(as_uint#(near) | sign);
}
""".replace("#", str(_width))
    HALF[f"load_f16_{_width}"] = """
float# load_f16_#(__global const half *place) {
  float parts[#];
  for (int i = 0; i < #; i++) parts[i] = LOAD_F16(place + i);
  return vload#(0, parts);
}
""".replace("#", str(_width))
    HALF[f"store_f16_{_width}"] = """
void store_f16_#(float# x, __global half *place) {
  float parts[#];
  vstore#(x, 0, parts);
  for (int i = 0; i < #; i++) STORE_F16(parts[i], place + i);
}
""".replace("#", str(_width))

_MACROS = dict.fromkeys(("LOAD_F16", "STORE_F16"), "access_f16")
_WORDS = {8: "char", 16: "short", 32: "int", 64: "long"}


def has_function(name: str, type_: ScalarType, of_vectors: bool = False) -> bool:
    """Whether an operator has a function, named like `shl_i32`, `shl_i32_16`."""
    match type_.kind, type_.bits:
        case "int" | "uint", _ if name in _OF_WORDS:
            return of_vectors and type_ == _OF_WORDS[name]
        case "int" | "uint", _:
            return name in ({*_OF_VECTORS, *ROUNDED} if of_vectors else _SIGNED)
        case "float", 16:
            return not of_vectors and name in ("to_bits", "from_bits", "nextafter")
        case "float", bits:
            return name == "pow" or has_float_function(name, bits, of_vectors)
    return False


def helper_source(helper: str) -> list[tuple[str, str]]:
    """The function of that name after those it calls: pairs of name and C text."""
    if helper in HALF:
        text = HALF[helper].lstrip()
        called = dict.fromkeys(re.findall(r"\b\w+_f16\b|LOAD_F16|STORE_F16", text))
        before = [_MACROS.get(name, name) for name in called]
        pairs = [
            pair for name in before if name != helper for pair in helper_source(name)
        ]
        return [*pairs, (helper, text)]
    if (conversion := conversion_source(helper)) is not None:
        return conversion
    named = re.fullmatch(r"(\w+?)_([iuf]\d+)_?(\d*)", helper)
    assert named is not None, helper
    name, type_name, width = named.groups()
    if name == "pow" and type_name in ("f32", "f64"):
        return power_source(type_name, width)
    if type_name in ("f32", "f64"):
        return [(helper, float_function(name, type_name, width))]
    text = _numeric(name, SCALARS[type_name], width).lstrip()
    others = set(re.findall(r"\b[a-z]+_[iuf]\d+(?:_\d+)?\b", text)) - {helper}
    pairs = [pair for other in sorted(others) for pair in helper_source(other)]
    return [*pairs, (helper, text)]


def _numeric(name: str, type_: ScalarType, width: str) -> str:
    word = _WORDS[type_.bits]
    own = word if type_.kind == "int" else f"u{word}"
    templates = _SIGNED if type_.kind == "int" else _UNSIGNED
    all_ones = (1 << type_.bits) - 1
    if width and name in ROUNDED:
        return quotient_function(name, type_, own).replace("#", width)
    if width:
        templates = _OF_VECTORS
    text = templates[name].format(
        own=own,
        unsigned=f"u{word}",
        wide="ulong" if type_.bits == 64 else "uint",
        bits=type_.bits,
        bits_above=type_.bits - 8,
        pairs=hex(all_ones // 3),
        fours=hex(all_ones // 5),
        bytes=hex(all_ones // 17),
        ones=hex(all_ones // 255),
        all_ones=hex(all_ones),
        half=int(width) // 2 if width and int(width) > 2 else "",
        type=type_,
        shifted_out="x < (X#)(0) ? (X#)(-1) : (X#)(0)".replace("X", own)
        if type_.kind == "int"
        else f"({own}#)(0)",
    )
    return re.sub(r"#(?!ifdef|else|endif)", width, text)
