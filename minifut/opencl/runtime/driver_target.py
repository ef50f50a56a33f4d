"""One target for kernels and for the library that they call (PoCL 3.0).

PoCL chooses its library of built-in functions by the processor's features, and the
target of kernels by the processor's name. LLVM 14 does not know AMD's Zen 4 and Zen 5,
whose names it gives as `znver3` and `generic`, without AVX-512:

    kernel     znver3            <16 x float> is passed in memory, or in two registers
    library    skylake-avx512    <16 x float> is passed in zmm0

So every built-in function of 512 bits, such as `convert_float16`, gives wrong values or
crashes the code generator. With AVX2 alone both pass vectors in the same way, but LLVM
inlines no function that may use an instruction (`ermsb` here) which its caller may not:

    kernel     znver3            fma on vectors is a call, around which all registers
    library    haswell           are saved
    kernel     haswell           fma on vectors is one instruction

So it is with Intel's processors that LLVM takes for those of clients, as it does in
virtual machines which hide an instruction of servers (`clwb`, `pku`): the library is
that of servers. None of these instructions is in any kernel.

    kernel     icelake-client    clz is a call, which keeps a loop from being vectors
    library    skylake-avx512

No option or variable of PoCL sets the target of kernels. Its description of the device
has it, as two neighbours:

    struct _cl_device_id { ...; char *llvm_target_triplet; char *llvm_cpu; ... }

The second one is replaced by the library's. On processors of which LLVM knows all that
the library may use, nothing is changed.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from minifut.immutables import immutable

VERSION = "PoCL 3.0"
TRIPLE = b"x86_64-unknown-linux-gnu"


@immutable
class Library:
    """A library of PoCL: what it was compiled for, and how LLVM 14 calls processors
    that run it but that miss some of its instructions in LLVM's opinion."""

    target: str
    processors: tuple[str, ...]


CLIENTS = ("cannonlake", "icelake-client", "rocketlake", "tigerlake")
AVX512 = Library("skylake-avx512", ("znver3", "generic", *CLIENTS))
AVX2 = Library("haswell", ("znver1", "znver2", "znver3", "generic"))
LIBRARIES = {16: AVX512, 8: AVX2}
"""by the ints in a native vector, by which PoCL reports what its library uses"""
AVX2_FLAGS = {"avx2", "bmi2", "fma"}
_texts = {
    library.target: ctypes.create_string_buffer(library.target.encode())
    for library in LIBRARIES.values()
}
LONGEST = 2048
"""bytes of the description of a device that are examined; it has more"""


def aligned_target(handle: Any, version: str) -> str:
    """Let kernels of a device of PoCL be compiled for what its library was compiled
    for. Gives that target; an empty text where PoCL's own choice stays."""
    library = LIBRARIES.get(handle.native_vector_width_int)
    if VERSION not in version or library is None or not _has_avx2():
        return ""
    text = ctypes.addressof(_texts[library.target])
    start = handle.int_ptr
    done = point_to(text, lambda memory: _place_of_target(memory, start, library))
    return library.target if done else ""


def point_to(address: int, place_in: Callable[[int], int | None]) -> bool:
    """Replace the pointer that is found in the memory of the process, an open file, by
    another address; gives whether there is one."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return False
    try:
        place = place_in(memory)
    finally:
        os.close(memory)
    if place is not None:
        ctypes.c_void_p.from_address(place).value = address
    return place is not None


def _has_avx2() -> bool:
    """Whether the processor, whatever LLVM calls it, has what both libraries use."""
    try:
        lines = Path("/proc/cpuinfo").read_text("ascii", "replace").splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.split()) >= AVX2_FLAGS


def _place_of_target(memory: int, start: int, library: Library) -> int | None:
    """The address of the pointer to the name of one of the library's processors."""
    description = os.pread(memory, LONGEST, start)
    words = [word for (word,) in struct.iter_unpack("<Q", description)]
    names = {name.encode() for name in (*library.processors, library.target)}
    for number, (triple, name) in enumerate(pairwise(words)):
        if text_at(memory, triple) == TRIPLE and text_at(memory, name) in names:
            return start + 8 * (number + 1)
    return None


def text_at(memory: int, address: int) -> bytes:
    """The text at an address, nothing where no memory is: a read through the file
    fails where one through a pointer would end the process."""
    try:
        return os.pread(memory, 32, address).partition(b"\0")[0]
    except (OSError, OverflowError):
        return b""
