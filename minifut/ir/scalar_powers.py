"""Powers of floats, of vectors and of single numbers, as C functions.

    pow(x, y) = 2 ** (y * log2(|x|)), then signs, zeros, infinities and NaN

Those of PoCL take ten times as long as what is made of `exp` and `log`. The logarithm
is a series in s = (m - 1) / (m + 1), where m is the mantissa between sqrt(1/2) and
sqrt(2). For f32 everything is computed in f64, so that results are rounded once. For
f64 the logarithm has two parts, a sum of two f64 that is right to 2^-65: its largest
terms are added and multiplied with their errors (Dekker). Within 0.51 and 0.8 units in
the last place.

Not on GPUs, whose f64 is slow, and whose own powers are not.

Sources: Dekker, "A floating-point technique for extending the available precision"
(1971); Muller and others, "Handbook of floating-point arithmetic" (2018), 14.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

from minifut.ir.c_types import C_NAMES

LOGARITHM_TERMS = {"f32": 8, "f64": 13}
"""of the series 2 s^(2i + 1) / ((2i + 1) ln 2)"""
EXPONENTIAL_TERMS = {"f32": 10, "f64": 14}
"""of the series (f ln 2)^i / i!, |f| <= 1/2"""
MOST_LANES = 8
"""that are computed together; more leave no registers"""
ON_CPU = "defined(__x86_64__) || defined(__aarch64__)"

_MANTISSA = """
  ulong@ bits = as_ulong@(b), up = (bits + 0x00195f619980c433UL) >> 52;
  double@ m = as_double@(bits - ((up - 0x400UL) << 52));
  double@ k = as_double@(up + 0x4330000000000000UL) - (0x1p52 + 1024.0);"""

_F32 = """
  double@ b = convert_double@(fabs(x)), t = convert_double@(y);{mantissa}
  double@ s = (m - 1.0) / (m + 1.0), z = s * s;
  double@ p = {logarithm};
  t *= fma(s, p, k);
  t = t > 200.0 ? (double@)(200.0) : t < -200.0 ? (double@)(-200.0) : t;
  double@ near = t + 0x1.8p52, f = t - (near - 0x1.8p52);
  double@ q = {exponential};
  float@ r = convert_float@(as_double@(as_ulong@(q) + (as_ulong@(near) << 52)));"""

_F64 = """
  long@ tiny = fabs(x) < 0x1p-1022;
  double@ b = tiny ? fabs(x) * 0x1p54 : fabs(x);{mantissa}
  k = tiny ? k - 54.0 : k;
  double@ n = m - 1.0, d = m + 1.0, to_one = 1.0 / d, s = n * to_one;
  double@ s_low = fma(-s, m - (d - 1.0), fma(-s, d, n)) * to_one;
  double@ z = s * s, z_low = fma(s, s, -z) + 2.0 * s * s_low;
  double@ p = z * ({logarithm});
  double@ w = {c1} + p, w_low = ({c1} - w) + p + {c1_low};
  double@ u = z * w, u_low = fma(z, w, -u) + (z * w_low + z_low * w);
  double@ v = {c0} + u, v_low = ({c0} - v) + u + (u_low + {c0_low});
  double@ l = s * v, l_low = fma(s, v, -l) + (s * v_low + s_low * v);
  double@ h = k + l, h_low = (k - h) + l + l_low;
  double@ t = y * h, t_low = fma(y, h, -t) + y * h_low;
  long@ far = fabs(t) > 1100.0;
  t_low = far ? (double@)(0.0) : t_low;
  t = far ? copysign((double@)(1100.0), t) : t;
  double@ near = t + 0x1.8p52, f = t - (near - 0x1.8p52);
  double@ g = f * fma(f, {exponential}, (double@)({ln2_low}));
  g = fma(t_low * {ln2}, 1.0 + fma(f, (double@)({ln2}), g), g);
  double@ q = 1.0 + fma(f, (double@)({ln2}), g);
  ulong@ whole = as_ulong@(near) - 0x4338000000000000UL;
  ulong@ first = ((whole + 4096UL) >> 1) - 2048UL;
  double@ r = q * as_double@((first + 1023UL) << 52);
  r *= as_double@((whole - first + 1023UL) << 52);"""

_POWER = """
{own}@ pow_{type}{suffix}({own}@ x, {own}@ y) {{
#if {on_cpu}
#pragma OPENCL FP_CONTRACT OFF{magnitude}
  {own}@ a = fabs(x), e = fabs(y), both = x + y, half_of_y = e * {half};
  {word}@ whole_y = (e >= {exact}) | ((e + {exact}) - {exact} == e);
  {word}@ odd = whole_y & (e < {even}) & ((half_of_y + {exact}) - {exact} != half_of_y);
  {word}@ ends = (a == {zero}) | (a == INFINITY) | (e == INFINITY);
  {word}@ grows = ((a > {one}) & (y > {zero})) | ((a < {one}) & (y < {zero}));
  r = ends ? (grows ? ({own}@)(INFINITY) : ({own}@)({zero})) : r;
  r = (a == {one}) ? ({own}@)({one}) : r;
  {word}@ below = as_{word}@(x) < {none};
  r = below & odd ? -r : r;
  r = (x < {zero}) & (a != INFINITY) & (e != INFINITY) & (whole_y == {none})
    ? ({own}@)(NAN) : r;
  r = (x != x) | (y != y) ? both : r;
  return (x == {one}) | (y == {zero}) ? ({own}@)({one}) : r;
#else
  return pow(x, y);
#endif
}}
"""


_PARTS = """
{own}{width} pow_{type}_{width}({own}{width} x, {own}{width} y) {{
  return ({own}{width})(pow_{type}_{part}(x.lo, y.lo), pow_{type}_{part}(x.hi, y.hi));
}}
"""


def power_source(type_: str, width: str) -> list[tuple[str, str]]:
    """The function for a type and a number of lanes, or for single numbers, and those
    that it calls: of more lanes than registers hold it is made in two parts."""
    name = f"pow_{type_}_{width}" if width else f"pow_{type_}"
    if width and int(width) > MOST_LANES:
        part, own = int(width) // 2, C_NAMES[type_]
        text = _PARTS.format(own=own, type=type_, width=width, part=part)
        return [*power_source(type_, str(part)), (name, text.lstrip())]
    return [(name, _power(type_, width))]


def _power(type_: str, width: str) -> str:
    numbers = {"half": 0.5, "zero": 0.0, "one": 1.0}
    mark = "f" if type_ == "f32" else ""
    bits = 23 if type_ == "f32" else 52
    logarithm = [_logarithm(i) for i in range(LOGARITHM_TERMS[type_])]
    exponential = _exponential(EXPONENTIAL_TERMS[type_])
    magnitude = (_F32 if type_ == "f32" else _F64).format(
        mantissa=_MANTISSA,
        logarithm=_horner("z", [h for h, _ in logarithm][2 * (type_ == "f64") :]),
        exponential=_horner("f", exponential[2 * (type_ == "f64") :]),
        ln2=exponential[1],
        ln2_low=_ln2_low(),
        c0=logarithm[0][0],
        c0_low=logarithm[0][1],
        c1=logarithm[1][0],
        c1_low=logarithm[1][1],
    )
    text = _POWER.format(
        own=C_NAMES[type_],
        word=C_NAMES[f"i{type_[1:]}"],
        type=type_,
        suffix=f"_{width}" if width else "",
        on_cpu=ON_CPU,
        magnitude=magnitude,
        exact=f"0x1p{bits}{mark}",
        even=f"0x1p{bits + 1}{mark}",
        none=0,
        **{name: f"{number}{mark}" for name, number in numbers.items()},
    )
    return text.replace("@", width).lstrip()


def _logarithm(term: int) -> tuple[str, str]:
    """A coefficient as a sum of two numbers."""
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(2) / ((2 * term + 1) * Decimal(2).ln())
        high = float(exact)
        return high.hex(), float(exact - Decimal(high)).hex()


def _exponential(count: int) -> list[str]:
    with localcontext() as context:
        context.prec = 60
        term, found = Decimal(1), []
        for i in range(count):
            found.append(float(term).hex())
            term *= Decimal(2).ln() / (i + 1)
        return found


def _ln2_low() -> str:
    """What the nearest f64 lacks of ln 2."""
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(2).ln()
        return float(exact - Decimal(float(exact))).hex()


def _horner(variable: str, coefficients: list[str]) -> str:
    *rest, text = coefficients
    text = f"(double@)({text})"
    for coefficient in reversed(rest):
        text = f"fma({variable}, {text}, (double@)({coefficient}))"
    return text
