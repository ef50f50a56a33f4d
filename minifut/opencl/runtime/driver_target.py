"""One target for kernels and for the library that they call (PoCL 3.0).

PoCL chooses its library of built-in functions by the processor's features, and the
target of kernels by the processor's name. LLVM 14 does not know AMD's Zen 4 and Zen 5,
whose names it gives as `znver3` and `generic`, without AVX-512:

    kernel     znver3            <16 x float> is passed in memory, or in two registers
    library    skylake-avx512    <16 x float> is passed in zmm0

So every built-in function of 512 bits, such as `convert_float16`, gives wrong values or
crashes the code generator. No option or variable of PoCL sets the target of kernels.
Its description of the device has it, as two neighbours:

    struct _cl_device_id { ...; char *llvm_target_triplet; char *llvm_cpu; ... }

The second one is replaced by the library's. On a processor known to LLVM, both agree
and nothing is changed.
"""

from __future__ import annotations

import ctypes
import os
import struct
from itertools import pairwise
from typing import Any

VERSION = "PoCL 3.0"
TRIPLE = b"x86_64-unknown-linux-gnu"
AVX512_INTS = 16
"""ints in a native vector, by which PoCL reports that its library uses AVX-512"""
AVX512_TARGET = "skylake-avx512"
"""for which PoCL's library with AVX-512 was compiled"""
WITHOUT_AVX512 = ("znver3", "generic")
"""how LLVM 14 calls processors with AVX-512 that it does not know"""
LONGEST = 2048
"""bytes of the description of a device that are examined; it has more"""

_target = ctypes.create_string_buffer(AVX512_TARGET.encode())


def aligned_target(handle: Any, version: str) -> str:
    """Let kernels of a device of PoCL be compiled for what its library was compiled
    for. Gives that target; an empty text where PoCL's own choice stays."""
    if VERSION not in version or handle.native_vector_width_int != AVX512_INTS:
        return ""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return ""
    try:
        place = _place_of_target(memory, handle.int_ptr)
    finally:
        os.close(memory)
    if place is None:
        return ""
    ctypes.c_void_p.from_address(place).value = ctypes.addressof(_target)
    return AVX512_TARGET


def _place_of_target(memory: int, start: int) -> int | None:
    """The address of the pointer to the name of a processor without AVX-512."""
    description = os.pread(memory, LONGEST, start)
    words = [word for (word,) in struct.iter_unpack("<Q", description)]
    names = {name.encode() for name in (*WITHOUT_AVX512, AVX512_TARGET)}
    for number, (triple, name) in enumerate(pairwise(words)):
        if _text(memory, triple) == TRIPLE and _text(memory, name) in names:
            return start + 8 * (number + 1)
    return None


def _text(memory: int, address: int) -> bytes:
    """The text at an address, nothing where no memory is: a read through the file
    fails where one through a pointer would end the process."""
    try:
        return os.pread(memory, 32, address).partition(b"\0")[0]
    except (OSError, OverflowError):
        return b""
