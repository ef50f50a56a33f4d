"""Mistakes of those who call programs, and what they are told."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import minifut

SOURCE = """
entry axpy [n] (a: f32) (xs: [n]f32) (ys: [n]f32): [n]f32 = map2 (\\x y -> a*x + y) xs ys
entry rows [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
"""
XS = np.arange(4, dtype=np.float32)


@pytest.fixture(scope="module")
def on_device() -> minifut.Program:
    return minifut.compile(SOURCE)


class Tracer:
    """As JAX has while it traces a function."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise TypeError("called on a traced array")


class Tensor:
    """As PyTorch has for parameters that are fitted."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


Tensor.__module__ = "torch"

MISTAKES = {
    r"traced array; inside .* minifut\.jax\.function\(": lambda p: p.rows(Tracer()),
    r"requires grad\. Gradients .* minifut\.torch\.function\(": lambda p: p.rows(
        Tensor()
    ),
    r"params is a dict of numbers by parameters, got \[1\]": lambda p: minifut.compile(
        SOURCE,
        params=[1],  # type: ignore[arg-type]
    ),
    "device is a text: words .* '#0' .*; got 7": lambda p: minifut.compile(
        SOURCE,
        device=7,  # type: ignore[arg-type]
    ),
    "there is no entry point '0'": lambda p: p[0],
    "there is no entry point 'axpi'; did you mean 'axpy'": lambda p: p["axpi"],
    r"rows: argument xss: expected an array .*, got None$": lambda p: p.rows(None),
    "to_device: NumPy's object is not an element": lambda p: p.to_device(
        np.array([object()])
    ),
    "to_device: NumPy's complex128 is not": lambda p: p.to_device(np.ones(1, complex)),
    "to_device: NumPy's <U1 is not": lambda p: p.to_device(np.array(["a"])),
    "to_device: a structured array .* give each of 'x', 'y'": lambda p: p.to_device(
        np.zeros(2, [("x", "f4"), ("y", "f4")])
    ),
    r"device=True leaves results .* got 'gpu'": lambda p: p.rows([[1]], device="gpu"),
    "rows: 1 argument expected": lambda p: p.rows(),
    r"call 0 is of type ndarray; .* autotune\(\[\(xs, k\)\]\)": lambda p: p.autotune(
        [XS], "axpy"
    ),
    "axpy: argument ys: expected .*float64": lambda p: p.autotune(
        [(2.0, XS, XS), (2.0, XS, XS.astype(float))], "axpy"
    ),
    "runs from 1 on": lambda p: p.autotune([(2.0, XS, XS)], "axpy", runs=0),
    r"which entry point\? give entry=..: axpy, rows": lambda p: p.profile([[1]]),
    "axpy: argument a is given twice": lambda p: p.axpy(2, XS, a=1),
    r"axpy: give a tuple \(x,\), no ndarray": lambda p: p.axpy.jvp(XS, XS),
}


@pytest.mark.device
@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_answered_with_what_to_do(
    on_device: minifut.Program, message: str
) -> None:
    with pytest.raises(minifut.UsageError, match=message):
        MISTAKES[message](on_device)


@pytest.mark.device
def test_attributes_that_are_misspelt_are_named(on_device: minifut.Program) -> None:
    for wrong, meant in (
        ("kernel", "kernels"),
        ("rwos", "rows"),
        ("warmup", "warm_up"),
    ):
        with pytest.raises(AttributeError, match=f"did you mean '{meant}'"):
            getattr(on_device, wrong)


@pytest.mark.device
def test_bytes_are_swapped_on_the_way_to_the_device(on_device: minifut.Program) -> None:
    xs = on_device.to_device(XS.astype(">f4"))
    assert xs.dtype == np.float32
    assert np.array_equal(on_device.axpy(2.0, xs, xs), 3 * XS)


@pytest.mark.device
def test_device_arrays_arrive_as_arrays_of_numpy(on_device: minifut.Program) -> None:
    again = pickle.loads(pickle.dumps(on_device.to_device(XS)))
    assert type(again) is np.ndarray and again.tolist() == XS.tolist()


@pytest.mark.parametrize("extra", ["dask", "jax", "torch"])
def test_extras_that_are_not_installed_are_named(extra: str) -> None:
    code = f"import sys; sys.modules['{extra}'] = None\nimport minifut.{extra}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"pip install 'minifut[{extra}]'" in done.stderr


@pytest.mark.device
def test_exceptions_are_those_of_python_too() -> None:
    program = minifut.compile("entry at (xs: []f32) (i: i64): f32 = xs[i]")
    with pytest.raises(ValueError, match="out of bounds") as failure:
        program.at(XS, 9)
    assert isinstance(failure.value, minifut.ProgramError)
    assert issubclass(minifut.CompileError, ValueError)
    assert issubclass(minifut.ArgumentError, TypeError)


@pytest.mark.device
def test_a_failure_of_a_program_ends_in_the_call() -> None:
    """Its traceback has the caller and the call, and nothing of the runtime."""
    program = minifut.compile("entry main (xs: []i32) (i: i64): i32 = xs[i]")
    with pytest.raises(minifut.ProgramError) as caught:
        program.main([1, 2, 3], 7)
    assert [frame.name for frame in caught.traceback][1:] == ["__call__"]


WRONG = np.ones(3)
CALLS = {
    "profile": lambda p: p.profile(WRONG, entry="total"),
    "versions": lambda p: p.versions("totla"),
    "warm_up": lambda p: p.warm_up(q=3),
    "autotune": lambda p: p.autotune([WRONG], "total"),
    "grad": lambda p: p.total.grad(WRONG),
    "value_and_grad": lambda p: p.total.value_and_grad(WRONG),
    "vjp": lambda p: p.total.vjp(WRONG, WRONG),
    "jvp": lambda p: p.total.jvp((WRONG,), (WRONG,)),
    "jacobian": lambda p: p.total.jacobian(WRONG),
}


@pytest.mark.device
@pytest.mark.parametrize("name", CALLS)
def test_mistakes_end_in_the_call(name: str) -> None:
    program = minifut.compile("entry total (xs: []f32): f32 = f32.sum xs")
    with pytest.raises(minifut.UsageError) as caught:
        CALLS[name](program)
    assert len(caught.traceback) == 3  # of this test, of the table, and of the call
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
