"""A launch during which other threads of Python run.

    event = enqueue_unlocked(commands, queue, (256,), (32,), arguments)

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
    import pyopencl as cl

    function = _function()
    if function is None:
        return commands.enqueue(queue, sizes, local, *arguments)
    commands.set_arguments(*arguments)
    extents = ctypes.c_size_t * len(sizes)
    event = ctypes.c_void_p()
    code = function(
        queue.int_ptr,
        commands.kernel.int_ptr,
        len(sizes),
        None,
        extents(*sizes),
        extents(*local),
        0,
        None,
        ctypes.byref(event),
    )
    if code != 0:  # pyopencl finds the same, and its exception
        return commands.enqueue(queue, sizes, local, *arguments)
    return cl.Event.from_int_ptr(event.value or 0, retain=False)


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
