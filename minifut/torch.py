"""Entry points as differentiable functions of PyTorch.

    loss = minifut.torch.function(minifut.compile("model.fut").loss)
    loss(w, xs, ys).backward()          # w.grad, by minifut's derivative

Tensors of the CPU are passed as they are laid out in memory, and results become tensors
in the same way. The derivative is the entry point's `vjp` in the tensors that require
gradients; an entry point whose result is one float runs once for both its value and its
gradient. Forward mode is the entry point's `jvp`. The functions of `torch.func` apply:
`vmap` runs the entry point for each element of a batch. Needs the extra `torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from minifut.errors import ArgumentError, UsageError, needing
from minifut.gradients.functions import arguments_of, as_entry
from minifut.gradients.methods import ONCE, is_scalar, made, one_or_all
from minifut.values.structured import compose
from minifut.values.structured_arguments import WrongValue, components

with needing("torch"):
    import torch

if TYPE_CHECKING:
    from minifut.program import EntryPoint
    from minifut.signature import Parameter


def function(entry: EntryPoint) -> Callable[..., Any]:
    """The entry point as a function of tensors (and of other arguments, as they are):
    a tensor, or a tuple of several. Tuples, dicts and data classes consist of tensors.

    Raises `UsageError` for what is no entry point. A call raises `ArgumentError` for
    tensors that NumPy has no view of, such as those of other devices, and what a call
    of the entry point raises. Its derivative cannot be
    differentiated once more. `torch.compile` leaves its calls out of graphs.
    """
    call = partial(_call, as_entry(entry, "torch"))
    about = ("__name__", "__doc__", "__signature__")
    call.__dict__.update({name: vars(entry)[name] for name in about})
    return call


def _call(entry: EntryPoint, /, *arguments: Any, **named: Any) -> Any:
    if torch.compiler.is_compiling():
        return torch.compiler.disable(_traced)(entry, *arguments, **named)
    return _traced(entry, *arguments, **named)


def _traced(entry: EntryPoint, /, *arguments: Any, **named: Any) -> Any:
    """A call that autograd records."""
    arguments = arguments_of(entry, arguments, named)
    try:
        groups = list(_opened(entry.parameters, arguments))
    except WrongValue as error:
        raise ArgumentError(f"{entry.name}: {error}") from None
    owners = tuple(i for i, group in enumerate(groups) for _ in group)
    given = [component for group in groups for component in group]
    wanted = [i for i, a in enumerate(given) if getattr(a, "requires_grad", False)]
    run = _Call(entry, owners, tuple(wanted) if torch.is_grad_enabled() else ())
    found = iter(_Function.apply(run, *given))
    return one_or_all([compose(r.structure, found) for r in entry.results])


def _opened(parts: Sequence[Parameter], values: Sequence[Any]) -> Iterator[list[Any]]:
    """The tensors or arrays that each argument or result consists of."""
    for part, value in zip(parts, values, strict=True):
        yield components(part.structure, value, part.name)


@dataclass(frozen=True)
class _Call:
    """A call of an entry point, on the components of its arguments; `owners` are their
    parameters. If its result is one float, the gradients in the components `wanted` are
    further results."""

    entry: EntryPoint
    owners: tuple[int, ...]
    wanted: tuple[int, ...]

    @property
    def further(self) -> int:
        """How many results have no adjoints."""
        return len(self.wanted) if is_scalar(self.entry) else 0

    def values(self, given: Sequence[Any]) -> Sequence[Any]:
        if not self.further:
            return self.run(self.entry, given)
        return self.derivative("vjp", (*given, 1.0))

    def run(self, entry: EntryPoint, given: Sequence[Any]) -> list[Any]:
        left = iter(given)
        results = entry.call([compose(p.structure, left) for p in entry.parameters])
        return [c for group in _opened(entry.results, results) for c in group]

    def explain(self, given: Sequence[Any]) -> None:
        """Raises `ArgumentError` as a call with these tensors does: it names what the
        user called, and what to do with a tensor."""
        tensors = (a.detach() if isinstance(a, torch.Tensor) else a for a in given)
        self.entry.call([compose(p.structure, tensors) for p in self.entry.parameters])

    def derivative(
        self, mode: Literal["vjp", "grad"], given: Sequence[Any]
    ) -> list[Any]:
        """The results and the gradients in the components that are wanted."""
        chosen = {self.owners[position] for position in self.wanted}
        own = [position for position, i in enumerate(self.owners) if i in chosen]
        found = self.run(made(self.entry, mode, tuple(sorted(chosen))), given)
        gradients = dict(zip(own, found[-len(own) :], strict=True))
        return [*found[: -len(own)], *(gradients[position] for position in self.wanted)]

    def adjoints(
        self, arguments: Sequence[Any], behind: Sequence[Any], needed: tuple[int, ...]
    ) -> list[Any]:
        """Of the arguments that need one, from further results and adjoints of others.
        Inside of `vmap`, tensors do not say beforehand that they need one."""
        known = behind if needed == self.wanted else behind[self.further :]
        run = _Adjoints(self.entry, self.owners, needed)
        found = iter(_Function.apply(run, *arguments, *known))
        return [next(found) if i in needed else None for i, _ in enumerate(arguments)]

    def tangents(self, arguments: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Of the results, from those of the arguments, None for a constant."""
        wanted = tuple(i for i, tangent in enumerate(given) if tangent is not None)
        run = _Tangents(self.entry, self.owners, wanted)
        return [*_Function.apply(run, *arguments, *(given[i] for i in wanted))]


