"""Identifiers that OpenCL C, its headers or a driver's may define.

    is_opencl_word("M_PI"), is_opencl_word("image2d_t")     True
    is_opencl_word("xs"), is_opencl_word("Total")           False

A program may call a variable anything. One called like a macro becomes the macro's
text, one called like a type or function hides it, and which there are differs from
driver to driver. So what may be one of theirs is separated, by its form, from what
never is: macros are written in capitals, types end in `_t` or a vector's width, and
functions are listed in the specification (OpenCL C 3.0, section 6). A name `x_..` with
a number at its end has none of these forms."""

from __future__ import annotations

import re

_WORDS = """
    alignas alignof as asm auto convert bool break case char complex const constant
    constexpr continue
    default delete do double else enum event extern false float for fract frexp generic
    global goto half i386 if imaginary inline int kernel linux local long main new
    noreturn nullptr opencl pipe private quad register restrict return sampler short
    signed size_t sizeof static struct switch template this thread_local throw true
    typedef typename typeof uchar uint ulong uniform union unix unsigned ushort using
    virtual void volatile while

    abs acos acosh acospi all any asin asinh asinpi atan atan2 atan2pi atanh atanpi
    barrier bitselect cbrt ceil clamp clz copysign cos cosh cospi cross ctz degrees
    distance dot erf erfc exp exp10 exp2 expm1 fabs fast_distance fast_length
    fast_normalize fdim fence fill_pattern floor fma fmax fmin fmod hadd hypot ilogb
    isequal isfinite isgreater isgreaterequal isinf isless islessequal islessgreater
    isnan isnormal isnotequal isordered isunordered ldexp length lgamma lgamma_r log
    log10 log1p log2 logb mad mad24 mad_hi mad_sat max maxmag memory min minmag mix modf
    mul24 mul_hi nan nextafter normalize popcount pow pown powr prefetch printf radians
    remainder remquo reserve rhadd rint rootn rotate round rsqrt select shuffle shuffle2
    sign signbit sin sincos sinh sinpi smoothstep sqrt step sub_sat add_sat tan tanh
    tanpi tgamma to_global to_local to_private trunc upsample vec_step wait

    failure
"""
_KNOWN = frozenset(_WORDS.split())
_FORMS = re.compile(
    r"""[A-Z][A-Z0-9_]+ | I | CLK_\w*
    | .*_t
    | (?:char|uchar|short|ushort|int|uint|long|ulong|half|float|double|bool|quad)\d+.*
    | (?:amd|arm|as|async|atom|atomic|cl|clk|commit|convert|enqueue|get|half|image|intel
      |is_valid|mem|memory|native|ndrange|nv|nvidia|opencl|pocl|qcom|read|release
      |reserve|retain|set|sub_group|vload|vloada|vstore|vstorea|wait|work_group|write
      |create|capture)_.*
    | (?:vload|vstore|vloada|vstorea|image\d|imagebuffer|read_image|write_image)\w*
    """,
    re.VERBOSE,
)


def is_opencl_word(text: str) -> bool:
    """Whether an OpenCL compiler may know the identifier."""
    return text in _KNOWN or _FORMS.fullmatch(text) is not None
