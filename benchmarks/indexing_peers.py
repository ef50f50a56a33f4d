"""Programs of `workloads/` whose data say where elements are, and row after row, for
NumPy, and as loops for Numba to compile."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

try:
    from numba import prange
except ImportError:
    prange = range

BINS = 64


def warp(image: Any, m: Any) -> Any:
    n, k = image.shape
    axes = np.arange(n, dtype=np.float32), np.arange(k, dtype=np.float32)
    i, j = np.meshgrid(*axes, indexing="ij")
    y, x = m[0] * i + m[1] * j + m[2], m[3] * i + m[4] * j + m[5]
    a, b = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    u, v = (y - a).astype(np.float32), (x - b).astype(np.float32)

    def at(p: Any, q: Any) -> Any:
        inside = (p >= 0) & (p < n) & (q >= 0) & (q < k)
        return np.where(inside, image[p.clip(0, n - 1), q.clip(0, k - 1)], 0)

    upper = (1 - v) * at(a, b) + v * at(a, b + 1)
    return (1 - u) * upper + u * ((1 - v) * at(a + 1, b) + v * at(a + 1, b + 1))


def warp_loops(image: Any, m: Any) -> Any:
    n, k = image.shape
    out = np.empty_like(image)
    one = np.float32(1)
    for i in prange(n):
        for j in range(k):
            y = m[0] * np.float32(i) + m[1] * np.float32(j) + m[2]
            x = m[3] * np.float32(i) + m[4] * np.float32(j) + m[5]
            a, b = math.floor(y), math.floor(x)
            u, v = y - np.float32(a), x - np.float32(b)
            total = np.float32(0)
            for p in range(2):
                for q in range(2):
                    if 0 <= a + p < n and 0 <= b + q < k:
                        share = (u if p else one - u) * (v if q else one - v)
                        total += share * image[a + p, b + q]
            out[i, j] = total
    return out


def density(xs: Any, ys: Any) -> Any:
    a, b = (np.clip((z * BINS).astype(np.int64), 0, BINS - 1) for z in (xs, ys))
    counts = np.bincount(a * BINS + b, minlength=BINS * BINS)
    return counts.astype(np.int32).reshape(BINS, BINS)


def density_loops(xs: Any, ys: Any) -> Any:
    parts, n, bins = 2, len(xs), np.float32(BINS)
    counts = np.zeros((parts, BINS, BINS), np.int32)
    for part in prange(parts):
        for i in range(part * n // parts, (part + 1) * n // parts):
            a = min(max(int(xs[i] * bins), 0), BINS - 1)
            b = min(max(int(ys[i] * bins), 0), BINS - 1)
            counts[part, a, b] += 1
    return counts.sum(0).astype(np.int32)


def overlaps(sets: Any) -> Any:
    out = np.empty((len(sets), len(sets)), np.float32)
    for i, one in enumerate(sets):
        both = np.bitwise_count(one & sets).sum(1)
        out[i] = both / np.maximum(np.bitwise_count(one | sets).sum(1), 1)
    return out


def overlaps_loops(sets: Any) -> Any:
    n, k = sets.shape
    m1, m2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    m4, ones = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
    s1, s2, s4, s56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
    out = np.empty((n, n), np.float32)
    for i in prange(n):
        for j in range(n):
            both = either = np.uint64(0)
            for word in range(k):
                x, y = sets[i, word] & sets[j, word], sets[i, word] | sets[j, word]
                x, y = x - ((x >> s1) & m1), y - ((y >> s1) & m1)
                x, y = (x & m2) + ((x >> s2) & m2), (y & m2) + ((y >> s2) & m2)
                both += (((x + (x >> s4)) & m4) * ones) >> s56
                either += (((y + (y >> s4)) & m4) * ones) >> s56
            out[i, j] = np.float32(both) / np.float32(max(either, s1))
    return out


def seams(energy: Any) -> Any:
    rows = [energy[0]]
    for row in energy[1:]:
        above = np.pad(rows[-1], 1, constant_values=np.inf)
        rows.append(row + np.minimum(np.minimum(above[:-2], above[1:-1]), above[2:]))
    return np.array(rows)


def seams_loops(energy: Any) -> Any:
    n, m = energy.shape
    out = np.empty_like(energy)
    out[0] = energy[0]
    for i in range(1, n):
        for j in range(m):
            least = out[i - 1, j]
            if j > 0:
                least = min(least, out[i - 1, j - 1])
            if j < m - 1:
                least = min(least, out[i - 1, j + 1])
            out[i, j] = energy[i, j] + least
    return out
