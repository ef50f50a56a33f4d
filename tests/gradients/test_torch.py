"""Entry points as functions of PyTorch, against its own gradients."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import minifut

torch = pytest.importorskip("torch")

SOURCE = """
entry loss [n][d] (w: [d]f64) (b: f64) (xs: [n][d]f64) (ys: [n]f64): f64 =
  let error x y = let p = 1 / (1 + f64.exp (-(f64.sum (map2 (*) x w) + b)))
                  in -(y * f64.log p + (1 - y) * f64.log (1 - p))
  in f64.sum (map2 error xs ys) / f64.i64 n

entry scaled [n] (x: [n]f64) (s: f64): ([n]f64, i64) = (map (* s) x, n)

entry cube (x: f64): f64 = x * x * x

type layer [n] = {weights: [n]f64, bias: f64}

entry error [n] (layers: (layer [n], layer [n])) (x: [n]f64): f64 =
  let value (l: layer [n]) = f64.sum (map2 (*) l.weights x) + l.bias
  in (value layers.0 - 2 * value layers.1) ** 2

entry twice [n] (l: layer [n]): layer [n] =
  {weights = map (* 2) l.weights, bias = 2 * l.bias}
"""


@pytest.fixture(
    scope="module",
    params=[pytest.param("opencl", marks=pytest.mark.device), "interpreter"],
)
def program(request: pytest.FixtureRequest) -> minifut.Program:
    return minifut.compile(SOURCE, backend=request.param)


def data() -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    xs = random.normal(size=(40, 3))
    return torch.from_numpy(xs), torch.from_numpy((xs.sum(1) > 0).astype(float))


def own_loss(w: Any, b: Any, xs: Any, ys: Any) -> Any:
    return torch.nn.functional.binary_cross_entropy_with_logits(xs @ w + b, ys)


def train(loss: Any) -> tuple[list[float], Any]:
    xs, ys = data()
    w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    b = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([w, b], lr=0.5)
    values = []
    for _ in range(10):
        optimiser.zero_grad()
        value = loss(w, b, xs, ys)
        value.backward()
        optimiser.step()
        values.append(value.item())
    return values, w.detach()


def test_ten_steps_of_training_agree(program: minifut.Program) -> None:
    values, w = train(minifut.torch.function(program.loss))
    wanted, own = train(own_loss)
    assert values[-1] < values[0] / 1.5
    np.testing.assert_allclose(values, wanted, rtol=1e-12)
    np.testing.assert_allclose(w, own, rtol=1e-12)


def test_the_gradient_by_differences(program: minifut.Program) -> None:
    xs, ys = data()
    w = torch.rand(3, dtype=torch.float64, requires_grad=True)
    b = torch.rand((), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        minifut.torch.function(program.loss), (w, b, xs[:4], ys[:4])
    )


def test_several_results_of_which_one_is_no_float(program: minifut.Program) -> None:
    x = torch.arange(3.0, dtype=torch.float64, requires_grad=True)
    scaled, n = minifut.torch.function(program.scaled)(x, s=2.0)
    assert n.item() == 3
    assert not n.requires_grad
    (3 * scaled.sum()).backward()
    np.testing.assert_array_equal(x.grad, 6 * np.ones(3))


def test_no_gradient_where_none_is_wanted(program: minifut.Program) -> None:
    xs, ys = data()
    value = minifut.torch.function(program.loss)(torch.ones(3).double(), 0.0, xs, ys)
    assert not value.requires_grad


def test_tensors_are_not_copied() -> None:
    seen: list[Any] = []
    entry = minifut.compile(SOURCE, backend="interpreter").scaled

    def watched(*arguments: Any) -> Any:
        seen.extend(arguments)
        results = entry.function(*arguments)
        seen.append(results[0])
        return results

    import dataclasses

    x = torch.ones(3, dtype=torch.float64)
    function = minifut.torch.function(dataclasses.replace(entry, function=watched))
    result, _ = function(x, 2.0)
    assert np.shares_memory(seen[0], x.numpy())
    assert np.shares_memory(seen[2], result.numpy())


def test_functions_of_functions(program: minifut.Program) -> None:
    cube = minifut.torch.function(program.cube)
    scaled = minifut.torch.function(program.scaled)
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    for found in (
        torch.func.vmap(torch.func.grad(cube))(x),
        torch.func.grad(lambda x: torch.func.vmap(cube)(x).sum())(x),
        torch.stack([torch.func.grad(cube)(v) for v in x]),
    ):
        np.testing.assert_allclose(found, 3 * x**2)
    rows = torch.func.jacrev(lambda x: scaled(x, 2.0)[0])(x)
    np.testing.assert_array_equal(rows, 2 * np.eye(3))
    columns = torch.func.vmap(lambda x: scaled(x, 2.0)[0], in_dims=1)(
        torch.eye(3).double()
    )
    np.testing.assert_array_equal(columns, 2 * np.eye(3))


def test_forward_mode(program: minifut.Program) -> None:
    cube, scaled, loss, twice = (
        minifut.torch.function(program.entry(name))
        for name in ("cube", "scaled", "loss", "twice")
    )
    func, forward = torch.func, torch.autograd.forward_ad
    x = torch.linspace(-1, 2, 4, dtype=torch.float64)
    value, tangent = func.jvp(cube, (x[3],), (x[2],))
    assert (value, tangent) == (8, 12)
    np.testing.assert_array_equal(
        func.jacfwd(lambda x: scaled(x, 2.0)[0])(x), 2 * np.eye(4)
    )
    np.testing.assert_allclose(func.vmap(func.jacfwd(cube))(x), 3 * x**2)
    bias = x[2]
    own = {"weights": x, "bias": bias}
    _, found = func.jvp(twice, (own,), ({"weights": x, "bias": bias * 0},))
    np.testing.assert_array_equal(found["weights"], 2 * x)
    assert found["bias"] == 0
    xs, ys = data()
    w, b = xs[0], bias.requires_grad_()
    with forward.dual_level():
        dual = forward.make_dual(w, xs[1])
        ours, theirs = (
            forward.unpack_dual(f(dual, b, xs, ys)) for f in (loss, own_loss)
        )
        np.testing.assert_allclose(ours.tangent.detach(), theirs.tangent.detach())
    gradients = (torch.autograd.grad(each.primal, b) for each in (ours, theirs))
    np.testing.assert_allclose(*(found[0] for found in gradients))


@pytest.mark.parametrize("inner", ["grad", "jacfwd"])
@pytest.mark.parametrize("outer", ["grad", "jacfwd"])
def test_transforms_of_transforms_are_refused(
    program: minifut.Program, outer: str, inner: str
) -> None:
    cube = minifut.torch.function(program.cube)
    second = getattr(torch.func, outer)(getattr(torch.func, inner)(cube))
    with pytest.raises(minifut.UsageError, match="for second derivatives, write"):
        second(torch.tensor(2.0, dtype=torch.float64))


@pytest.mark.parametrize("name", ["cube", "scaled"])
def test_a_second_derivative_is_refused(program: minifut.Program, name: str) -> None:
    """It is not silently left out: a penalty on the gradient would be constant."""
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    x = torch.ones(3, dtype=torch.float64)
    function = minifut.torch.function(program.entry(name))
    value = function(s) if name == "cube" else function(x, s)[0].sum()
    (first,) = torch.autograd.grad(value, s, create_graph=True)
    assert first.item() == (12 if name == "cube" else 3)
    with pytest.raises(minifut.UsageError, match="write an entry point with vjp"):
        (first**2).backward()


def test_an_argument_that_changed_before_its_derivative(
    program: minifut.Program,
) -> None:
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    x = torch.ones(3, dtype=torch.float64)
    result, _ = minifut.torch.function(program.scaled)(x, s)
    x[0] = 100
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_tensors_that_numpy_has_no_view_of(program: minifut.Program) -> None:
    scaled = minifut.torch.function(program.scaled)
    negated = torch.tensor([1 + 2j]).to(torch.complex128).conj().imag
    assert scaled(negated, 2.0)[0].item() == -4


@dataclass
class Layer:
    bias: Any
    weights: Any


def own_error(layers: Any, x: Any) -> Any:
    first, second = ((layer.weights * x).sum() + layer.bias for layer in layers)
    return (first - 2 * second) ** 2


@pytest.mark.parametrize("form", [lambda layer: layer, vars])
def test_gradients_in_the_tensors_of_records(
    program: minifut.Program, form: Callable[[Layer], Any]
) -> None:
    x = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    random = torch.Generator().manual_seed(1)
    start = [torch.rand(4, generator=random).double() for _ in range(2)]

    def gradients(of: Callable[[Any], Any]) -> list[Any]:
        layers = [Layer(v[3].clone(), v[:3].clone()) for v in start]
        wanted = [layers[1].weights, layers[0].bias, layers[1].bias]
        for tensor in wanted:
            tensor.requires_grad = True
        return list(torch.autograd.grad(of(layers), wanted))

    error = minifut.torch.function(program.error)
    found = gradients(lambda layers: error(tuple(map(form, layers)), x))
    own = gradients(lambda layers: own_error(layers, x))
    for one, other in zip(found, own, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_records_of_tensors_as_results(program: minifut.Program) -> None:
    twice = minifut.torch.function(program.twice)
    weights = torch.ones(3, dtype=torch.float64, requires_grad=True)
    result = twice({"weights": weights, "bias": 1.5})
    assert set(result) == {"weights", "bias"} and result["bias"].item() == 3
    (5 * result["weights"].sum() + result["bias"]).backward()
    np.testing.assert_array_equal(weights.grad, 10 * np.ones(3))


def test_records_that_are_wrong(program: minifut.Program) -> None:
    with pytest.raises(
        minifut.ArgumentError, match=r"argument l: .*a dict of bias, we"
    ):
        minifut.torch.function(program.twice)((1.0, [2.0]))


class Model(torch.nn.Module):  # type: ignore[misc]
    """A layer of PyTorch before an entry point, and an operation behind it."""

    def __init__(self, entry: minifut.EntryPoint) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3, dtype=torch.float64)
        self.scaled = minifut.torch.function(entry)

    def forward(self, x: Any) -> Any:
        return torch.sin(self.scaled(torch.relu(self.linear(x)), 2.0)[0]).sum()


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model(program: minifut.Program) -> None:
    model = Model(program.scaled)
    x = torch.rand(3, dtype=torch.float64)
    wanted = torch.autograd.grad(model(x), model.linear.weight)
    found = torch.autograd.grad(
        torch.compile(model, backend="eager")(x), model.linear.weight
    )
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)


def test_a_checkpoint(program: minifut.Program) -> None:
    cube = minifut.torch.function(program.cube)
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    torch.utils.checkpoint.checkpoint(cube, x, use_reentrant=False).backward()
    assert x.grad.item() == 12


def test_functions_are_pickled(program: minifut.Program) -> None:
    cube = minifut.torch.function(program.cube)
    assert cube.__name__ == "cube"
    again = pickle.loads(pickle.dumps(cube))
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    again(x).backward()
    assert x.grad.item() == 12
    assert again.__name__ == "cube"


@pytest.mark.parametrize(
    ("tensor", "advice"),
    [
        (torch.ones(3, dtype=torch.bfloat16), r"x: .*BFloat16; use \.to\(torch"),
        (torch.eye(3).to_sparse()[0], r"x: .*Sparse.* Use .*\.to_dense\(\)"),
        (torch.ones(3, requires_grad=True), r"x: .*f64"),
    ],
)
def test_tensors_that_numpy_cannot_view(
    program: minifut.Program, tensor: Any, advice: str
) -> None:
    with pytest.raises(minifut.ArgumentError, match=advice):
        minifut.torch.function(program.scaled)(tensor, 2.0)


def test_tensors_elsewhere_are_refused(program: minifut.Program) -> None:
    x = torch.ones(3, dtype=torch.float64, device="meta")
    with pytest.raises(minifut.ArgumentError, match=r"x: .*meta.*\.cpu\(\)"):
        minifut.torch.function(program.scaled)(x, 2.0)


def test_only_entry_points_become_functions(program: minifut.Program) -> None:
    with pytest.raises(minifut.UsageError, match=r"got a program; give one .* prog\."):
        minifut.torch.function(program)  # type: ignore[arg-type]
    with pytest.raises(minifut.UsageError, match="takes an entry point, got 3"):
        minifut.torch.function(3)  # type: ignore[arg-type]
    scaled = minifut.torch.function(program.scaled)
    with pytest.raises(minifut.ArgumentError, match="device is an option of calls"):
        scaled(torch.ones(3), 1, device=True)
    assert list(inspect.signature(scaled).parameters) == ["x", "s"]


@pytest.mark.device
def test_tensors_of_other_types_are_refused_in_torchs_words() -> None:
    prog = minifut.compile("entry f [n] (xs: [n]f32): f32 = f32.sum xs")
    for type_ in (torch.float64, torch.bfloat16, torch.int32):
        with pytest.raises(minifut.ArgumentError, match=r"use \.to\(torch\.float32\)"):
            prog.f(torch.ones(3, dtype=type_))
        with pytest.raises(minifut.ArgumentError, match=r"^f: .*use \.to\(torch\.flo"):
            given = torch.ones(3, dtype=type_)
            if given.is_floating_point():
                given.requires_grad_()
            minifut.torch.function(prog.f)(given)


def test_wrong_records_are_told_with_their_entry_point() -> None:
    source = "entry g (r: {a: f32, b: f32}): f32 = r.a * r.b"
    program = minifut.compile(source, backend="interpreter")
    with pytest.raises(minifut.ArgumentError, match=r"^g: argument r: .* without b"):
        minifut.torch.function(program.g)({"a": torch.ones(())})
