"""Kernels are linked without the C library (PoCL 3.0).

PoCL links each kernel by the device's flags for Clang's driver, which adds libraries of
which no kernel uses anything but a function like `memcpy`, if that. To read them is
five sixths of what linking takes (20 of 24 ms, where a small kernel takes 60 in all):

    clang -o kernel.so kernel.o -nostartfiles -shared
    →  clang -o kernel.so kernel.o -nostartfiles -shared -nodefaultlibs -lgcc

The process has the C library, to which the loader binds what a kernel uses of it.
The device's description has the flags:

    struct _cl_device_id { ...; const char **final_linkage_flags; ... }
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any

from minifut.opencl.runtime.driver_target import LONGEST, VERSION, point_to, text_at

KNOWN = (b"-nostartfiles", b"-shared")
"""the flags that are replaced: others are left alone"""
_flags = (ctypes.c_char_p * 5)(*KNOWN, b"-nodefaultlibs", b"-lgcc", None)


def link_without_libraries(handle: Any, version: str) -> bool:
    """Let kernels of a device of PoCL be linked by themselves; gives whether they
    are."""
    if VERSION not in version:
        return False
    flags = ctypes.addressof(_flags)
    return point_to(flags, lambda memory: _place_of_flags(memory, handle.int_ptr))


def _place_of_flags(memory: int, start: int) -> int | None:
    """The address of the pointer to the flags, if they are those known."""
    description = os.pread(memory, LONGEST, start)
    for number, (word,) in enumerate(struct.iter_unpack("<Q", description)):
        try:
            found = struct.unpack("<3Q", os.pread(memory, 24, word))
        except (OSError, OverflowError, struct.error):
            continue  # no address
        *flags, end = found
        if end == 0 and tuple(text_at(memory, flag) for flag in flags) == KNOWN:
            return start + 8 * number
    return None
