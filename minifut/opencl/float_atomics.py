"""Atomic additions of floats: native where the device has them.

minifut_add_f32_global(place, value)

cl_ext_float_atomics    atomic_fetch_add_explicit, in OpenCL C 3.0
NVIDIA                  PTX's red.add (subnormals in global memory count as 0)
elsewhere               compare and swap, until no update was between
"""

from __future__ import annotations

from string import Template

_TEXT = Template("""\
static void $name(volatile __$space $float *place, $float value)
{
#if defined(__opencl_c_ext_fp${bits}_${space}_atomic_add) && __OPENCL_C_VERSION__ >= 300
    atomic_fetch_add_explicit((volatile __$space atomic_$float *)place, value,
                              memory_order_relaxed);
#elif defined(__NVPTX__) || defined(cl_nv_pragma_unroll)
    __asm__ volatile("red.$ptx.add.f$bits [%0], %1;"
                     :: "l"(place), "$register"(value) : "memory");
#else
    volatile __$space $word *cell = (volatile __$space $word *)place;
    $word found = ${atom}_add(cell, 0), seen;
    do {
        seen = found;
        found = ${atom}_cmpxchg(cell, seen, as_$word(as_$float(seen) + value));
    } while (found != seen);
#endif
}
""")
_SIZES = {
    32: {"float": "float", "word": "uint", "atom": "atomic", "register": "f"},
    64: {"float": "double", "word": "ulong", "atom": "atom", "register": "d"},
}
_SPACES = {"global": "global", "local": "shared"}


def addition(bits: int, space: str) -> str:
    """The name of the function that adds to a float in a memory."""
    return f"minifut_add_f{bits}_{space}"


ADDITIONS = {
    addition(bits, space): _TEXT.substitute(
        sizes, name=addition(bits, space), bits=bits, space=space, ptx=ptx
    )
    for bits, sizes in _SIZES.items()
    for space, ptx in _SPACES.items()
}
