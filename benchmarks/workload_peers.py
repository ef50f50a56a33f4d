"""The programs of `workloads/` for NumPy, and as loops for Numba to compile."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from numba import prange
except ImportError:
    prange = range


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


DX, DY = np.array([[0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]])
SHARES = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)


def lattice(steps: int, f: Any) -> Any:
    x, y, share = (a.astype(np.float32)[:, None, None] for a in (DX, DY, SHARES))
    for _ in range(steps):
        f = np.stack([np.roll(g, (DX[k], DY[k]), (0, 1)) for k, g in enumerate(f)])
        density = f.sum(0)
        u, v = (f * x).sum(0) / density, (f * y).sum(0) / density
        along = 3 * (x * u + y * v)
        rest = 1 + along + along * along / 2 - np.float32(1.5) * (u * u + v * v)
        f = np.float32(0.4) * f + np.float32(0.6) * (share * density * rest)
    return f


def lattice_loops(steps: int, f: Any) -> Any:
    now, after = f.copy(), np.empty_like(f)
    n, m = f.shape[1:]
    for _ in range(steps):
        for i in prange(n):
            own = np.empty(9, np.float32)
            for j in range(m):
                density = u = v = np.float32(0)
                for k in range(9):
                    x, y = i - DX[k], j - DY[k]
                    x = x + n if x < 0 else (x - n if x >= n else x)
                    y = y + m if y < 0 else (y - m if y >= m else y)
                    own[k] = now[k, x, y]
                    density += own[k]
                    u += np.float32(DX[k]) * own[k]
                    v += np.float32(DY[k]) * own[k]
                u, v = u / density, v / density
                slow = np.float32(1) - np.float32(1.5) * (u * u + v * v)
                for k in range(9):
                    along = np.float32(3) * (np.float32(DX[k]) * u + DY[k] * v)
                    rest = SHARES[k] * density
                    rest *= slow + along + along * along / np.float32(2)
                    kept = np.float32(0.4) * own[k]
                    after[k, i, j] = kept + np.float32(0.6) * rest
        now, after = after, now
    return now


def blur(radius: int, image: Any) -> Any:
    n, m = image.shape
    sums = np.zeros((n + 1, m + 1))
    sums[1:, 1:] = image.astype(np.float64).cumsum(0).cumsum(1)
    i, j = np.arange(n), np.arange(m)
    i0, i1 = np.maximum(i - radius, 0), np.minimum(i + radius + 1, n)
    j0, j1 = np.maximum(j - radius, 0), np.minimum(j + radius + 1, m)
    upper, lower = sums[i0], sums[i1]
    total = lower[:, j1] - upper[:, j1] - lower[:, j0] + upper[:, j0]
    return (total / ((i1 - i0)[:, None] * (j1 - j0))).astype(np.float32)


def blur_loops(radius: int, image: Any) -> Any:
    n, m = image.shape
    sums, out = np.zeros((n + 1, m + 1)), np.empty_like(image)
    for i in range(n):
        row = 0.0
        for j in range(m):
            row += image[i, j]
            sums[i + 1, j + 1] = sums[i, j + 1] + row
    for i in prange(n):
        i0, i1 = max(i - radius, 0), min(i + radius + 1, n)
        for j in range(m):
            j0, j1 = max(j - radius, 0), min(j + radius + 1, m)
            total = sums[i1, j1] - sums[i0, j1] - sums[i1, j0] + sums[i0, j0]
            out[i, j] = total / ((i1 - i0) * (j1 - j0))
    return out
