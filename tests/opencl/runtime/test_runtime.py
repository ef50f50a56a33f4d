"""The runtime under a module written by hand."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from minifut.errors import ProgramError, UsageError
from minifut.opencl import runtime as rt
from minifut.opencl.runtime import queue
from minifut.opencl.runtime.arrays import leave_pool
from minifut.opencl.runtime.pool import PAGE, SEVERAL_PAGES
from tests.opencl.handwritten import PROGRAM

pytestmark = pytest.mark.device


@pytest.fixture(scope="module")
def program() -> rt.Instance:
    return PROGRAM.load()


@pytest.fixture
def xs() -> np.ndarray:
    return np.arange(1000, dtype=np.float32)


# --- scalars ------------------------------------------------------------------------


@pytest.mark.parametrize("type_", rt.DTYPES)
@pytest.mark.parametrize("is_idle", [True, False])
def test_scalars_of_memory(program: rt.Instance, type_: str, is_idle: bool) -> None:
    run, dtype = program.run, rt.DTYPES[type_]
    values: list[Any] = [True, False]
    if dtype.kind in "iu":
        values = [np.iinfo(dtype).min, np.iinfo(dtype).max, 3]
    elif dtype.kind == "f":
        values = [dtype.type(x) for x in (0.1, -0.0, np.inf, np.nan)]
    block = run.allocate(64)
    for place, value in enumerate(values):
        if not is_idle:
            program.session.fill(run.allocate(1 << 20), 0, 1 << 20, b"a")
        run.write(block, place * dtype.itemsize, type_, value)
    for place, value in enumerate(values):
        found = run.read(block, place * dtype.itemsize, type_)
        assert type(found) is type(value)
        np.testing.assert_array_equal(found, value)


# --- arrays -------------------------------------------------------------------------


def test_numpy_in_and_out(program: rt.Instance, xs: np.ndarray) -> None:
    result = program.axpy(xs, 2.0)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, 2 * xs + 1)


@pytest.mark.parametrize("n", [0, 1, 63, 65])
def test_sizes_at_the_edges(program: rt.Instance, n: int) -> None:
    xs = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(program.axpy(xs, 3.0), 3 * xs + 1)


def test_views_and_lists_are_accepted(program: rt.Instance, xs: np.ndarray) -> None:
    np.testing.assert_array_equal(program.axpy(xs[::-2], 1.0), xs[::-2] + 1)
    np.testing.assert_array_equal(program.axpy([1, 2.5], 1.0), [2, 3.5])


def test_misaligned_arrays_are_copied(program: rt.Instance) -> None:
    raw = np.zeros(41, np.uint8)
    view = raw[1:].view(np.float32)
    view[:] = 3
    assert not view.flags.aligned
    np.testing.assert_array_equal(program.axpy(view, 1.0), np.full(10, 4.0))


def test_read_only_arrays_are_accepted(program: rt.Instance, xs: np.ndarray) -> None:
    xs.flags.writeable = False
    np.testing.assert_array_equal(program.axpy(xs, 1.0), xs + 1)


def test_consumed_arguments_do_not_change(program: rt.Instance, xs: np.ndarray) -> None:
    before = xs.copy()
    np.testing.assert_array_equal(program.add_one(xs), before + 1)
    np.testing.assert_array_equal(xs, before)


def test_results_overlap_nothing(program: rt.Instance, xs: np.ndarray) -> None:
    first, second = program.twice(xs)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, xs)
    first[:] = -1
    np.testing.assert_array_equal(second, xs)


def test_results_outlive_later_calls(program: rt.Instance, xs: np.ndarray) -> None:
    part = program.axpy(xs, 1.0)[10:20]
    for a in range(5):
        program.axpy(xs, float(a + 7))
    np.testing.assert_array_equal(part, xs[10:20] + 1)


def test_constants_cannot_be_changed_through_results(program: rt.Instance) -> None:
    program.constant()[:] = 7
    np.testing.assert_array_equal(program.constant(), np.full(3, 0x01010101))


def test_pyopencl_arrays_in_and_out(program: rt.Instance, xs: np.ndarray) -> None:
    from pyopencl import array as cl_array

    given = cl_array.to_device(program.queue, xs)
    result = program.axpy(given, 2.0, device=True)
    assert isinstance(result, cl_array.Array)
    np.testing.assert_array_equal(result.get(), 2 * xs + 1)
    np.testing.assert_array_equal(program.axpy(result[10:], 1.0), 2 * xs[10:] + 2)


def test_arrays_of_another_context_are_refused(
    program: rt.Instance, xs: np.ndarray
) -> None:
    import pyopencl as cl
    from pyopencl import array as cl_array

    other = cl.CommandQueue(cl.Context([program.session.device.handle]))
    given = cl_array.to_device(other, xs)
    with pytest.raises(UsageError, match="another context"):
        program.axpy(given, 1.0)


def test_opaque_values_go_round(program: rt.Instance, xs: np.ndarray) -> None:
    pair = program.hide(xs)
    xs = xs.copy()
    a, b = program.reveal(pair)
    np.testing.assert_array_equal(a, xs)
    assert not np.shares_memory(a, b)
    with pytest.raises(UsageError, match="opaque value of type pair"):
        program.reveal(xs)


# --- arguments ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("axpy", ([1.0],), ["axpy", "2 arguments", "xs: []f32", "got 1"]),
        ("axpy", (np.ones(3), 1.0), ["xs", "[]f32", "float64", "astype(np.float32)"]),
        ("axpy", (np.ones((2, 2), np.float32), 1.0), ["xs", "1-d", "(2, 2)"]),
        ("axpy", (3, 1.0), ["xs", "[]f32", "got 3"]),
        ("axpy", ([1, 2], "x"), ["argument b", "f32", "str 'x'"]),
        ("scalars", (200, 1.0, True), ["argument a", "-128 to 127", "200"]),
        ("scalars", (1.5, 1.0, True), ["argument a", "i8", "1.5"]),
        ("scalars", (1, 1.0, 1), ["argument c", "bool", "1"]),
        ("scalars", (True, 1.0, True), ["argument a", "i8", "True"]),
        (
            "matrix",
            (np.ones((2, 3), np.float32), np.ones(4, np.int32)),
            ["ys", "dimension 0", "must be 3", "m", "argument xss", "got 4"],
        ),
    ],
)
def test_wrong_arguments_are_named(
    program: rt.Instance, name: str, arguments: Any, words: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        program.entry(name)(*arguments)
    for word in words:
        assert word in str(caught.value)


def test_scalars_come_back_typed(program: rt.Instance) -> None:
    a, b, c = program.scalars(np.int64(-5), 0.1, np.bool_(True))
    assert (a, b, c) == (np.int8(-5), np.float32(0.1), np.bool_(True))
    assert (a.dtype, b.dtype, c.dtype) == (np.int8, np.float32, np.bool_)


def test_unknown_entry_points_have_a_neighbour(program: rt.Instance) -> None:
    with pytest.raises(UsageError, match="did you mean 'axpy'"):
        program.entry("axpi")
    with pytest.raises(AttributeError, match="did you mean 'axpy'"):
        _ = program.axpi


# --- parameters -----------------------------------------------------------------------


def test_parameters_rebuild_their_kernels(xs: np.ndarray) -> None:
    program = PROGRAM.load(parameters={"main_tile": 5})
    np.testing.assert_array_equal(program.add_one(xs), xs + 5)
    program.set_parameters({"main_tile": 7})
    np.testing.assert_array_equal(program.add_one(xs), xs + 7)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"main_tyle": 2}, "did you mean 'main_tile'"),
        ({"main_tile": 100}, "from 1 to 64"),
        ({"main_tile": True}, "must be an integer"),
    ],
)
def test_wrong_parameters(given: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PROGRAM.load(parameters=given)


# --- failures -------------------------------------------------------------------------


def test_failures_are_located_and_leave_the_program_usable(
    program: rt.Instance, xs: np.ndarray
) -> None:
    for _ in range(2):
        xs[321] = -1
        with pytest.raises(ProgramError) as caught:
            program.axpy(xs, 1.0)
        assert caught.value.message == "Index [321] of 1000 is negative."
        assert caught.value.backtrace == ("a.fut:3:4", "a:1:1")
        xs[321] = 1
        np.testing.assert_array_equal(program.axpy(xs, 1.0), xs + 1)


def test_scalars_are_read_from_the_device(program: rt.Instance) -> None:
    assert program.first(np.full(3, 2.5, np.float32)) == np.float32(2.5)


@pytest.mark.optimised
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_answered_at_once(
    program: rt.Instance,
    xs: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(queue, "WARN_AFTER", 0.01)
    program.spin(xs, 10)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    begun = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        program.spin(xs, 2_000_000_000)
    assert time.perf_counter() - begun < 1
    timer.join()
    np.testing.assert_array_equal(program.axpy(xs, 1.0), xs + 1)
    assert "waiting for kernels of spin, which was interrupted" in caplog.text


# --- memory ---------------------------------------------------------------------------


def test_large_blocks_start_at_pages(program: rt.Instance) -> None:
    allocate = program.session.pool.allocate
    if allocate(1).host is None:
        pytest.skip("the device has memory of its own")
    for nbytes in (SEVERAL_PAGES - 1, SEVERAL_PAGES, 3 * SEVERAL_PAGES + 5):
        assert allocate(nbytes).host.ctypes.data % PAGE == 0


def test_blocks_are_used_again(xs: np.ndarray) -> None:
    program = PROGRAM.load(max_memory=50_000_000)
    pool = program.session.pool
    for number in range(20):  # not equal calls, which keep memory (recorded.py)
        program.axpy(xs, float(number))
    assert pool.peak <= 3 * 4096 + 1024
    held = [program.axpy(xs, float(number)) for number in range(10)]
    assert pool.in_use >= 10 * 4000
    del held
    assert pool.in_use <= 2048


def test_results_that_leave_the_pool_do_not_return(xs: np.ndarray) -> None:
    program = PROGRAM.load(max_memory=50_000_000)
    pool = program.session.pool
    gc.collect()  # constants of programs of other tests
    before, result = pool.in_use, program.axpy(xs, 1.0)
    leave_pool((result, 3.0, xs))
    assert pool.in_use == before
    kept = pool.kept
    np.testing.assert_array_equal(program.axpy(result, 1.0), result + 1)
    assert program.axpy(xs, 1.0) is not result
    kept = pool.kept
    del result
    assert (pool.in_use, pool.kept) == (before, kept)


def test_out_of_memory_tells_figures_and_passes() -> None:
    program = PROGRAM.load(max_memory=50_000_000)
    kept = program.huge(30_000_000)
    with pytest.raises(MemoryError) as caught:
        program.huge(25_000_000)
    message = str(caught.value)
    assert "25 MB needed" in message and "limit 50 MB" in message
    del kept
    # The free block is of another size: the pool must let it go.
    assert program.huge(45_000_000).size == 45_000_000


def test_absurd_sizes_are_out_of_memory_too(program: rt.Instance) -> None:
    with pytest.raises(MemoryError, match="largest single array"):
        program.huge(1 << 50)


def test_arguments_too_large_for_the_device(program: rt.Instance) -> None:
    elements = program.session.device.largest_array // 4 + 1
    with pytest.raises(MemoryError, match="largest single array"):
        program.axpy(np.empty(elements, np.float32), 1.0)
