"""Entry points as differentiable functions of PyTorch.

    loss = minifut.torch.function(minifut.compile("model.fut").loss)
    loss(w, xs, ys).backward()          # w.grad, by minifut's derivative

Tensors of the CPU are passed as they lie in memory, and results become tensors in the
same way. The derivative is the entry point's `vjp` in the tensors that require
gradients; an entry point whose result is one float runs once for both its value and
its gradient. Needs the extra `torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import ArgumentError, needing
from minifut.gradients.methods import is_scalar

with needing("torch"):
    import torch
    from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from minifut.program import EntryPoint


def function(entry: EntryPoint) -> Callable[..., Any]:
    """The entry point as a function of tensors (and of other arguments, as they are):
    a tensor, or for several results a tuple.

    Raises `ArgumentError` for tensors that are not on the CPU, and what a call of the
    entry point raises. Its derivative cannot be differentiated once more.
    """

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            given = [_outside(a) for a in arguments]
            wanted = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
            ctx.wanted, ctx.gradients = wanted, None
            if wanted and is_scalar(entry):
                value, ctx.gradients = entry.value_and_grad(*given, wrt=wanted)
                return _tensor(value)
            results = tuple(map(_tensor, entry.call(given)))
            ctx.given, ctx.shapes = given, [r.shape for r in results]
            ctx.mark_non_differentiable(
                *(r for r in results if not r.is_floating_point())
            )
            return results if len(results) > 1 else results[0]

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *adjoints: Any) -> Any:
            found: list[Any] = [None] * len(ctx.needs_input_grad)
            if ctx.gradients is not None:
                gradients = [_tensor(g) * adjoints[0] for g in ctx.gradients]
            else:
                seeds = _seeds(entry, ctx.shapes, adjoints)
                _, values = entry.vjp(ctx.given, seeds, wrt=ctx.wanted)
                gradients = list(map(_tensor, values))
            for at, gradient in zip(ctx.wanted, gradients, strict=True):
                found[at] = gradient
            return tuple(found)

    def call(*arguments: Any, **named: Any) -> Any:
        given, _ = entry.bound(arguments, named)
        return Function.apply(*given)

    call.__name__, call.__doc__ = entry.name, entry.__doc__
    return call


def _seeds(entry: EntryPoint, shapes: Sequence[Any], adjoints: Sequence[Any]) -> Any:
    """The adjoints of the results as arrays; of results that are no floats, zeros."""
    from minifut.values.types import DTYPES

    seeds = []
    for result, shape, adjoint in zip(entry.results, shapes, adjoints, strict=True):
        type_ = result.value_type
        assert type_ is not None
        dtype = DTYPES[type_.element]
        is_float = dtype.kind == "f"
        seeds.append(_outside(adjoint) if is_float else np.zeros(shape, dtype)[()])
    return seeds if len(seeds) > 1 else seeds[0]


def _outside(value: Any) -> Any:
    """A tensor as the NumPy array of the same memory; other values as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.device.type != "cpu":
        raise ArgumentError(
            f"a tensor on {value.device} was given: use .cpu() for one that minifut "
            "can read"
        )
    return value.detach().numpy()[()]


def _tensor(value: Any) -> torch.Tensor:
    """The tensor of the same memory."""
    return torch.from_numpy(np.asarray(value))
