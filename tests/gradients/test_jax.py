"""Entry points as functions of JAX, against its own gradients."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import minifut

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

SOURCE = """
entry loss [n][d] (w: [d]f32) (b: f32) (xs: [n][d]f32) (ys: [n]f32): f32 =
  let error x y = let p = 1 / (1 + f32.exp (-(f32.sum (map2 (*) x w) + b)))
                  in -(y * f32.log p + (1 - y) * f32.log (1 - p))
  in f32.sum (map2 error xs ys) / f32.i64 n

entry scaled [n] (x: [n]f32) (s: f32): ([n]f32, i32) = (map (* s) x, 7)

entry wide (x: f64): f64 = x

entry chosen (xs: []f32): []f32 = filter (> 0) xs

entry pair (p: (f32, f32)): f32 = p.0 * p.1
"""


@pytest.fixture(
    scope="module",
    params=[pytest.param("opencl", marks=pytest.mark.device), "interpreter"],
)
def program(request: pytest.FixtureRequest) -> minifut.Program:
    return minifut.compile(SOURCE, backend=request.param)


def data() -> tuple[Any, Any]:
    xs = np.random.default_rng(3).normal(size=(40, 3)).astype(np.float32)
    return jnp.asarray(xs), jnp.asarray(xs.sum(1) > 0, np.float32)


def own_loss(w: Any, b: Any, xs: Any, ys: Any) -> Any:
    p = jax.nn.sigmoid(xs @ w + b)
    return -jnp.mean(ys * jnp.log(p) + (1 - ys) * jnp.log(1 - p))


def train(loss: Any) -> tuple[list[float], Any]:
    xs, ys = data()
    w, b = jnp.zeros(3), jnp.zeros(())
    step = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    values = []
    for _ in range(10):
        value, (dw, db) = step(w, b, xs, ys)
        w, b = w - 0.5 * dw, b - 0.5 * db
        values.append(float(value))
    return values, w


def test_ten_steps_of_training_agree(program: minifut.Program) -> None:
    values, w = train(minifut.jax.function(program.loss))
    wanted, own = train(own_loss)
    assert values[-1] < values[0] / 1.5
    np.testing.assert_allclose(values, wanted, rtol=1e-5)
    np.testing.assert_allclose(w, own, rtol=1e-5)


def test_several_results_of_which_one_is_no_float(program: minifut.Program) -> None:
    scaled = minifut.jax.function(program.scaled)
    x = jnp.arange(3, dtype=np.float32)
    assert int(scaled(x, 2.0)[1]) == 7
    in_x, in_s = jax.jit(jax.grad(lambda x, s: 3 * scaled(x, s)[0].sum(), (0, 1)))(
        x, 2.0
    )
    np.testing.assert_array_equal(in_x, 6 * np.ones(3))
    assert float(in_s) == 9


def test_arguments_by_name_and_many_calls_at_once(program: minifut.Program) -> None:
    scaled = minifut.jax.function(program.scaled)
    x = jnp.arange(6, dtype=np.float32).reshape(2, 3)
    found = jax.vmap(lambda row: scaled(s=2.0, x=row)[0])(x)
    np.testing.assert_array_equal(found, 2 * x)


def test_functions_are_pickled(program: minifut.Program) -> None:
    scaled = minifut.jax.function(program.scaled)
    again = pickle.loads(pickle.dumps(scaled))
    assert again.__name__ == scaled.__name__ == "scaled"
    found = jax.jit(jax.vmap(jax.grad(lambda s: again(jnp.ones(3), s)[0].sum())))
    np.testing.assert_array_equal(found(jnp.ones(2)), [3, 3])


def test_what_jax_cannot_hold_is_refused(program: minifut.Program) -> None:
    function = minifut.jax.function
    with pytest.raises(minifut.UsageError, match="jax_enable_x64"):
        function(program.wide)
    with pytest.raises(minifut.UsageError, match=r"\(f32, f32\) is no array or scalar"):
        function(program.pair)
    with pytest.raises(minifut.UsageError, match="JAX needs the sizes of results"):
        function(program.chosen)(jnp.ones(3))
    with pytest.raises(
        minifut.ArgumentError, match=r"x: expected \[n\]f32, got .*3, 3"
    ):
        function(program.scaled)(jnp.ones((3, 3)), 1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1j * np.ones(3), 1), r"w: expected \[n\]f32, got an array of complex"),
        ((np.ones(3), [1]), r"k: expected i8, got an array of shape \(1,\)"),
        ((np.ones(3), 1.5), r"k: expected i8, got 1\.5; use \.astype\(jnp\.int8\)"),
        ((np.ones(3), 128), r"k: expected i8, got 128, which does not fit"),
        ((None, 1), r"w: expected \[n\]f32, got None"),
        (("a", 1), r"w: expected \[n\]f32, got 'a'"),
        ((np.ones(2), 1), r"v: dimension 0 must be 2 \(n, from argument w\), got 3"),
    ],
)
def test_wrong_arguments_are_located(given: tuple[Any, ...], message: str) -> None:
    """Where the call is, and not in the middle of what JAX runs."""
    program = minifut.compile(
        "entry f [n] (w: [n]f32) (k: i8) (v: [n]f32): f32 =\n"
        "  f32.i8 k * f32.sum (map2 (+) v w)",
        backend="interpreter",
    )
    f = minifut.jax.function(program.f)
    assert f(range(3), 2, jnp.ones(3)) == 12
    for call in (lambda v: f(*given, v), jax.jit(lambda v: f(*given, v))):
        with pytest.raises(minifut.ArgumentError, match=f"f: argument {message}"):
            call(jnp.ones(3))


def test_only_entry_points_become_functions(program: minifut.Program) -> None:
    with pytest.raises(minifut.UsageError, match=r"got a program; give one .* prog\.l"):
        minifut.jax.function(program)  # type: ignore[arg-type]
    with pytest.raises(minifut.ArgumentError, match="device is an option of calls"):
        minifut.jax.function(program.scaled)(jnp.ones(3), 1, device=True)
    signature = inspect.signature(minifut.jax.function(program.scaled))
    assert list(signature.parameters) == ["x", "s"]
    shown = repr(minifut.jax.function(program.scaled))
    assert shown.startswith("<scaled (x: [n]") and shown.endswith("of JAX>")


@pytest.mark.parametrize("second", [jax.grad, jax.jacfwd])
def test_a_second_derivative_is_refused(program: minifut.Program, second: Any) -> None:
    scaled = minifut.jax.function(program.scaled)
    first = jax.grad(lambda s: scaled(jnp.ones(3), s)[0].sum() ** 2)
    with pytest.raises(minifut.UsageError, match="write an entry point with vjp"):
        second(first)(2.0)
