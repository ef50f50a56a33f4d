"""Entry points as differentiable functions of PyTorch.

    loss = minifut.torch.function(minifut.compile("model.fut").loss)
    loss(w, xs, ys).backward()          # w.grad, by minifut's derivative

Tensors of the CPU are passed as they lie in memory, and results become tensors in the
same way. The derivative is the entry point's `vjp` in the tensors that require
gradients; an entry point whose result is one float runs once for both its value and
its gradient. The functions of `torch.func` apply, but for forward mode: `vmap` runs
the entry point for each element of a batch. Needs the extra `torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import ArgumentError, UsageError, needing
from minifut.gradients.methods import ONCE, is_scalar, made, one_or_all

with needing("torch"):
    import torch

if TYPE_CHECKING:
    from minifut.program import EntryPoint


def function(entry: EntryPoint) -> Callable[..., Any]:
    """The entry point as a function of tensors (and of other arguments, as they are):
    a tensor, or for several results a tuple.

    Raises `ArgumentError` for tensors that are not on the CPU, and what a call of the
    entry point raises. Its derivative cannot be differentiated once more.
    """

    def call(*arguments: Any, **named: Any) -> Any:
        given, _ = entry.bound(arguments, named)
        wanted = [i for i, a in enumerate(given) if getattr(a, "requires_grad", False)]
        run = _Call(entry, tuple(wanted) if torch.is_grad_enabled() else ())
        results = _Function.apply(run, *given)
        return one_or_all(results[: len(entry.results)])

    call.__name__, call.__doc__ = entry.name, entry.__doc__
    return call


@dataclass(frozen=True)
class _Call:
    """A call of an entry point. If its result is one float, the gradients in the
    arguments `wanted` are further results."""

    entry: EntryPoint
    wanted: tuple[int, ...]

    @property
    def differentiable(self) -> int:
        """How many results have adjoints."""
        return len(self.entry.results)

    def values(self, given: Sequence[Any]) -> Sequence[Any]:
        if not self.wanted or not is_scalar(self.entry):
            return self.entry.call(given)
        return made(self.entry, "vjp", self.wanted).call((*given, 1.0))

    def adjoints(
        self, arguments: Sequence[Any], behind: Sequence[Any], needed: tuple[int, ...]
    ) -> list[Any]:
        """Of the arguments that need one, from further results and adjoints of others.
        Inside of `vmap`, tensors do not say beforehand that they need one."""
        known = behind if needed == self.wanted else behind[-len(self.entry.results) :]
        run = _Adjoints(self.entry, needed)
        found = iter(_Function.apply(run, *arguments, *known))
        return [next(found) if i in needed else None for i, _ in enumerate(arguments)]


class _Adjoints(_Call):
    """The adjoints of the arguments `wanted` of a call, all of them differentiable."""

    @property
    def differentiable(self) -> int:
        return len(self.wanted)

    def values(self, given: Sequence[Any]) -> Sequence[Any]:
        *gradients, adjoint = given[len(self.entry.parameters) :]
        if is_scalar(self.entry) and gradients:
            return [gradient * adjoint for gradient in gradients]
        return made(self.entry, "grad", self.wanted).call(given)

    def adjoints(self, *_: Any) -> list[Any]:
        raise UsageError(ONCE)


class _Function(torch.autograd.Function):
    """The values of a `_Call` or of its `_Adjoints`."""

    @staticmethod
    def forward(run: _Call, *arguments: Any) -> Any:
        return tuple(map(_tensor, run.values([_outside(a) for a in arguments])))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.run, *arguments = inputs
        tensors = [a if isinstance(a, torch.Tensor) else None for a in arguments]
        pairs = zip(arguments, tensors, strict=True)
        ctx.others = [a if tensor is None else None for a, tensor in pairs]
        further = output[ctx.run.differentiable :]
        ctx.save_for_backward(*tensors, *further)
        discrete = [result for result in output if not result.is_floating_point()]
        ctx.mark_non_differentiable(*further, *discrete)

    @staticmethod
    def backward(ctx: Any, *adjoints: Any) -> Any:
        pairs = zip(ctx.others, ctx.saved_tensors, strict=False)
        arguments = [other if saved is None else saved for other, saved in pairs]
        further = ctx.saved_tensors[len(arguments) :]
        seeds = adjoints[: ctx.run.differentiable]
        needs = ctx.needs_input_grad[1:]
        needed = tuple(i for i, needs_one in enumerate(needs) if needs_one)
        return None, *ctx.run.adjoints(arguments, (*further, *seeds), needed)

    @staticmethod
    def vmap(info: Any, in_dims: Any, run: Any, *arguments: Any) -> Any:
        pairs = list(zip(arguments, in_dims[1:], strict=True))
        rows = []
        for i in range(info.batch_size):
            given = [a if dim is None else a.select(dim, i) for a, dim in pairs]
            rows.append(_Function.apply(run, *given))
        results = tuple(torch.stack(parts) for parts in zip(*rows, strict=True))
        return results, (0,) * len(results)


def _outside(value: Any) -> Any:
    """A tensor as the NumPy array of the same memory; other values as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.device.type != "cpu":
        raise ArgumentError(
            f"a tensor on {value.device} was given: use .cpu() for one that minifut "
            "can read"
        )
    return value.numpy(force=True)[()]


def _tensor(value: Any) -> torch.Tensor:
    """The tensor of the same memory."""
    return torch.from_numpy(np.asarray(value))
