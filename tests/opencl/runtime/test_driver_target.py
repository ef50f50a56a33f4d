"""Kernels are compiled for the processor that PoCL's library was compiled for."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from minifut.opencl.runtime import driver_target
from minifut.opencl.runtime.driver_target import (
    LIBRARIES,
    TRIPLE,
    VERSION,
    Library,
    aligned_target,
)

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the package of PoCL is for Linux"
)


class Description:
    """What PoCL knows about a device, with these texts."""

    def __init__(self, *texts: bytes | None, ints: int = 16) -> None:
        self.texts = [
            None if t is None else ctypes.create_string_buffer(t) for t in texts
        ]
        self.words = (ctypes.c_uint64 * 512)(3, 1 << 63, (1 << 64) - 1)
        for number, text in enumerate(self.texts, 40):
            self.words[number] = 0 if text is None else ctypes.addressof(text)
        self.int_ptr = ctypes.addressof(self.words)
        self.native_vector_width_int = ints

    def text(self, number: int) -> bytes:
        return ctypes.string_at(self.words[40 + number])


@pytest.fixture(autouse=True)
def with_avx2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_target, "_has_avx2", lambda: True)


CASES = [
    (ints, library, name)
    for ints, library in LIBRARIES.items()
    for name in (*library.processors, library.target)
]


@pytest.mark.parametrize(("ints", "library", "name"), CASES)
def test_the_target_of_the_library_replaces_one_that_misses_some_of_it(
    ints: int, library: Library, name: str
) -> None:
    device = Description(b"pthread", None, TRIPLE, name.encode(), b"generic", ints=ints)
    assert aligned_target(device, f"OpenCL 3.0 {VERSION}-rc2") == library.target
    assert device.text(3) == library.target.encode()
    assert (device.text(2), device.text(4)) == (TRIPLE, b"generic")


@pytest.mark.parametrize("ints", LIBRARIES)
def test_other_devices_stay_as_they_are(
    ints: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Description(TRIPLE, b"cascadelake", b"znver3", ints=ints)
    assert aligned_target(device, VERSION) == ""
    assert device.text(1) == b"cascadelake" and device.text(2) == b"znver3"
    device = Description(TRIPLE, b"znver3", ints=ints)
    assert aligned_target(device, "OpenCL 3.0 PoCL 6.0") == ""
    narrow = SimpleNamespace(int_ptr=device.int_ptr, native_vector_width_int=4)
    assert aligned_target(narrow, VERSION) == ""
    monkeypatch.setattr(driver_target, "_has_avx2", lambda: False)
    assert aligned_target(device, VERSION) == ""
    assert device.text(1) == b"znver3"


SOURCE = """
kernel void wide(global const int *xs, global float *ys, global int *zs) {
    int16 x = vload16(0, xs);
    vstore16(sqrt(convert_float16(x) * 2.0f), 0, ys);
    zs[0] = any(x == 7) + 2 * any(x == 99) + 4 * all(x >= 0);
}"""


@pytest.mark.device
@pytest.mark.parametrize("options", ["", "-cl-opt-disable"])
def test_built_in_functions_take_and_give_wide_vectors(options: str) -> None:
    cl = pytest.importorskip("pyopencl")
    from minifut.opencl.runtime.device import open_device

    context = cl.Context([open_device().handle])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    xs, ys, zs = (
        np.arange(16, dtype=np.int32),
        np.zeros(16, np.float32),
        np.zeros(1, np.int32),
    )
    buffers = [cl.Buffer(context, flags, hostbuf=array) for array in (xs, ys, zs)]
    program = cl.Program(context, SOURCE).build(options, cache_dir=False)
    cl.Kernel(program, "wide")(queue, (1,), (1,), *buffers)
    for array, buffer in zip((ys, zs), buffers[1:], strict=True):
        cl.enqueue_copy(queue, array, buffer)
    np.testing.assert_allclose(ys, np.sqrt(2 * xs), rtol=1e-6)
    assert zs[0] == 1 + 4
