"""The rows of benchmarks/gradients.py in JAX and PyTorch, each as its users write it.

JAX functions are compiled by `jit`; of PyTorch both run on all cores as they come. Each
library runs in a process of its own.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

ROWS = ("gmm", "lstm", "kmeans", "mlp")


@dataclass(frozen=True)
class Peer:
    """Runs that end when the results are there: the value; value and gradients."""

    function: Callable[[], Any]
    gradient: Callable[[], list[Any]]


def jax_peer(name: str, arguments: Sequence[Any], wrt: Sequence[int]) -> Peer:
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    jax.config.update("jax_enable_x64", True)

    def gmm(alphas: Any, means: Any, logs: Any, lower: Any, xs: Any) -> Any:
        d = xs.shape[1]
        factors = jnp.tril(lower, -1) + jnp.exp(logs)[:, :, None] * jnp.eye(d)
        scaled = jnp.einsum("kij,nkj->nki", factors, xs[:, None] - means)
        terms = alphas + logs.sum(1) - 0.5 * (scaled**2).sum(2)
        total = logsumexp(terms, axis=1).sum() - len(xs) * logsumexp(alphas)
        return total + 0.5 * (factors**2).sum()

    def lstm(of_input: Any, of_state: Any, bias: Any, xs: Any) -> Any:
        zeros = jnp.zeros((xs.shape[1], of_state.shape[1]), xs.dtype)

        def step(carry: Any, x: Any) -> Any:
            state, cell = carry
            gates = jnp.split(x @ of_input.T + state @ of_state.T + bias, 4, axis=1)
            i, f, o = map(jax.nn.sigmoid, gates[:3])
            cell = f * cell + i * jnp.tanh(gates[3])
            return (o * jnp.tanh(cell), cell), None

        return (jax.lax.scan(step, (zeros, zeros), xs)[0][0] ** 2).mean()

    def kmeans(centres: Any, points: Any) -> Any:
        distances = ((points[:, None] - centres) ** 2).sum(2)
        return distances.min(axis=1).sum()

    def mlp(w0: Any, b0: Any, w1: Any, b1: Any, xs: Any, ys: Any) -> Any:
        return ((jnp.tanh(xs @ w0.T + b0) @ w1.T + b1 - ys) ** 2).mean()

    rows = {"gmm": gmm, "lstm": lstm, "kmeans": kmeans, "mlp": mlp}
    given = [jnp.asarray(argument) for argument in arguments]
    function = jax.jit(rows[name])
    both = jax.jit(jax.value_and_grad(rows[name], argnums=tuple(wrt)))

    def gradient() -> list[Any]:
        value, gradients = jax.block_until_ready(both(*given))
        return [value, *gradients]

    return Peer(lambda: jax.block_until_ready(function(*given)), gradient)


def torch_peer(name: str, arguments: Sequence[Any], wrt: Sequence[int]) -> Peer:
    import torch

    def gmm(alphas: Any, means: Any, logs: Any, lower: Any, xs: Any) -> Any:
        factors = torch.tril(lower, -1) + torch.diag_embed(torch.exp(logs))
        scaled = torch.einsum("kij,nkj->nki", factors, xs[:, None] - means)
        terms = alphas + logs.sum(1) - 0.5 * (scaled**2).sum(2)
        total = torch.logsumexp(terms, 1).sum() - len(xs) * torch.logsumexp(alphas, 0)
        return total + 0.5 * (factors**2).sum()

    def lstm(of_input: Any, of_state: Any, bias: Any, xs: Any) -> Any:
        state = cell = torch.zeros(xs.shape[1], of_state.shape[1])
        for x in xs:
            gates = (x @ of_input.T + state @ of_state.T + bias).chunk(4, 1)
            i, f, o = map(torch.sigmoid, gates[:3])
            cell = f * cell + i * torch.tanh(gates[3])
            state = o * torch.tanh(cell)
        return (state**2).mean()

    def kmeans(centres: Any, points: Any) -> Any:
        distances = ((points[:, None] - centres) ** 2).sum(2)
        return distances.min(1).values.sum()

    def mlp(w0: Any, b0: Any, w1: Any, b1: Any, xs: Any, ys: Any) -> Any:
        return ((torch.tanh(xs @ w0.T + b0) @ w1.T + b1 - ys) ** 2).mean()

    function = {"gmm": gmm, "lstm": lstm, "kmeans": kmeans, "mlp": mlp}[name]
    given = [torch.from_numpy(argument) for argument in arguments]

    def value() -> Any:
        with torch.no_grad():
            return function(*given)

    def gradient() -> list[Any]:
        own = [t.detach().requires_grad_(i in wrt) for i, t in enumerate(given)]
        found = function(*own)
        gradients = torch.autograd.grad(found, [own[i] for i in wrt])
        return [found.detach(), *gradients]

    return Peer(value, gradient)


PEERS = {"JAX": jax_peer, "PyTorch": torch_peer}
MODULES = {"JAX": "jax", "PyTorch": "torch"}


@dataclass(frozen=True)
class PeerProcess:
    """A peer in a process of its own, of which one request is answered at a time."""

    process: BaseProcess
    connection: Connection

    def result(self) -> list[Any]:
        """The value and the gradients."""
        return self._ask(None)

    def times(self, seconds: float) -> dict[str, list[float]]:
        """Seconds of runs of the function and of the gradient, in interleaved
        rounds."""
        return self._ask(seconds)

    def end(self) -> None:
        self.connection.close()
        self.process.join()

    def _ask(self, seconds: float | None) -> Any:
        self.connection.send(seconds)
        return self.connection.recv()


def peer_processes(
    name: str, arguments: Sequence[Any], wrt: Sequence[int]
) -> dict[str, PeerProcess]:
    """A process for each library that is installed and has a counterpart of the row."""
    context = multiprocessing.get_context("spawn")
    found = {}
    for library in PEERS:
        if name in ROWS and importlib.util.find_spec(MODULES[library]) is not None:
            ours, theirs = context.Pipe()
            job = (theirs, library, name, arguments, wrt)
            process = context.Process(target=_serve, args=job, daemon=True)
            process.start()
            theirs.close()
            found[library] = PeerProcess(process, ours)
    return found


def _serve(
    connection: Connection,
    library: str,
    name: str,
    arguments: Sequence[Any],
    wrt: Sequence[int],
) -> None:
    peer = PEERS[library](name, arguments, wrt)
    runs = {"function": peer.function, "gradient": peer.gradient}
    while True:
        try:
            seconds = connection.recv()
        except EOFError:
            return
        if seconds is None:
            connection.send([np.asarray(each) for each in peer.gradient()])
        else:
            connection.send(alternate(runs, seconds))


def alternate(
    runs: dict[str, Callable[[], Any]], seconds: float
) -> dict[str, list[float]]:
    """Run in interleaved rounds for some seconds, after one run of each that does not
    count. A run that measures itself gives its seconds."""
    times: dict[str, list[float]] = {what: [] for what in runs}
    for run in runs.values():
        run()
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or not times["gradient"]:
        for what, run in runs.items():
            before = time.perf_counter()
            own = run()
            spent = time.perf_counter() - before
            times[what].append(own if isinstance(own, float) else spent)
    return times
