"""A launch during which other threads of Python run.

    event = enqueue_unlocked(commands, queue, (256,), (32,), arguments)
    event = start_unlocked(queue, kernel, (256,), (32,))      # with arguments as set

PoCL compiles a kernel when it is launched first, for seconds where it is large; on its
synchronous device in the thread that launches it. pyopencl keeps Python's global lock
in `clEnqueueNDRangeKernel`, so that no thread could answer an interrupt meanwhile; a
call by `ctypes` gives the lock away. It is slower by some microseconds, and made for
first launches only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minifut.opencl.runtime.enqueue import Commands


def enqueue_unlocked(
    commands: Commands,
    queue: Any,
    sizes: Sequence[int],
    local: Sequence[int],
    arguments: Sequence[Any],
) -> Any:
    """Enqueue a kernel; its event. Raises what pyopencl raises."""
    commands.set_arguments(*arguments)
    return start_unlocked(queue, commands.kernel, sizes, local)


def start_unlocked(
    queue: Any, kernel: Any, sizes: Sequence[int], local: Sequence[int]
) -> Any:
    """Enqueue a kernel with arguments as set; its event."""
    import pyopencl as cl
    from pyopencl import _cl

    function = _function()
    if function is not None:
        extents = ctypes.c_size_t * len(sizes)
        event = ctypes.c_void_p()
        code = function(
            queue.int_ptr,
            kernel.int_ptr,
            len(sizes),
            None,
            extents(*sizes),
            extents(*local),
            0,
            None,
            ctypes.byref(event),
        )
        if code == 0:
            return cl.Event.from_int_ptr(event.value or 0, retain=False)
    # where it has failed, pyopencl finds the same, and its exception
    start: Any = _cl.enqueue_nd_range_kernel
    return start(queue, kernel, tuple(sizes), tuple(local), None, None, False, False)


@cache
def _function() -> Any:
    """`clEnqueueNDRangeKernel` of the library that pyopencl is linked with, or None."""
    from pyopencl import _cl

    try:
        function = ctypes.CDLL(_cl.__file__).clEnqueueNDRangeKernel
    except (OSError, AttributeError):
        return None
    pointer = ctypes.c_void_p
    sizes = ctypes.POINTER(ctypes.c_size_t)
    number = ctypes.c_uint32
    function.argtypes = (
        *(pointer, pointer, number, sizes, sizes, sizes, number, pointer),
        ctypes.POINTER(ctypes.c_void_p),
    )
    return function
