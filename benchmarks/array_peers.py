"""Programs of `workloads/` over images, rows and meshes, for NumPy and as loops."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from numba import prange
except ImportError:
    prange = range


def pooling(images: Any) -> Any:
    b, c, h, w = images.shape
    return images.reshape(b, c, h // 2, 2, w // 2, 2).max((3, 5))


def pooling_loops(images: Any) -> Any:
    b, c, h, w = images.shape
    out = np.empty((b, c, h // 2, w // 2), np.float32)
    for n in prange(b * c):
        image, made = images[n // c, n % c], out[n // c, n % c]
        for y in range(h // 2):
            for x in range(w // 2):
                upper = max(image[2 * y, 2 * x], image[2 * y, 2 * x + 1])
                lower = max(image[2 * y + 1, 2 * x], image[2 * y + 1, 2 * x + 1])
                made[y, x] = max(upper, lower)
    return out


def similarities(rows: Any) -> Any:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = units @ units.T
    np.fill_diagonal(found, -2)
    return found.argmax(1), found.max(1)


def entropy(scores: Any, labels: Any) -> Any:
    most = scores.max(1)
    sums = np.log(np.exp(scores - most[:, None]).sum(1))
    return (sums + most - scores[np.arange(len(scores)), labels]).mean()


def entropy_loops(scores: Any, labels: Any) -> Any:
    n, d = scores.shape
    total = 0.0
    for i in prange(n):
        most = scores[i, 0]
        for j in range(d):
            most = max(most, scores[i, j])
        s = np.float32(0)
        for j in range(d):
            s += np.exp(scores[i, j] - most)
        total += np.log(s) + most - scores[i, labels[i]]
    return np.float32(total / n)


def sandpile(grains: Any) -> Any:
    g = grains.copy()
    while (g >= 4).any():
        falls = g // 4
        g -= 4 * falls
        g[1:] += falls[:-1]
        g[:-1] += falls[1:]
        g[:, 1:] += falls[:, :-1]
        g[:, :-1] += falls[:, 1:]
    return g


def sandpile_loops(grains: Any) -> Any:
    g, after = grains.copy(), np.empty_like(grains)
    h, w = g.shape
    while True:
        large = 0
        for i in prange(h):
            for j in range(w):
                v = g[i, j] % 4
                large += g[i, j] // 4
                if i > 0:
                    v += g[i - 1, j] // 4
                if i < h - 1:
                    v += g[i + 1, j] // 4
                if j > 0:
                    v += g[i, j - 1] // 4
                if j < w - 1:
                    v += g[i, j + 1] // 4
                after[i, j] = v
        if large == 0:
            return g
        g, after = after, g


def areas(places: Any, triangles: Any) -> Any:
    a, b, c = (places[triangles[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


def areas_loops(places: Any, triangles: Any) -> Any:
    out = np.empty(len(triangles), np.float32)
    for i in prange(len(triangles)):
        a, b, c = triangles[i, 0], triangles[i, 1], triangles[i, 2]
        ux, vx = places[b, 0] - places[a, 0], places[c, 0] - places[a, 0]
        uy, vy = places[b, 1] - places[a, 1], places[c, 1] - places[a, 1]
        uz, vz = places[b, 2] - places[a, 2], places[c, 2] - places[a, 2]
        x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        out[i] = np.sqrt(x * x + y * y + z * z) / np.float32(2)
    return out


def rotary(rows: Any, cosines: Any, sines: Any) -> Any:
    out, even, odd = np.empty_like(rows), rows[:, ::2], rows[:, 1::2]
    out[:, ::2] = even * cosines - odd * sines
    out[:, 1::2] = even * sines + odd * cosines
    return out


def rotary_loops(rows: Any, cosines: Any, sines: Any) -> Any:
    out = np.empty_like(rows)
    for i in prange(rows.shape[0]):
        for j in range(rows.shape[1] // 2):
            a, b, c, s = rows[i, 2 * j], rows[i, 2 * j + 1], cosines[i, j], sines[i, j]
            out[i, 2 * j] = a * c - b * s
            out[i, 2 * j + 1] = a * s + b * c
    return out


def rotations(steps: int, xs: Any, ys: Any, fields: Any) -> Any:
    for _ in range(steps):
        mean = fields.mean(0)
        moved = [
            np.roll(field, (-x, -y), (0, 1))
            for x, y, field in zip(xs, ys, fields, strict=True)
        ]
        fields = np.stack([f + np.float32(0.5) * (mean - f) for f in moved])
    return fields


def rotations_loops(steps: int, xs: Any, ys: Any, fields: Any) -> Any:
    k, n, m = fields.shape
    for _ in range(steps):
        new = np.empty_like(fields)
        for i in prange(n):
            for j in range(m):
                mean = np.float32(0)
                for c in range(k):
                    mean += fields[c, i, j]
                mean /= k
                for c in range(k):
                    f = fields[c, (i + xs[c]) % n, (j + ys[c]) % m]
                    new[c, i, j] = f + np.float32(0.5) * (mean - f)
        fields = new
    return fields


def substitution(lower: Any, given: Any) -> Any:
    x = given.copy()
    for i in range(len(lower)):
        x[i] = (given[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def substitution_loops(lower: Any, given: Any) -> Any:
    n, m = given.shape
    x = given.copy()
    for i in range(n):
        for k in range(i):
            for j in range(m):
                x[i, j] -= lower[i, k] * x[k, j]
        for j in range(m):
            x[i, j] /= lower[i, i]
    return x


def documents(queries: Any, found: Any) -> Any:
    units = found / np.linalg.norm(found, axis=1, keepdims=True)
    return (queries @ units.T).argmax(1)
