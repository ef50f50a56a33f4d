"""What gradients cost: their time over that of the function itself, and against JAX and
PyTorch.

    python benchmarks/gradients.py [ROW ...] [--seconds S] [--json FILE]

Each row alternates runs of the function and of its gradient (which gives the value as
well, but in the row multiply, whose adjoint is given) on the same arguments, already on
the device, until `--seconds` have passed, and prints the medians and the median of the
ratios. JAX and PyTorch, if they are installed, are interleaved with them in the rows
that they have a counterpart for, on the same numbers at the same precision; values and
gradients are compared first. Each library has a process of its own, that waits while
another one runs: their idle threads spin for work some milliseconds after each call,
which would take the cores from whoever is next. The programs are in
`benchmarks/gradients/`.

Predictions of the ratios before the first measurement: gmm 3, lstm 3, ba 4, kmeans 2.5,
mlp 3, sum 2 (sines once more, one array more to write), minimum 2 (a comparison with
the index), product 2.5, prefix_sums 2 (a reversed scan), histogram 2 (a gather),
stencil 3.5 (the adjoint step costs as much as the step, and the tape is written and
read), matmul 3 (two more products), multiply 2 (two products), long_product 3 (two
reads and a write), spmv 4. What was measured: docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gradients_peers import PEERS, alternate, peer_processes

import minifut

PROGRAMS = Path(__file__).parent / "gradients"
ROUND = 0.25
"""seconds that each library runs in a round"""


@dataclass(frozen=True)
class Row:
    """A program, the parameters to differentiate in, arguments, the ratio to reach."""

    program: str
    wrt: tuple[str, ...]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    bound: float
    sequential: bool = False
    """also measure the gradient of the sequential backend"""
    entry: str = ""
    """the entry point, if its name is not that of the row"""
    mode: Literal["vjp", "grad"] = "vjp"
    """with or without the value"""


def gmm(random: np.random.Generator) -> tuple[Any, ...]:
    n, k, d = 4000, 25, 16
    lower = 0.3 * np.tril(random.normal(size=(k, d, d)), -1)
    alphas, means = random.normal(size=k), random.uniform(size=(k, d))
    return (
        alphas,
        means,
        0.3 * random.normal(size=(k, d)),
        lower,
        random.normal(size=(n, d)),
    )


def lstm(random: np.random.Generator) -> tuple[Any, ...]:
    steps, batch, d, h = 20, 64, 64, 64
    shapes = (4 * h, d), (4 * h, h), (4 * h,), (steps, batch, d)
    return tuple(0.3 * random.normal(size=s).astype(np.float32) for s in shapes)


def ba(random: np.random.Generator) -> tuple[Any, ...]:
    n, m, p = 50, 8000, 100_000
    cameras = random.uniform(0.1, 0.3, size=(n, 11))
    points = random.uniform(1, 2, size=(m, 3))
    which = np.stack((random.integers(n, size=p), random.integers(m, size=p)), axis=1)
    weights, seen = random.uniform(0.5, 1, size=p), random.uniform(size=(p, 2))
    return cameras, points, weights, which.astype(np.int32), seen


def kmeans(random: np.random.Generator) -> tuple[Any, ...]:
    return random.normal(size=(64, 16)), random.normal(size=(20_000, 16))


def mlp(random: np.random.Generator) -> tuple[Any, ...]:
    n, m, h, p = 1000, 64, 128, 10
    shapes = (h, m), (h,), (p, h), (p,), (n, m), (n, p)
    return tuple(0.2 * random.normal(size=s).astype(np.float32) for s in shapes)


def histogram(random: np.random.Generator) -> tuple[Any, ...]:
    n, bins = 2_000_000, 1000
    return bins, random.integers(bins, size=n), random.normal(size=n)


def spmv(random: np.random.Generator) -> tuple[Any, ...]:
    rows, of_row = 50_000, 20
    nonzero = rows * of_row
    starts = np.arange(nonzero) % of_row == 0
    ends = np.arange(rows) * of_row + of_row - 1
    columns = random.integers(rows, size=nonzero)
    return random.normal(size=nonzero), columns, starts, ends, random.normal(size=rows)


def distances(random: np.random.Generator) -> tuple[Any, ...]:
    offset, points = random.random(3), random.random((2_000_000, 3))
    return offset.astype(np.float32), points.astype(np.float32)


def numbers(
    *shapes: tuple[int, ...],
) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda random: tuple(random.uniform(0.999, 1.001, size=s) for s in shapes)


ROWS = {
    "gmm": Row("gmm", ("alphas", "means", "logs", "lower"), gmm, 3),
    "lstm": Row("lstm", ("of_input", "of_state", "bias"), lstm, 3.5),
    "ba": Row("ba", ("cameras", "points", "weights"), ba, 12),
    "kmeans": Row("kmeans", ("centres",), kmeans, 3),
    "mlp": Row("mlp", ("w0", "b0", "w1", "b1"), mlp, 3.5),
    "sum": Row("constructs", ("xs",), numbers((4_000_000,)), 3),
    "minimum": Row("constructs", ("xs",), numbers((4_000_000,)), 3),
    "product": Row("constructs", ("xs",), numbers((4_000_000,)), 3),
    "long_product": Row(
        "constructs", ("xs",), numbers((32_000_000,)), 3, entry="product"
    ),
    "prefix_sums": Row("constructs", ("xs",), numbers((4_000_000,)), 4),
    "histogram": Row("constructs", ("xs",), histogram, 2.6),
    "stencil": Row("constructs", ("grid",), numbers((500, 500)), 4),
    "matmul": Row("constructs", ("a", "b"), numbers((400, 400), (400, 400)), 2.5),
    "multiply": Row(
        "constructs", ("a", "b"), numbers((400, 400), (400, 400)), 2.5, mode="grad"
    ),
    "spmv": Row("constructs", ("values", "x"), spmv, 4),
    "distances": Row("distances", ("offset",), distances, 5, sequential=True),
}


def measure(name: str, row: Row, seconds: float) -> dict[str, Any]:
    """Median seconds of the function, the gradient, and the peers' of both."""
    arguments = row.arguments(np.random.default_rng(0))
    entry = minifut.compile(PROGRAMS / f"{row.program}.fut").entry(row.entry or name)
    derivative = entry.derivative(row.mode, row.wrt)
    assert entry.prepare is not None and derivative.prepare is not None
    seed = np.ones_like(np.asarray(entry(*arguments)))[()]
    found = list(derivative.call((*arguments, seed)))
    runs: dict[str, Callable[[], Any]] = {
        "function": entry.prepare(arguments),
        "gradient": derivative.prepare((*arguments, seed)),
    }
    positions = [[p.name for p in entry.parameters].index(w) for w in row.wrt]
    peers = peer_processes(name, arguments, positions)
    for library, peer in peers.items():
        compare(library, name, found, peer.result())
    if row.sequential:
        other = minifut.compile(PROGRAMS / f"{row.program}.fut", backend="sequential")
        alone = other.entry(entry.name).derivative("vjp", row.wrt)
        runs["sequential"] = lambda: alone.call((*arguments, seed))
        compare("the sequential backend", name, found, runs["sequential"]())
    times: dict[str, list[float]] = defaultdict(list)
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or len(times["gradient"]) < 3:
        for what, each in alternate(runs, ROUND).items():
            times[what] += each
        for library, peer in peers.items():
            for what, each in peer.times(ROUND).items():
                times[f"{library} {what}"] += each
    for peer in peers.values():
        peer.end()
    medians = {what: statistics.median(each) for what, each in times.items()}
    pairs = zip(times["gradient"], times["function"], strict=True)
    return {**medians, "ratio": statistics.median(g / f for g, f in pairs)}


