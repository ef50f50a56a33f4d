"""Gradients of entry points from Python, on every backend."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import host_modules
from minifut.errors import ArgumentError, UsageError
from minifut.gradients.derivative import Derivative

SOURCE = """
entry loss [n][d] (w: [d]f64) (xs: [n][d]f64) (ys: [n]f64) (k: i64): f64 =
  f64.i64 k * f64.sum (map2 (\\x y -> (f64.sum (map2 (*) x w) - y) ** 2) xs ys)

entry scaled (p: {a: f64, b: []f64}) (k: i64): (f64, []f64) =
  (p.a * f64.sum p.b, map (* (p.a * f64.i64 k)) p.b)

entry squares [n] (x: [n]f32) (s: f32): [n]f32 = map (\\y -> y * y * s) x

entry dot [n] (pair: ([n]f32, [n]f32)): f32 = f32.sum (map2 (*) pair.0 pair.1)

entry count [n] (xs: [n]i64): i64 = i64.sum xs
"""

BACKENDS = [
    pytest.param("opencl", marks=pytest.mark.device),
    "interpreter",
    pytest.param("sequential", marks=pytest.mark.device),
]


@pytest.fixture(scope="module", params=BACKENDS)
def program(request: pytest.FixtureRequest) -> minifut.Program:
    from minifut.compiler import compile_program
    from minifut.errors import Source
    from minifut.stages import Options

    return compile_program(Source("<text>", SOURCE), Options(request.param))


@pytest.fixture
def interpreted() -> minifut.Program:
    return minifut.compile(SOURCE, backend="interpreter")


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    return random.normal(size=3), random.normal(size=(5, 3)), random.normal(size=5)


W, XS, YS = data()
RESIDUALS = XS @ W - YS
DW, DYS = 4 * XS.T @ RESIDUALS, -4 * RESIDUALS


# --- what the methods compute ---------------------------------------------------------


def test_a_gradient_by_name_and_by_position(program: minifut.Program) -> None:
    value, gradient = program.loss.value_and_grad(W, XS, YS, 2, wrt="w")
    assert np.isclose(value, 2 * np.sum(RESIDUALS**2))
    np.testing.assert_allclose(gradient, DW)
    np.testing.assert_allclose(program.loss.grad(W, XS, YS, 2, wrt=0), DW)
    np.testing.assert_allclose(program.loss.grad(W, XS, YS, 2, wrt=-4), DW)


def test_several_gradients_come_in_the_order_of_wrt(program: minifut.Program) -> None:
    found = program.loss.grad(W, k=2, ys=YS, xs=XS, wrt=("ys", "w"))
    assert isinstance(found, tuple)
    for one, wanted in zip(found, (DYS, DW), strict=True):
        np.testing.assert_allclose(one, wanted)
    (alone,) = program.loss.grad(W, XS, YS, 2, wrt=["w"])
    np.testing.assert_allclose(alone, DW)


def test_without_wrt_all_parameters_of_floats(interpreted: minifut.Program) -> None:
    found = interpreted.loss.grad(W, XS, YS, 2)
    for one, wanted in zip(found, (DW, 4 * np.outer(RESIDUALS, W), DYS), strict=True):
        np.testing.assert_allclose(one, wanted)


def test_records_and_several_results(program: minifut.Program) -> None:
    b, adjoint = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    results, found = program.scaled.vjp(({"a": 2.0, "b": b}, 4), (1.0, adjoint))
    assert results[0] == 6
    np.testing.assert_allclose(results[1], 8 * b)
    assert np.isclose(found["a"], b.sum() + 4 * adjoint @ b)
    np.testing.assert_allclose(found["b"], 2 + 8 * adjoint)


def test_tangents(program: minifut.Program) -> None:
    b = np.array([1.0, 2.0])
    tangent = {"a": 1.0, "b": np.array([0.5, 0.0])}
    results, found = program.scaled.jvp(({"a": 2.0, "b": b}, 4), (tangent, None))
    assert results[0] == 6
    assert found[0] == 3 + 2 * 0.5
    np.testing.assert_allclose(found[1], 4 * b + 8 * tangent["b"])


def test_tangents_of_the_parameters_of_wrt(interpreted: minifut.Program) -> None:
    x = np.array([1, 2], np.float32)
    _, alone = interpreted.squares.jvp((x, 2.0), 1.0, wrt="s")
    _, both = interpreted.squares.jvp((x, 2.0), (1.0, x), wrt=("s", "x"))
    np.testing.assert_allclose(alone, x**2)
    np.testing.assert_allclose(both, x**2 + 4 * x * x)


def test_a_tuple_of_arrays(program: minifut.Program) -> None:
    x, y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    one, other = program.dot.grad((x, y))
    np.testing.assert_array_equal(one, y)
    np.testing.assert_array_equal(other, x)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobians(program: minifut.Program, mode: str) -> None:
    x = np.array([1, 2, 3], np.float32)
    in_x, in_s = program.squares.jacobian(x, 2.0, mode=mode)
    assert in_x.dtype == np.float32
    np.testing.assert_allclose(in_x, np.diag(4 * x))
    np.testing.assert_allclose(in_s, x**2)
    rows = program.loss.jacobian(W, XS, YS, 2, wrt="xs", mode=mode)
    np.testing.assert_allclose(rows, 4 * np.outer(RESIDUALS, W))


@pytest.mark.device
def test_gradients_stay_on_the_device() -> None:
    program = minifut.compile(SOURCE)
    w, xs, ys = map(program.to_device, (W, XS, YS))
    gradient = program.loss.grad(w, xs, ys, 2, wrt="w", device=True)
    assert not isinstance(gradient, np.ndarray)
    np.testing.assert_allclose(np.asarray(gradient), DW)


# --- what is refused ------------------------------------------------------------------


def test_what_is_no_float_is_named(interpreted: minifut.Program) -> None:
    with pytest.raises(UsageError, match=r'parameter "k".*"loss".*i64 is not made of'):
        interpreted.loss.grad(W, XS, YS, 2, wrt=("w", "k"))
    with pytest.raises(UsageError, match='"count" has no parameter of floats'):
        interpreted.count.vjp((np.arange(3),), 1)


def test_wrong_wrt(interpreted: minifut.Program) -> None:
    with pytest.raises(UsageError, match=r"there is no parameter 'x'.*xs"):
        interpreted.loss.grad(W, XS, YS, 2, wrt="x")
    with pytest.raises(UsageError, match="no parameter number 9"):
        interpreted.loss.grad(W, XS, YS, 2, wrt=9)
    with pytest.raises(UsageError, match="wrt names each parameter once"):
        interpreted.loss.grad(W, XS, YS, 2, wrt=("w", 0))
    with pytest.raises(UsageError, match="wrt names each parameter once, and some"):
        interpreted.loss.grad(W, XS, YS, 2, wrt=())
    with pytest.raises(UsageError, match=r"names and positions of param.*not 1\.5"):
        interpreted.loss.grad(W, XS, YS, 2, wrt=1.5)


def test_positions_that_numpy_counted(interpreted: minifut.Program) -> None:
    found = interpreted.loss.grad(W, XS, YS, 2, wrt=np.argmin([0, 1]))
    np.testing.assert_allclose(found, DW)
    (found,) = interpreted.loss.grad(W, XS, YS, 2, wrt=np.array([0]))
    np.testing.assert_allclose(found, DW)


def test_a_derivative_of_a_derivative_is_written_in_the_program(
    interpreted: minifut.Program,
) -> None:
    derivative = interpreted.loss.derivative("vjp", "w")
    with pytest.raises(UsageError, match="it is a derivative"):
        derivative.derivative("jvp")
    with pytest.raises(UsageError, match="one of jvp, vjp, grad, not 'vpj'"):
        interpreted.loss.derivative("vpj")


def test_only_one_float_has_a_gradient(interpreted: minifut.Program) -> None:
    with pytest.raises(UsageError, match=r"squares .x.*use vjp or jacobian"):
        interpreted.squares.grad(np.ones(2, np.float32), 1.0)
    with pytest.raises(UsageError, match=r"count .xs"):
        interpreted.count.grad(np.arange(3))


def test_wrong_numbers_of_seeds(interpreted: minifut.Program) -> None:
    p = {"a": 2.0, "b": np.ones(2)}
    with pytest.raises(ArgumentError, match="2 results have as many adjoints, 1 were"):
        interpreted.scaled.vjp((p, 4), (1.0,))
    with pytest.raises(ArgumentError, match=r"give a tuple \(x,\), no float"):
        interpreted.scaled.vjp((p, 4), 1.0)
    with pytest.raises(ArgumentError, match="2 parameters with as many tangents"):
        interpreted.scaled.jvp((p, 4), (p,))
    with pytest.raises(ArgumentError, match="1 parameter with as many tangents"):
        interpreted.scaled.jvp((p, 4), (p, p), wrt=("p",))
    with pytest.raises(UsageError, match='"scaled" has no Jacobian'):
        interpreted.scaled.jacobian(p, 4)
    with pytest.raises(UsageError, match="the mode is one of auto, forward, reverse"):
        interpreted.squares.jacobian(np.ones(2, np.float32), 1.0, mode="sideways")


@pytest.mark.device
def test_programs_without_their_source_are_refused() -> None:
    made = minifut.compile(SOURCE)
    made.derivatives = None
    with pytest.raises(
        UsageError, match=r"loaded without its source; use minifut\.com"
    ):
        made.loss.grad(W, XS, YS, 2)


# --- what is kept ---------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS[:2])
def test_pickles_take_derivatives_along(backend: str) -> None:
    program = minifut.compile(SOURCE, backend=backend)
    program.loss.grad(W, XS, YS, 2, wrt="w")
    arrived = pickle.loads(pickle.dumps(program.loss))
    kept = arrived.program.derivatives
    kept.source = None  # what arrived needs no compiler
    np.testing.assert_allclose(arrived.grad(W, XS, YS, 2, wrt="w"), DW)
    again = pickle.loads(pickle.dumps(arrived))
    np.testing.assert_allclose(again.grad(W, XS, YS, 2, wrt="w"), DW)


def test_further_derivatives_where_a_pickle_arrived(
    interpreted: minifut.Program,
) -> None:
    arrived = pickle.loads(pickle.dumps(interpreted))
    np.testing.assert_allclose(arrived.loss.grad(W, XS, YS, 2, wrt="ys"), DYS)


@pytest.mark.device
def test_generated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    original = host_modules.store_bytes

    def store(kind: str, key: str, content: bytes) -> None:
        made.append(key)
        original(kind, key, content)

    monkeypatch.setattr(host_modules, "store_bytes", store)
    text = "entry unique (x: f64) = x * x + 0.375"
    for _ in range(2):
        program = minifut.compile(text)
        for _ in range(2):
            assert program.unique.grad(3.0) == 6
    assert len(set(made)) == len(made) <= 2
    assert program.unique.derivative("vjp") is program.unique.derivative("vjp", "x")


@pytest.mark.device
def test_tuning_parameters_of_derivatives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "loss.fut"
    path.write_text(SOURCE)
    first = minifut.compile(path).loss
    names = set(first.derivative("vjp", "w").program.tuning)
    name = next(n for n in sorted(names) if n.startswith("loss_vjp_wrt_w."))
    own = next(n for n in sorted(first.program.tuning) if n.startswith("loss."))
    Path(f"{path}.tuning").write_text(f"{name}=1\n{own}=1\n")
    loss = minifut.compile(path).loss
    derivative = loss.derivative("vjp", "w")
    assert loss.program.tuning[own] == 1
    assert derivative.program.tuning[name] == 1
    np.testing.assert_allclose(loss.grad(W, XS, YS, 2, wrt="w"), DW)
    assert "warning" not in capsys.readouterr().err


def test_names_of_derivatives() -> None:
    from minifut import stages
    from minifut.errors import Source

    text = "entry f (x': f64) (y: f64): f64 = x' * y"
    core = stages.to_core(stages.check(Source("test.fut", text)))

    def name(derivative: Derivative) -> Any:
        (entry,) = derivative.program(core).entries
        return entry.name

    assert name(Derivative("f", "vjp", (1, 0))) == "f_vjp_wrt_y_0"
    assert name(Derivative("f", "jvp", (1,))) == "f_jvp_wrt_y"
    assert name(Derivative("f", "grad", (1,))) == "f_grad_wrt_y"
