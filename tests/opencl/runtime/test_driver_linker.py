"""Kernels are linked by themselves, and find what they use of the C library."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from minifut.opencl.runtime.driver_linker import KNOWN, link_without_libraries
from minifut.opencl.runtime.driver_target import VERSION

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the package of PoCL is for Linux"
)


class Description:
    """What PoCL knows about a device, with these flags for its linker."""

    def __init__(self, *flags: bytes) -> None:
        self.flags = (ctypes.c_char_p * (len(flags) + 1))(*flags, None)
        self.words = (ctypes.c_uint64 * 512)(3, 1 << 63, (1 << 64) - 1)
        self.words[87] = ctypes.addressof(self.flags)
        self.int_ptr = ctypes.addressof(self.words)

    def now(self) -> list[bytes]:
        place = ctypes.cast(self.words[87], ctypes.POINTER(ctypes.c_char_p))
        found: list[bytes] = []
        for flag in place:
            if flag is None:
                return found
            found.append(flag)
        raise AssertionError


def test_no_library_is_linked_but_that_of_the_compiler() -> None:
    device = Description(*KNOWN)
    assert link_without_libraries(device, f"OpenCL 3.0 {VERSION}-rc2")
    assert device.now() == [*KNOWN, b"-nodefaultlibs", b"-lgcc"]


@pytest.mark.parametrize("flags", [(), KNOWN[:1], (*KNOWN, b"-lm"), KNOWN[::-1]])
def test_other_flags_stay_as_they_are(flags: tuple[bytes, ...]) -> None:
    device = Description(*flags)
    assert not link_without_libraries(device, VERSION)
    assert device.now() == list(flags)


def test_other_versions_stay_as_they_are() -> None:
    device = Description(*KNOWN)
    assert not link_without_libraries(device, "OpenCL 3.0 PoCL 6.0")
    assert device.now() == list(KNOWN)
    empty = SimpleNamespace(int_ptr=ctypes.addressof((ctypes.c_uint64 * 512)()))
    assert not link_without_libraries(empty, VERSION)


SOURCE = """
kernel void copy(global const long *xs, global long *ys, long n) {
    long read[64], own[64];
    for (long i = 0; i < 64; i++) read[i] = xs[i];
    __builtin_memset(own, 0, sizeof(own));
    __builtin_memcpy(own, read, 8 * n);
    for (long i = 0; i < 64; i++) ys[i] = own[i] % (read[i] + n);
}"""


@pytest.mark.device
@pytest.mark.parametrize("options", ["", "-cl-opt-disable"])
def test_kernels_call_functions_of_the_process(options: str) -> None:
    cl = pytest.importorskip("pyopencl")
    from minifut.opencl.runtime.device import open_device

    context = cl.Context([open_device().handle])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    xs, ys = np.arange(50, 114), np.ones(64, np.int64)
    buffers = [cl.Buffer(context, flags, hostbuf=array) for array in (xs, ys)]
    program = cl.Program(context, SOURCE).build(options, cache_dir=False)
    cl.Kernel(program, "copy")(queue, (1,), (1,), *buffers, np.int64(60))
    cl.enqueue_copy(queue, ys, buffers[1])
    np.testing.assert_array_equal(ys, [*xs[:60], 0, 0, 0, 0])
