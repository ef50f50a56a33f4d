"""Programs of `workloads/` whose points compute rows, for NumPy and as loops."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from numba import prange
except ImportError:
    prange = range


def tracks(q: Any, r: Any, seen: Any) -> Any:
    n, steps = seen.shape
    x, out = seen[:, 0].copy(), np.empty_like(seen)
    v, c01 = np.zeros((2, n), np.float32)
    c00, c11 = np.ones((2, n), np.float32)
    for i in range(steps):
        ahead, p00, p01, p11 = x + v, c00 + 2 * c01 + c11 + q, c01 + c11, c11 + q
        k0, k1, y = p00 / (p00 + r), p01 / (p00 + r), seen[:, i] - ahead
        x, v = ahead + k0 * y, v + k1 * y
        c00, c01, c11 = (1 - k0) * p00, (1 - k0) * p01, p11 - k1 * p01
        out[:, i] = x
    return out


def tracks_loops(q: Any, r: Any, seen: Any) -> Any:
    n, steps = seen.shape
    out, one = np.empty_like(seen), np.float32(1)
    for track in prange(n):
        x, v = seen[track, 0], np.float32(0)
        c00, c01, c11 = one, np.float32(0), one
        for i in range(steps):
            ahead = x + v
            p00, p01, p11 = c00 + np.float32(2) * c01 + c11 + q, c01 + c11, c11 + q
            k0, k1, y = p00 / (p00 + r), p01 / (p00 + r), seen[track, i] - ahead
            x, v = ahead + k0 * y, v + k1 * y
            c00, c01, c11 = (one - k0) * p00, (one - k0) * p01, p11 - k1 * p01
            out[track, i] = x
    return out


def tridiagonal(a: Any, b: Any, c: Any, d: Any) -> Any:
    e, x = np.empty_like(a), np.empty_like(a)
    e[:, 0], x[:, 0] = c[:, 0] / b[:, 0], d[:, 0] / b[:, 0]
    for i in range(1, a.shape[1]):
        pivot = b[:, i] - a[:, i] * e[:, i - 1]
        e[:, i], x[:, i] = c[:, i] / pivot, (d[:, i] - a[:, i] * x[:, i - 1]) / pivot
    for i in range(a.shape[1] - 2, -1, -1):
        x[:, i] -= e[:, i] * x[:, i + 1]
    return x


def tridiagonal_loops(a: Any, b: Any, c: Any, d: Any) -> Any:
    m, n = a.shape
    x = np.empty_like(a)
    for s in prange(m):
        e = np.empty(n, np.float32)
        e[0], x[s, 0] = c[s, 0] / b[s, 0], d[s, 0] / b[s, 0]
        for i in range(1, n):
            pivot = b[s, i] - a[s, i] * e[i - 1]
            e[i], x[s, i] = c[s, i] / pivot, (d[s, i] - a[s, i] * x[s, i - 1]) / pivot
        for i in range(n - 2, -1, -1):
            x[s, i] -= e[i] * x[s, i + 1]
    return x


def neighbours(px: Any, py: Any, qx: Any, qy: Any) -> Any:
    d = (px - qx[:, None]) ** 2 + (py - qy[:, None]) ** 2
    near = np.argpartition(d, 4, axis=1)[:, :4]
    order = np.argsort(np.take_along_axis(d, near, 1), axis=1)
    return np.take_along_axis(near, order, 1).astype(np.int32)


def neighbours_loops(px: Any, py: Any, qx: Any, qy: Any) -> Any:
    out = np.empty((len(qx), 4), np.int32)
    for q in prange(len(qx)):
        least, at = np.full(4, np.float32(np.inf), np.float32), np.full(4, -1, np.int32)
        for p in range(len(px)):
            d = (px[p] - qx[q]) ** 2 + (py[p] - qy[q]) ** 2
            if d < least[3]:
                k = 3
                while k > 0 and least[k - 1] > d:
                    least[k], at[k] = least[k - 1], at[k - 1]
                    k -= 1
                least[k], at[k] = d, p
        out[q] = at
    return out


def warping(one: Any, series: Any) -> Any:
    m, n = series.shape
    before = np.full((n + 1, m), np.inf, np.float32)
    before[0] = 0
    for i in range(n):
        now = np.full((n + 1, m), np.inf, np.float32)
        for j in range(n):
            least = np.minimum(before[j], np.minimum(before[j + 1], now[j]))
            now[j + 1] = np.abs(series[:, i] - one[j]) + least
        before = now
    return before[n]


def warping_loops(one: Any, series: Any) -> Any:
    m, n = series.shape
    out = np.empty(m, np.float32)
    for k in prange(m):
        before, now = np.full((2, n + 1), np.float32(np.inf), np.float32)
        before[0] = 0
        for i in range(n):
            now[0] = np.inf
            for j in range(n):
                least = min(before[j], min(before[j + 1], now[j]))
                now[j + 1] = abs(series[k, i] - one[j]) + least
            before, now = now, before
        out[k] = before[n]
    return out


def filtered(weights: Any, image: Any) -> Any:
    r, (h, w) = len(weights) // 2, image.shape
    wide = np.pad(image, ((0, 0), (r, r)), "edge")
    rows = sum(f * wide[:, k : k + w] for k, f in enumerate(weights))
    high = np.pad(rows, ((r, r), (0, 0)), "edge")
    return sum(f * high[k : k + h] for k, f in enumerate(weights))


def filtered_loops(weights: Any, image: Any) -> Any:
    (h, w), n = image.shape, len(weights)
    rows, out = np.empty_like(image), np.zeros_like(image)
    for i in prange(h):
        for j in range(w):
            s = np.float32(0)
            for k in range(n):
                s += weights[k] * image[i, max(0, min(w - 1, j + k - n // 2))]
            rows[i, j] = s
    for i in prange(h):
        for k in range(n):
            from_ = max(0, min(h - 1, i + k - n // 2))
            for j in range(w):
                out[i, j] += weights[k] * rows[from_, j]
    return out


def polynomials_loops(a: Any, b: Any) -> Any:
    n, m = len(a), len(b)
    out = np.empty(n + m - 1)
    for k in prange(n + m - 1):
        s = 0.0
        for i in range(max(0, k - m + 1), min(n - 1, k) + 1):
            s += a[i] * b[k - i]
        out[k] = s
    return out


def causal_loops(taps: Any, xs: Any) -> Any:
    out = np.empty_like(xs)
    for i in prange(len(xs)):
        s = np.float32(0)
        for j in range(min(len(taps), i + 1)):
            s += taps[j] * xs[i - j]
        out[i] = s
    return out


def lags_loops(xs: Any) -> Any:
    n = len(xs)
    out = np.empty(n)
    for k in prange(n):
        s = 0.0
        for i in range(n - k):
            s += xs[i] * xs[i + k]
        out[k] = s
    return out
