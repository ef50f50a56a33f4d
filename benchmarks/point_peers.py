"""Programs of `workloads/` whose points have loops and arrays of their own, for NumPy,
and as loops for Numba to compile."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

try:
    from numba import prange
except ImportError:
    prange = range

MEAN, SPEED, SWING, RHO = 0.04, 1.5, 0.3, -0.7


def paths(xs: Any, ys: Any, strike: float) -> Any:
    n, m = xs.shape
    price, variance, step = np.ones(n), np.full(n, 0.04), 1 / m
    for x, y in zip(xs.T, ys.T, strict=True):
        v = np.maximum(variance, 0)
        w = np.sqrt(v * step)
        z = RHO * x + math.sqrt(1 - RHO * RHO) * y
        price = price * np.exp(w * x - 0.5 * v * step)
        variance = variance + SPEED * (MEAN - v) * step + SWING * w * z
    return np.maximum(price - strike, 0).mean()


def paths_loops(xs: Any, ys: Any, strike: float) -> Any:
    n, m = xs.shape
    total, step, other = 0.0, 1 / m, math.sqrt(1 - RHO * RHO)
    for i in prange(n):
        price, variance = 1.0, 0.04
        for j in range(m):
            v = max(variance, 0.0)
            w = math.sqrt(v * step)
            z = RHO * xs[i, j] + other * ys[i, j]
            price *= math.exp(w * xs[i, j] - 0.5 * v * step)
            variance += SPEED * (MEAN - v) * step + SWING * w * z
        total += max(price - strike, 0.0)
    return total / n


def _places(size: int, new: int) -> tuple[Any, Any, Any]:
    x = np.clip((np.arange(new) + 0.5) * size / new - 0.5, 0, size - 1)
    a = x.astype(np.int64)
    return a, np.minimum(a + 1, size - 1), (x - a).astype(np.float32)


def resize(image: Any, n: int, m: int) -> Any:
    h, w = image.shape
    (a, b, u), (c, d, v) = _places(h, n), _places(w, m)
    upper, lower = image[a], image[b]
    one = np.float32(1)
    top = upper[:, c] * (one - v) + upper[:, d] * v
    bottom = lower[:, c] * (one - v) + lower[:, d] * v
    return top * (one - u)[:, None] + bottom * u[:, None]


def resize_loops(image: Any, n: int, m: int) -> Any:
    h, w = image.shape
    out = np.empty((n, m), np.float32)
    for i in prange(n):
        y = min(max((i + 0.5) * h / n - 0.5, 0.0), h - 1.0)
        a = int(y)
        b, u = min(a + 1, h - 1), y - a
        for j in range(m):
            x = min(max((j + 0.5) * w / m - 0.5, 0.0), w - 1.0)
            c = int(x)
            d, v = min(c + 1, w - 1), x - c
            upper = image[a, c] * (1 - v) + image[a, d] * v
            lower = image[b, c] * (1 - v) + image[b, d] * v
            out[i, j] = upper * (1 - u) + lower * u
    return out


def leaders(rows: Any, k: int) -> Any:
    some = np.argpartition(-rows, k, 1)[:, :k]
    found = np.take_along_axis(rows, some, 1)
    order = np.argsort(-found, 1)
    return tuple(np.take_along_axis(each, order, 1) for each in (found, some))


def leaders_loops(rows: Any, k: int) -> Any:
    n, m = rows.shape
    found, places = np.empty((n, k), np.float32), np.empty((n, k), np.int64)
    for i in prange(n):
        count = 0
        for j in range(m):
            x = rows[i, j]
            if count < k or x > found[i, k - 1]:
                p = count if count < k else k - 1
                while p > 0 and found[i, p - 1] < x:
                    found[i, p], places[i, p] = found[i, p - 1], places[i, p - 1]
                    p -= 1
                found[i, p], places[i, p] = x, j
                count = min(count + 1, k)
    return found, places
