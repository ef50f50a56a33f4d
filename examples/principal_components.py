"""Principal components of the handwritten digits that scikit-learn ships.

Compiles `principal_components.fut`, runs it on 1,797 images of 8 x 8 pixels, checks the
result against NumPy's eigendecomposition and draws the components and the digits in the
plane of the first two.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import minifut

HERE = Path(__file__).parent
COUNT, STEPS = 8, 400


def reference(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The leading eigenvalues and eigenvectors (rows) of the covariance, by NumPy."""
    values, vectors = np.linalg.eigh(np.cov(samples.T))
    order = np.argsort(values)[::-1][:COUNT]
    return values[order], vectors[:, order].T


def agreement(found: np.ndarray, expected: np.ndarray) -> float:
    """The smallest |cosine| between corresponding components (their sign is free)."""
    return float(np.min(np.abs(np.sum(found * expected, axis=1))))


def draw(
    components: np.ndarray, projected: np.ndarray, labels: np.ndarray, path: Path
) -> None:
    """The components as images, and the digits in the plane of the first two."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(9, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.25])
    for axis, component in zip(left.subplots(2, 4).flat, components, strict=True):
        axis.imshow(component.reshape(8, 8), cmap="RdBu")
        axis.axis("off")
    axis = right.subplots()
    points = axis.scatter(*projected[:, :2].T, c=labels, cmap="tab10", s=7)
    axis.set(xlabel="first component", ylabel="second component")
    right.colorbar(points, ticks=range(10), label="digit")
    figure.savefig(path, dpi=110)


def main() -> int:
    from sklearn.datasets import load_digits

    digits = load_digits()
    samples = np.ascontiguousarray(digits.data)
    print(f"digits: {samples.shape[0]} images of {samples.shape[1]} pixels")
    started = time.perf_counter()
    program = minifut.compile(HERE / "principal_components.fut")
    print(f"compiled in {time.perf_counter() - started:.2f} s")
    run = program.principal_components
    run(np.int64(COUNT), np.int32(STEPS), samples)
    started = time.perf_counter()
    components, variances, projected = run(np.int64(COUNT), np.int32(STEPS), samples)
    print(f"ran in {(time.perf_counter() - started) * 1e3:.1f} ms")
    expected_variances, expected = reference(samples)
    error = float(np.max(np.abs(variances / expected_variances - 1)))
    cosine = agreement(components, expected)
    print(f"against NumPy: variances within {error:.1e}, |cosine| >= {cosine:.9f}")
    path = HERE / "principal_components.png"
    draw(components, projected, digits.target, path)
    print(f"drew {path.name}")
    if error > 1e-6 or cosine < 1 - 1e-6:
        print("FAILED: the components disagree with NumPy's")
        return 1
    print("ok: the result agrees with NumPy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
