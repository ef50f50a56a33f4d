"""The OpenCL spelling of every operator against its NumPy meaning, on a device."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minifut.ir.core import Constant
from minifut.ir.scalar_meaning import apply, dtype_of
from minifut.ir.scalar_opencl import (
    calls_library,
    constant_text,
    helper_text,
    memory_type,
    register_type,
    spelling,
)
from minifut.ir.scalars import Operator, all_operators, operator
from minifut.ir.types import F16, F32, F64, I32, I64, U64, ScalarType
from minifut.opencl.runtime.device import open_device

COUNT = 64
BATCH = 16
"""operators of a kernel"""


def test_constants() -> None:
    assert constant_text(Constant(0.1, F32)) == "0.1f"
    assert constant_text(Constant(1.0, F32)) == "1.0f"
    assert constant_text(Constant(-(2**31), I32)) == "(-2147483647 - 1)"
    assert constant_text(Constant(-3, I64)) == "(-3L)"
    assert constant_text(Constant(2**64 - 1, U64)) == "18446744073709551615UL"
    assert constant_text(Constant(float("-inf"), F64)) == "((double)-INFINITY)"


def test_helpers_come_after_those_they_call() -> None:
    text = helper_text(["round_f16", "div_i32", "round_f16"])
    assert text.index("ushort to_bits_f16") < text.index("float round_f16")
    assert text.count("float round_f16(float") == 1
    assert "int div_i32(int x, int y)" in text


def test_spellings_fit_vectors() -> None:
    add = spelling(operator("add", I32))
    assert add.text("a", "b", width=4) == "as_int4(as_uint4(a) + as_uint4(b))"
    quotient = spelling(operator("div", I32))
    assert quotient.text("a", "b", width=4) == "div_i32_4(a, b)"


def test_rounding_is_one_instruction_where_the_compiler_knows_it() -> None:
    rounding = spelling(operator("round", F32))
    assert rounding.text("x") == "round_f32(x)"
    assert rounding.text("x", width=8) == "round_f32_8(x)"
    assert "__builtin_elementwise_roundeven(x)" in helper_text(["round_f32_8"])
    assert "__builtin_rintf(x)" in helper_text(rounding.helpers)
    assert "__builtin_trunc(x)" in helper_text(spelling(operator("trunc", F64)).helpers)


def operands_of(op: Operator) -> list[np.ndarray]:
    random = np.random.default_rng(11)

    def values(type_: ScalarType) -> np.ndarray:
        dtype = dtype_of(type_)
        if type_.kind == "bool":
            found = random.integers(0, 2, COUNT).astype(bool)
        elif type_.is_integer:
            limits = np.iinfo(dtype)
            low, high = (-40, 40) if op.name == "ldexp" else (limits.min, limits.max)
            found = random.integers(low, high, COUNT, dtype=dtype, endpoint=True)
            found[:24] = random.integers(0, 9, 24)
            if op.name != "ldexp":
                found[24:32] = [limits.min, limits.max, 0, limits.max, 1, 2, 3, 0]
                found[32:36] = found[32:36] | limits.min
        else:
            found = (random.normal(size=COUNT) * 6).astype(dtype)
            found[:8] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5]
            found[8:16] = random.random(8)
            if op.name in ("sin", "cos", "tan"):
                found[16:32] = 10.0 ** np.linspace(-7, 4 if type_ == F16 else 9, 16)
            if op.name == "tanpi":  # devices differ on how infinite a pole is
                found[7] = 0.25
        return random.permutation(found)

    return [values(type_) for type_ in op.operands]


def applied(op: Operator, number: int, width: int) -> tuple[list[str], str]:
    """The parameters of an operator, and the statement that applies it to `width`
    neighbouring elements."""
    parameters, names = [], []
    for i, type_ in enumerate(op.operands):
        name = f"x{number}_{i}"
        parameters.append(f"__global const {memory_type(type_)} *{name}")
        load = f"{name}[i]" if width == 1 else f"vload{width}(i, {name})"
        if type_.name == "f16":
            load = f"vload_half{width if width > 1 else ''}(i, {name})"
        cast = f"({register_type(type_)})" if width == 1 else ""
        names.append(f"({cast}{load})")
    text, out = spelling(op).text(*names, width=width), f"out{number}"
    if op.result.name == "f16":
        store = f"vstore_half{width if width > 1 else ''}_rte({text}, i, {out})"
    else:
        store = (
            f"{out}[i] = {text}" if width == 1 else f"vstore{width}({text}, i, {out})"
        )
    parameters.append(f"__global {memory_type(op.result)} *{out}")
    return parameters, store


def kernel(ops: list[Operator], number: int, width: int) -> str:
    """A kernel that applies several operators: the driver takes as long for a kernel as
    for many operators in it."""
    each = [applied(op, i, width) for i, op in enumerate(ops)]
    parameters = [parameter for own, _ in each for parameter in own]
    stores = "".join(f"  {store};\n" for _, store in each)
    return (
        f"__kernel void test_{number}({', '.join(parameters)}) {{\n"
        f"  size_t i = get_global_id(0);\n{stores}}}\n"
    )


def agree(op: Operator, found: np.ndarray, wanted: np.ndarray) -> bool:
    if op.name == "to_bits":
        # Which of the many NaNs it is, no two conversions agree on.
        shown = np.dtype(f"f{wanted.dtype.itemsize}")
        found, wanted = found.view(shown), wanted.view(shown)
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        return bool(same.all())
    if wanted.dtype.kind != "f":
        return bool((found == wanted).all())
    bits = op.result.bits
    tolerance = {16: 4e-3, 32: 3e-5, 64: 1e-12}[bits]
    if op.name in ("gamma", "lgamma", "pow", "exp10"):
        tolerance *= 10
    with np.errstate(all="ignore"):
        return bool(
            np.allclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
        )


@pytest.mark.device
@pytest.mark.parametrize("width", [1, 4, 8])
def test_every_operator_means_the_same_on_the_device(width: int) -> None:
    cl = pytest.importorskip("pyopencl")
    context = cl.Context([open_device().handle])
    queue = cl.CommandQueue(context)
    table = [op for op in all_operators() if op.name != "fma" or op.type != F64]
    if width > 1:
        table = [op for op in table if spelling(op).vector is not None]
        assert len(table) > 300
    if width > 4:  # where the device's library has functions of its own
        table = [op for op in table if calls_library(op)]
    helpers = [helper for op in table for helper in spelling(op).helpers_for(width)]
    source = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + helper_text(helpers)
    batches = [table[at : at + BATCH] for at in range(0, len(table), BATCH)]
    source += "".join(kernel(ops, i, width) for i, ops in enumerate(batches))
    program = cl.Program(context, source).build()
    wrong = {}
    for i, ops in enumerate(batches):
        given = [operands_of(op) for op in ops]
        wanted = [apply(op, *xs) for op, xs in zip(ops, given, strict=True)]
        buffers = []
        for xs, out in zip(given, wanted, strict=True):
            for host in (*xs, np.zeros_like(out)):
                flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
                buffers.append(cl.Buffer(context, flags, hostbuf=host))
        getattr(program, f"test_{i}")(queue, (COUNT // width,), None, *buffers)
        places = itertools.accumulate(len(xs) + 1 for xs in given)
        for op, xs, out, place in zip(ops, given, wanted, places, strict=True):
            found = np.zeros_like(out)
            cl.enqueue_copy(queue, found, buffers[place - 1])
            if not agree(op, found, out):
                bad = np.flatnonzero(~np.isclose(found, out, equal_nan=True, rtol=1e-2))
                at = bad[0] if len(bad) else 0
                wrong[str(op)] = ([x[at] for x in xs], found[at], out[at])
    assert not wrong