def compare(library: str, name: str, ours: list[Any], theirs: list[Any]) -> None:
    """Refuse to time what differs."""
    for one, other in zip(ours, theirs, strict=True):
        wanted = np.asarray(other)
        scale = float(np.max(np.abs(wanted))) or 1.0
        tolerance = 1e-3 if wanted.dtype == np.float32 else 1e-8
        if not np.allclose(one, wanted, rtol=tolerance, atol=tolerance * scale):
            raise SystemExit(f"{name}: the gradient differs from that of {library}")


def main() -> int:
    parser = argparse.ArgumentParser(description="gradients over functions")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {}
    print(f"{'':11} {'function':>10} {'gradient':>10} {'ratio':>6} {'bound':>6}")
    for name in options.rows or ROWS:
        results[name] = found = measure(name, ROWS[name], options.seconds)
        line = f"{found['function'] * 1e3:7.2f} ms {found['gradient'] * 1e3:7.2f} ms"
        print(
            f"{name:10} {line} {found['ratio']:6.2f} {ROWS[name].bound:6}", flush=True
        )
        if "sequential" in found:
            print(
                f"  sequential          {found['sequential'] * 1e3:9.2f} ms", flush=True
            )
        for library in PEERS:
            if f"{library} gradient" in found:
                own, both = (found[f"{library} {w}"] for w in ("function", "gradient"))
                line = f"{own * 1e3:7.2f} ms {both * 1e3:7.2f} ms"
                print(f"  {library:9} {line} {both / own:6.2f}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