class _Derived(_Call):
    """What is not differentiated once more."""

    further = 0

    def adjoints(self, *_: Any) -> list[Any]:
        raise UsageError(ONCE)

    def tangents(self, *_: Any) -> list[Any]:
        raise UsageError(ONCE)


class _Tangents(_Derived):
    """The tangents of the results, from the arguments and the tangents of those
    `wanted`."""

    def values(self, given: Sequence[Any]) -> Sequence[Any]:
        count = len(self.owners)
        known = dict(zip(self.wanted, given[count:], strict=True))
        chosen = {self.owners[position] for position in self.wanted}
        own = [position for position, i in enumerate(self.owners) if i in chosen]
        tangents = [known.get(i, np.zeros_like(given[i])[()]) for i in own]
        both = made(self.entry, "jvp", tuple(sorted(chosen)))
        found = self.run(both, (*given[:count], *tangents))
        return found[len(found) // 2 :]


class _Adjoints(_Derived):
    """The adjoints of the arguments `wanted` of a call, all of them differentiable."""

    def values(self, given: Sequence[Any]) -> Sequence[Any]:
        *gradients, adjoint = given[len(self.owners) :]
        if is_scalar(self.entry) and gradients:
            return [gradient * adjoint for gradient in gradients]
        return self.derivative("grad", given)


class _Function(torch.autograd.Function):
    """The values of a `_Call` or of its `_Adjoints`."""

    @staticmethod
    def forward(run: _Call, *arguments: Any) -> Any:
        try:
            return tuple(map(_tensor, run.values([_outside(a) for a in arguments])))
        except ArgumentError:
            run.explain(arguments)
            raise

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.run, *arguments = inputs
        tensors = [a if isinstance(a, torch.Tensor) else None for a in arguments]
        pairs = zip(arguments, tensors, strict=True)
        ctx.others = [a if tensor is None else None for a, tensor in pairs]
        further = output[len(output) - ctx.run.further :]
        ctx.save_for_backward(*tensors, *further)
        ctx.save_for_forward(*tensors, *further)
        ctx.discrete = [not result.is_floating_point() for result in output]
        discrete = [result for result in output if not result.is_floating_point()]
        ctx.mark_non_differentiable(*further, *discrete)

    @staticmethod
    def backward(ctx: Any, *adjoints: Any) -> Any:
        arguments, further = _saved(ctx)
        seeds = adjoints[: len(adjoints) - ctx.run.further]
        needs = ctx.needs_input_grad[1:]
        needed = tuple(i for i, needs_one in enumerate(needs) if needs_one)
        return None, *ctx.run.adjoints(arguments, (*further, *seeds), needed)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        arguments, further = _saved(ctx)
        found = ctx.run.tangents(arguments, tangents)
        known = zip(found, ctx.discrete, strict=False)
        own = (None if discrete else tangent for tangent, discrete in known)
        return *own, *(None for _ in further)

    @staticmethod
    def vmap(info: Any, in_dims: Any, run: Any, *arguments: Any) -> Any:
        pairs = list(zip(arguments, in_dims[1:], strict=True))
        rows = []
        for i in range(info.batch_size):
            given = [a if dim is None else a.select(dim, i) for a, dim in pairs]
            rows.append(_Function.apply(run, *given))
        results = tuple(torch.stack(parts) for parts in zip(*rows, strict=True))
        return results, (0,) * len(results)


def _saved(ctx: Any) -> tuple[list[Any], Sequence[Any]]:
    """The arguments of a call, and its further results."""
    tensors = ctx.saved_tensors  # read once: checkpoints compute them for it
    pairs = zip(ctx.others, tensors, strict=False)
    arguments = [other if saved is None else saved for other, saved in pairs]
    return arguments, tensors[len(arguments) :]


def _outside(value: Any) -> Any:
    """A tensor as the NumPy array of the same memory; other values as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.device.type != "cpu":
        raise ArgumentError(f"a tensor on {value.device} was given; use .cpu()")
    try:
        return value.numpy(force=True)[()]
    except TypeError as error:
        raise ArgumentError(f"NumPy has no view of a tensor: {error}") from None


def _tensor(value: Any) -> torch.Tensor:
    """The tensor of the same memory."""
    return torch.from_numpy(np.asarray(value))
