"""Loads and stores of active lanes, by instructions and without them."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.opencl.masked_accesses import (
    INTEGERS,
    MASKED_ACCESSES,
    SHAPES,
    masked_access,
    required,
)

PORTABLE = "#undef __AVX2__\n#undef __AVX512VL__\n"
ELEMENTS = 64


def kernel(lanes: int, bits: int) -> str:
    """Copy the active ones of some lanes from one array to another, at a place each."""
    type_ = INTEGERS[bits]
    helpers = dict.fromkeys(
        [*required("load", lanes, bits), *required("store", lanes, bits)]
    )
    return "".join(MASKED_ACCESSES[h] for h in helpers) + (
        f"__kernel void moved(__global const {type_} *xs, __global {type_} *ys,\n"
        f"                    __global const int *active, long from, long to) {{\n"
        f"  int{lanes} mask = vload{lanes}(0, active);\n"
        f"  {type_}{lanes} x = {masked_access('load', lanes, bits)}(xs + from, mask);\n"
        f"  {masked_access('store', lanes, bits)}(ys + to, mask, x + 1);\n"
        f"}}\n"
    )


@pytest.mark.device
@pytest.mark.parametrize("prefix", ["", PORTABLE], ids=["native", "portable"])
@pytest.mark.parametrize(("lanes", "bits"), SHAPES)
def test_active_lanes_are_moved(lanes: int, bits: int, prefix: str) -> None:
    """At places before the beginning and beyond the end as well, where no lane is
    active that is outside of the array."""
    from minifut.opencl.runtime import open_session

    session = open_session()
    cl, random = session.cl, np.random.default_rng(lanes + bits)
    program = cl.Program(session.context, prefix + kernel(lanes, bits)).build()
    moved = cl.Kernel(program, "moved")
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    xs = random.integers(1, 1 << 30, ELEMENTS).astype(f"i{bits // 8}")
    for start in (-lanes + 1, -1, 0, 3, ELEMENTS - lanes, ELEMENTS - 2):
        places = start + np.arange(lanes)
        inside = (places >= 0) & (places < ELEMENTS)
        active = inside & (random.random(lanes) < 0.6)
        ys = np.zeros_like(xs)
        expected = ys.copy()
        expected[places[active]] = xs[places[active]] + 1
        buffers = [
            cl.Buffer(session.context, flags, hostbuf=array)
            for array in (xs, ys, -active.astype(np.int32))
        ]
        moved(session.queue, (1,), (1,), *buffers, np.int64(start), np.int64(start))
        cl.enqueue_copy(session.queue, ys, buffers[1])
        np.testing.assert_array_equal(ys, expected)


@pytest.mark.device
@pytest.mark.parametrize("prefix", ["", PORTABLE], ids=["native", "portable"])
@pytest.mark.parametrize(("lanes", "bits"), SHAPES)
def test_active_lanes_gather(lanes: int, bits: int, prefix: str) -> None:
    """At any indices, of which those of other lanes are far outside of the array."""
    from minifut.opencl.runtime import open_session

    type_, name = INTEGERS[bits], masked_access("gather", lanes, bits)
    text = "".join(MASKED_ACCESSES[h] for h in required("gather", lanes, bits)) + (
        f"__kernel void gathered(__global const {type_} *xs, __global {type_} *ys,\n"
        f"                       __global const long *at, __global const int *active) {{\n"
        f"  int{lanes} mask = vload{lanes}(0, active);\n"
        f"  vstore{lanes}({name}(xs, vload{lanes}(0, at), mask), 0, ys);\n"
        f"}}\n"
    )
    session = open_session()
    cl, random = session.cl, np.random.default_rng(lanes + bits)
    program = cl.Program(session.context, prefix + text).build()
    gathered = cl.Kernel(program, "gathered")
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    xs = random.integers(1, 1 << 30, ELEMENTS).astype(f"i{bits // 8}")
    for likely in (0, 0.5, 1):
        active = random.random(lanes) < likely
        at = np.where(active, random.integers(0, ELEMENTS, lanes), 1 << 50)
        ys = np.full(lanes, 7, xs.dtype)
        arrays = (xs, ys, at, -active.astype(np.int32))
        buffers = [cl.Buffer(session.context, flags, hostbuf=a) for a in arrays]
        gathered(session.queue, (1,), (1,), *buffers)
        cl.enqueue_copy(session.queue, ys, buffers[1])
        expected = np.where(active, xs[np.where(active, at, 0)], 0)
        np.testing.assert_array_equal(ys, expected)
