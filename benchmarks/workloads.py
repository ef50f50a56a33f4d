"""Programs as a user would write them, against NumPy and, where it is installed, Numba.

    python benchmarks/workloads.py [NAME...] [--rounds 9] [--scale 1.0] [--versions]

`workloads/*.fut` are written without the compiler in mind. Each result is compared with
NumPy's; then all contenders run in interleaved rounds, called from Python on arrays in
memory. A ratio is the median of the fastest peer over that of minifut: above 1, minifut
wins. `--scale` multiplies the lengths of the larger dimensions. `--versions` compares
the default with each forced version of minifut in the place of peers."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minifut

try:
    from numba import njit, prange
except ImportError:
    njit = None

FOLDER = Path(__file__).with_suffix("")
Arguments = tuple[Any, ...]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Work:
    """A program by its name, its arguments for a scale, and peers."""

    arguments: Callable[[np.random.Generator, float], Arguments]
    numpy: Function
    loops: Function | None = None
    """for Numba to compile, with `prange`"""
    slack: float = 1e-4
    """the part of the elements that may differ: where rounding decides"""


# --- peers ----------------------------------------------------------------------------


def mandelbrot(n: int, limit: int) -> Any:
    x, y = (3 * np.arange(n, dtype=np.float32) / np.float32(n) - d for d in (2.25, 1.5))
    c = (x[None, :] + 1j * y[:, None]).astype(np.complex64)
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(limit):
            alive = z.real * z.real + z.imag * z.imag <= 4
            count += alive
            z = np.where(alive, z * z + c, z)
    return count


def mandelbrot_loops(n: int, limit: int) -> Any:
    count = np.empty((n, n), np.int32)
    for i in prange(n):
        cy = np.float32(3) * np.float32(i) / np.float32(n) - np.float32(1.5)
        for j in range(n):
            cx = np.float32(3) * np.float32(j) / np.float32(n) - np.float32(2.25)
            x = y = np.float32(0)
            k = 0
            while k < limit and x * x + y * y <= np.float32(4):
                x, y = x * x - y * y + cx, np.float32(2) * x * y + cy
                k += 1
            count[i, j] = k
    return count


def sobel(image: Any) -> Any:
    p = np.pad(image, 1, "symmetric").astype(np.int32)
    smooth, step = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:], p[:, 2:] - p[:, :-2]
    gx, gy = step[:-2] + 2 * step[1:-1] + step[2:], smooth[2:] - smooth[:-2]
    size = np.sqrt((gx * gx + gy * gy).astype(np.float32))
    return np.minimum(255, size.astype(np.int32)).astype(np.uint8)


def sobel_loops(image: Any) -> Any:
    h, w = image.shape
    out = np.empty((h, w), np.uint8)
    for i in prange(h):
        u, d = max(i - 1, 0), min(i + 1, h - 1)
        for j in range(w):
            left, right = max(j - 1, 0), min(j + 1, w - 1)
            a, b, c = image[u, left], image[u, j], image[u, right]
            e, f = image[i, left], image[i, right]
            p, q, r = image[d, left], image[d, j], image[d, right]
            gx = np.int32(c) + 2 * np.int32(f) + np.int32(r)
            gx -= np.int32(a) + 2 * np.int32(e) + np.int32(p)
            gy = np.int32(p) + 2 * np.int32(q) + np.int32(r)
            gy -= np.int32(a) + 2 * np.int32(b) + np.int32(c)
            out[i, j] = min(255, int(np.sqrt(np.float32(gx * gx + gy * gy))))
    return out


def slopes(heights: Any) -> Any:
    p = np.pad(heights, 1, "reflect")
    smooth, step = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:], p[:, 2:] - p[:, :-2]
    dx, dy = step[:-2] + 2 * step[1:-1] + step[2:], smooth[2:] - smooth[:-2]
    return np.sqrt(dx * dx + dy * dy)


def slopes_loops(heights: Any) -> Any:
    h, w = heights.shape
    out = np.empty_like(heights)
    for i in prange(h):
        u, d = abs(i - 1), i + 1 if i + 1 < h else 2 * h - 3 - i
        for j in range(w):
            left, right = abs(j - 1), j + 1 if j + 1 < w else 2 * w - 3 - j
            a, b, c = heights[u, left], heights[u, j], heights[u, right]
            e, f = heights[i, left], heights[i, right]
            p, q, r = heights[d, left], heights[d, j], heights[d, right]
            dx, dy = c + 2 * f + r - a - 2 * e - p, p + 2 * q + r - a - 2 * b - c
            out[i, j] = np.sqrt(dx * dx + dy * dy)
    return out


def waves(steps: int, before: Any, now: Any) -> Any:
    for _ in range(steps):
        around = sum(np.roll(now, shift, axis) for axis in (0, 1) for shift in (-1, 1))
        after = 2 * now - before + np.float32(0.2) * (around - 4 * now)
        before, now = now, after
    return now


def waves_loops(steps: int, before: Any, now: Any) -> Any:
    n = len(now)
    before, now, after = before.copy(), now.copy(), np.empty_like(now)
    for _ in range(steps):
        for i in prange(n):
            u, d = i - 1 if i > 0 else n - 1, i + 1 if i < n - 1 else 0
            for j in range(n):
                le, r = j - 1 if j > 0 else n - 1, j + 1 if j < n - 1 else 0
                around = now[d, j] + now[u, j] + now[i, r] + now[i, le]
                rest = np.float32(0.2) * (around - np.float32(4) * now[i, j])
                after[i, j] = np.float32(2) * now[i, j] - before[i, j] + rest
        before, now, after = now, after, before
    return now


def heat(steps: int, u: Any) -> Any:
    u, inside = u.copy(), slice(1, -1)
    for _ in range(steps):
        around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1]
        around += u[1:-1, 2:, 1:-1] + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
        u[inside, inside, inside] += 0.1 * (around - 6 * u[1:-1, 1:-1, 1:-1])
    return u


def heat_loops(steps: int, u: Any) -> Any:
    now, after, n = u.copy(), u.copy(), len(u)
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    s = now[i - 1, j, k] + now[i + 1, j, k] + now[i, j - 1, k]
                    s += now[i, j + 1, k] + now[i, j, k - 1] + now[i, j, k + 1]
                    after[i, j, k] = now[i, j, k] + 0.1 * (s - 6 * now[i, j, k])
        now, after = after, now
    return now


def medians(xs: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(xs, 2, "edge"), 5)
    return np.median(windows, axis=1)


def medians_loops(xs: Any) -> Any:
    out, last = np.empty_like(xs), len(xs) - 1
    for i in prange(len(xs)):
        a = np.empty(5, np.float32)
        for k in range(5):
            a[k] = xs[min(last, max(0, i + k - 2))]
        for first in range(4):
            for j in range(4 - first):
                if a[j] > a[j + 1]:
                    a[j], a[j + 1] = a[j + 1], a[j]
        out[i] = a[2]
    return out


def matches(text: Any, pattern: Any) -> Any:
    places = len(text) - len(pattern) + 1
    count = np.zeros(places, np.int32)
    for k, letter in enumerate(pattern):
        count += text[k : k + places] != letter
    return count


def matches_loops(text: Any, pattern: Any) -> Any:
    count = np.empty(len(text) - len(pattern) + 1, np.int32)
    for i in prange(len(count)):
        differ = 0
        for k in range(len(pattern)):
            differ += text[i + k] != pattern[k]
        count[i] = differ
    return count


def distances(xs: Any, ys: Any) -> Any:
    k, n = xs.shape
    row = np.tile(np.arange(n + 1, dtype=np.int32), (k, 1))
    for i in range(n):
        diagonal, row[:, 0] = row[:, 0].copy(), i + 1
        for j in range(n):
            above = row[:, j + 1].copy()
            other = 1 + np.minimum(row[:, j], above)
            row[:, j + 1] = np.minimum(diagonal + (xs[:, i] != ys[:, j]), other)
            diagonal = above
    return row[:, n]


def distances_loops(xs: Any, ys: Any) -> Any:
    k, n = xs.shape
    found = np.empty(k, np.int32)
    for p in prange(k):
        row = np.arange(n + 1).astype(np.int32)
        for i in range(n):
            diagonal, row[0] = row[0], i + 1
            for j in range(n):
                above = row[j + 1]
                other = 1 + min(row[j], above)
                row[j + 1] = min(diagonal + (xs[p, i] != ys[p, j]), other)
                diagonal = above
        found[p] = row[n]
    return found


def search_loops(ordered: Any, wanted: Any) -> Any:
    found = np.empty(len(wanted), np.int64)
    for i in prange(len(wanted)):
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high) // 2
            if ordered[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found


def softmax(xss: Any) -> Any:
    es = np.exp(xss - xss.max(1, keepdims=True))
    return es / es.sum(1, keepdims=True)


def softmax_loops(xss: Any) -> Any:
    out = np.empty_like(xss)
    for i in prange(len(xss)):
        most = xss[i].max()
        total = np.float32(0)
        for j in range(xss.shape[1]):
            out[i, j] = np.exp(xss[i, j] - most)
            total += out[i, j]
        for j in range(xss.shape[1]):
            out[i, j] /= total
    return out


def moments(xss: Any) -> Any:
    mean = xss.mean(0)
    centred = xss - mean
    squares = centred * centred
    variance = squares.mean(0)
    skewness = (squares * centred).mean(0) / variance**1.5
    return mean, variance, skewness, (squares * squares).mean(0) / variance**2


def nearest(words: Any, codes: Any) -> Any:
    return np.stack([np.bitwise_count(words ^ c) for c in codes]).argmin(0)


def nearest_loops(words: Any, codes: Any) -> Any:
    found = np.empty(len(words), np.int32)
    for i in prange(len(words)):
        best = 65
        for k in range(len(codes)):
            bits, count = words[i] ^ codes[k], 0
            while bits:
                bits &= bits - np.uint64(1)
                count += 1
            if count < best:
                best, found[i] = count, k
    return found


def power(steps: int, a: Any) -> Any:
    v = np.ones(len(a), a.dtype)
    for _ in range(steps):
        w = a @ v
        v = w / np.sqrt((w * w).sum())
    return v


def power_loops(steps: int, a: Any) -> Any:
    v = np.ones(len(a), a.dtype)
    for _ in range(steps):
        w = np.dot(a, v)
        v = w / np.sqrt(np.sum(w * w))
    return v


def subsequence(x: Any, y: Any) -> Any:
    n = len(x)
    before = now = np.zeros(n + 1, np.int32)
    for d in range(2 * n - 1):
        low, high = max(1, d + 2 - n), min(n, d + 1) + 1
        same = x[low - 1 : high - 1] == y[d + 2 - np.arange(low, high) - 1]
        apart = np.maximum(now[low - 1 : high - 1], now[low:high])
        after = np.zeros(n + 1, np.int32)
        after[low:high] = np.where(same, before[low - 1 : high - 1] + 1, apart)
        before, now = now, after
    return now[n]


def subsequence_loops(x: Any, y: Any) -> Any:
    row, after = np.zeros(len(y) + 1, np.int32), np.zeros(len(y) + 1, np.int32)
    for i in range(len(x)):
        for j in range(len(y)):
            apart = max(row[j + 1], after[j])
            after[j + 1] = row[j] + 1 if x[i] == y[j] else apart
        row, after = after, row
    return row[len(y)]


def knapsack(capacity: int, weights: Any, values: Any) -> Any:
    best = np.zeros(capacity + 1, np.int32)
    for weight, value in zip(weights, values, strict=True):
        best[weight:] = np.maximum(best[weight:], best[: len(best) - weight] + value)
    return best[capacity]


def knapsack_loops(capacity: int, weights: Any, values: Any) -> Any:
    best = np.zeros(capacity + 1, np.int32)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


# --- the programs ---------------------------------------------------------------------


def _floats(random: np.random.Generator, *shape: int) -> Any:
    return random.normal(size=shape).astype(np.float32)


def _bytes(random: np.random.Generator, most: int, *shape: int) -> Any:
    return random.integers(0, most, shape).astype(np.uint8)


def _words(random: np.random.Generator, count: int) -> Any:
    return random.integers(0, 1 << 63, count).astype(np.uint64)


WORKS: dict[str, Work] = {
    "mandelbrot": Work(
        lambda _, s: (int(768 * s), 128), mandelbrot, mandelbrot_loops, slack=0.01
    ),
    "sobel": Work(
        lambda r, s: (_bytes(r, 256, int(1500 * s), 2000),), sobel, sobel_loops
    ),
    "slopes": Work(
        lambda r, s: (_floats(r, int(1500 * s), 2000),), slopes, slopes_loops
    ),
    "waves": Work(
        lambda r, s: (30, *(_floats(r, int(700 * s), int(700 * s)) for _ in "ab")),
        waves,
        waves_loops,
    ),
    "heat": Work(lambda r, s: (20, r.random((int(128 * s),) * 3)), heat, heat_loops),
    "medians": Work(lambda r, s: (_floats(r, int(2e6 * s)),), medians, medians_loops),
    "matches": Work(
        lambda r, s: (_bytes(r, 4, int(1e6 * s)), _bytes(r, 4, 24)),
        matches,
        matches_loops,
    ),
    "distances": Work(
        lambda r, s: tuple(_bytes(r, 4, int(8000 * s), 32) for _ in "ab"),
        distances,
        distances_loops,
    ),
    "search": Work(
        lambda r, s: (np.sort(_floats(r, int(1e6 * s))), _floats(r, int(1e6 * s))),
        np.searchsorted,
        search_loops,
    ),
    "softmax": Work(
        lambda r, s: (_floats(r, int(4000 * s), 500),), softmax, softmax_loops
    ),
    "moments": Work(lambda r, s: (_floats(r, int(20000 * s), 200),), moments),
    "bits": Work(
        lambda r, s: (_words(r, int(500_000 * s)), _words(r, 32)),
        nearest,
        nearest_loops,
    ),
    "power": Work(
        lambda r, s: (50, r.random((int(512 * s),) * 2, np.float32)),
        power,
        power_loops,
    ),
    "subsequence": Work(
        lambda r, s: tuple(_bytes(r, 4, int(4000 * s)) for _ in "ab"),
        subsequence,
        subsequence_loops,
    ),
    "knapsack": Work(
        lambda r, s: (
            int(30_000 * s),
            r.integers(1, 50, 100),
            r.integers(1, 100, 100, np.int32),
        ),
        knapsack,
        knapsack_loops,
    ),
}


def agree(found: Any, wanted: Any, slack: float) -> bool:
    """Whether all but a few elements are equal or nearly so."""
    pairs = [(found, wanted)]
    if isinstance(wanted, tuple):
        pairs = list(zip(found, wanted, strict=True))
    return all(
        np.mean(~np.isclose(np.asarray(f), w, rtol=1e-3, atol=2e-3)) <= slack
        for f, w in pairs
    )


def measured(
    name: str, rounds: int, scale: float, versions: bool
) -> tuple[dict[str, float], bool]:
    """The median seconds of each contender, and whether the result is right."""
    work = WORKS[name]
    arguments = work.arguments(np.random.default_rng(7), scale)
    program = minifut.compile(str(FOLDER / f"{name}.fut"))
    contenders: dict[str, Function] = {"minifut": program.main, "numpy": work.numpy}
    if versions:
        contenders |= forced(program)
    elif njit is not None and work.loops is not None:
        contenders["numba"] = njit(parallel=True)(work.loops)
    results = {who: call(*arguments) for who, call in contenders.items()}
    times: dict[str, list[float]] = {who: [] for who in contenders}
    for _ in range(rounds):
        for who, call in contenders.items():
            call(*arguments)
            start = time.perf_counter()
            call(*arguments)
            times[who].append(time.perf_counter() - start)
    right = agree(results["minifut"], results["numpy"], work.slack)
    return {who: statistics.median(found) for who, found in times.items()}, right


def forced(program: minifut.Program) -> dict[str, Function]:
    """A call of each version of the program, by the version's name."""
    default = dict(program.tuning)

    def call(settings: Mapping[str, int]) -> Function:
        def run(*arguments: Any) -> Any:
            program.tuning.update(settings)
            try:
                return program.main(*arguments)
            finally:
                program.tuning.update(default)

        return run

    return {v.name: call(v.settings) for v in program.versions("main")}


def main() -> int:
    """Measure the programs, print a line for each and the geometric mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *WORKS], help="all by default")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--versions", action="store_true")
    options = parser.parse_args()
    ratios, all_right = [], True
    names = ("minifut", "best") if options.versions else ("minifut", "numpy", "numba")
    print(f"{'ms':12}" + "".join(f"{who:>10}" for who in names) + f"{'ratio':>8}")
    for name in options.names or WORKS:
        times, right = measured(name, options.rounds, options.scale, options.versions)
        if options.versions:
            del times["numpy"]
        best = min(t for who, t in times.items() if who != "minifut")
        times["best"] = best
        ratios.append(best / times["minifut"])
        cells = "".join(
            f"{1e3 * times[who]:10.2f}" if who in times else f"{'-':>10}"
            for who in names
        )
        print(
            f"{name:12}{cells}{ratios[-1]:8.2f}{'' if right else '  WRONG'}", flush=True
        )
        all_right &= right
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of the ratios: {mean:.2f}")
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
