"""The memory of the process as memory of the device, where a device shares it.

    host_memory()                    bytes that this machine, or its container, has
    available_memory()               bytes that are free, or that the system can free
    share(cl, context, host, most)   what kernels get for a NumPy array, in place

A buffer over the process's memory (`CL_MEM_USE_HOST_PTR`) may be as large as the driver
says, which for PoCL is a quarter of the machine's memory; nothing but the check is
behind that. Larger arrays are passed as pointers of shared virtual memory
(`clSetKernelArgSVMPointer`), which PoCL's processors take of any address. Commands on
buffers (copies, fills) do not take them: the host executes those.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

SHARE = 0.8
"""of the machine's memory for all arrays of a program"""

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""where Linux says what a container may use, in its two versions of cgroups"""


def host_memory() -> int:
    """The bytes of memory of this machine, or of the container; 0 if unknown."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0
    for name in _LIMITS:
        with contextlib.suppress(OSError, ValueError):
            found = min(found, int(Path(name).read_text()))
    return found


def available_memory() -> int | None:
    """The bytes that can be had without swapping; None where the system does not
    say."""
    with contextlib.suppress(OSError):
        text = Path("/proc/meminfo").read_text()
        if match := re.search(r"^MemAvailable: +(\d+) kB", text, re.MULTILINE):
            return int(match[1]) << 10
    return None


def share(cl: Any, context: Any, host: np.ndarray, flags: int, most: int) -> Any:
    """What a kernel gets for a contiguous array that it uses in place: a buffer of at
    most `most` bytes, or a pointer. The array must live as long."""
    if host.nbytes <= most:
        return cl.Buffer(context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=host)
    # pyopencl needs memory that may be written, also where kernels only read
    whole = (ctypes.c_uint8 * host.nbytes).from_address(host.ctypes.data)
    pointer = cl.SVM(whole)
    pointer.address = host.ctypes.data
    return pointer
