"""Reciprocals of vectors of doubles without the divider, as a helper function of C.

    minifut_reciprocal_8x64(b)      1 / b

With AVX-512 a division of eight doubles keeps the divider for 16 cycles (Intel, Skylake
to Sapphire Rapids), and a square root longer, in which 32 multiply-adds could be done.
From 14 bits of 1 / b three Newton iterations give the bits of the division:

    fma(y, fma(-b, y, 1), y)

is 1 / b rounded if y is within an ulp of it, unless all bits of b's fraction are set.
Where a lane has such a divisor, or one that is so small or large that steps might
overflow or be denormal, the vector is divided as always.

Measured: sums over 5,000 bodies with `1 / sqrt(x)` for each pair take 0.63 of the time.
The two corrections that a quotient of others needs take as long as the divider.

Source: P. Markstein, "Computation of elementary functions on the IBM RISC System/6000
processor" (1990); J.-M. Muller et al., "Handbook of Floating-Point Arithmetic", 4.7.
"""

from __future__ import annotations

from minifut.ir.types import F64
from minifut.kernel_ir import nodes as kc

LANES = 8
RECIPROCAL = "minifut_reciprocal_8x64"
LEAST, EXPONENTS = 523, 1000
"""the least exponent of a divisor, 500 below that of 1, and how many there are"""


def divisor_of_one(exp: kc.Operation) -> kc.Expression | None:
    """What 1 is divided by, in an operation on vectors of eight doubles; else None."""
    table = exp.operator
    if table.name != "div" or table.result != F64 or exp.type.lanes != LANES:
        return None
    dividend, divisor = exp.operands
    parts = dividend.components if isinstance(dividend, kc.Vector) else (dividend,)
    ones = all(isinstance(part, kc.Literal) and part.value == 1.0 for part in parts)
    return divisor if ones else None


VECTOR_RECIPROCALS = {
    RECIPROCAL: f"""\
#if defined(POCL_DEVICE_ADDRESS_BITS) && defined(__AVX512F__) && defined(__AVX512DQ__)
typedef double minifut_doubles __attribute__((__vector_size__(64)));
typedef long minifut_longs __attribute__((__vector_size__(64)));
static inline minifut_doubles minifut_fma_8x64(
    minifut_doubles a, minifut_doubles b, minifut_doubles c)
{{
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4);
}}
static inline double8 {RECIPROCAL}(double8 divisor)
{{
  ulong8 bits = as_ulong8(divisor);
  long8 far = ((bits << 1) - ({LEAST}UL << 53)) >= (ulong8)({EXPONENTS}UL << 53);
  long8 full = (bits | (0xFFFUL << 52)) == (ulong8)(~0UL);
  minifut_longs rare = __builtin_astype(far | full, minifut_longs);
  if (__builtin_expect(__builtin_ia32_cvtq2mask512(rare) != 0, 0)) return 1.0 / divisor;
  minifut_doubles b = __builtin_astype(divisor, minifut_doubles);
  minifut_doubles one = {{1, 1, 1, 1, 1, 1, 1, 1}};
  minifut_doubles y = __builtin_ia32_rcp14pd512_mask(b, one, (unsigned char)-1);
  y = minifut_fma_8x64(y, minifut_fma_8x64(-b, y, one), y);
  y = minifut_fma_8x64(y, minifut_fma_8x64(-b, y, one), y);
  y = minifut_fma_8x64(y, minifut_fma_8x64(-b, y, one), y);
  return __builtin_astype(y, double8);
}}
#else
static inline double8 {RECIPROCAL}(double8 divisor) {{ return 1.0 / divisor; }}
#endif
"""
}
