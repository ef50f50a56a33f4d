"""Handwritten digits classified by a model that is fitted with minifut's gradient.

Compiles `digits.fut`, asks for the gradient of its loss, fits the model to 1,347 images
by L-BFGS, checks the weights against scikit-learn's own fit, and draws what the model
looks at and how the loss falls.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import minifut

HERE = Path(__file__).parent
CLASSES, FITTED = 10, 1347


def fit(
    loss: minifut.EntryPoint, images: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """The weights and biases of the smallest loss, and the losses on the way."""
    from scipy.optimize import minimize

    shape = (CLASSES, images.shape[1])
    values: list[float] = []

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights, bias = flat[:-CLASSES].reshape(shape), flat[-CLASSES:]
        value, (in_weights, in_bias) = loss.value_and_grad(
            weights, bias, images, labels, wrt=("weights", "bias")
        )
        values.append(float(value))
        return float(value), np.concatenate((in_weights.ravel(), in_bias))

    start = np.zeros(shape[0] * shape[1] + CLASSES)
    options = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-5}
    found = minimize(
        value_and_gradient, start, jac=True, method="L-BFGS-B", options=options
    )
    return found.x[:-CLASSES].reshape(shape), found.x[-CLASSES:], values


def draw(weights: np.ndarray, values: list[float], path: Path) -> None:
    """The weights of each digit as an image, and the losses."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.5, 1])
    most = np.abs(weights).max()
    axes = left.subplots(2, 5).flat
    for digit, (axis, row) in enumerate(zip(axes, weights, strict=True)):
        axis.imshow(row.reshape(8, 8), cmap="RdBu", vmin=-most, vmax=most)
        axis.set_title(str(digit))
        axis.axis("off")
    axis = right.subplots()
    axis.semilogy(values)
    axis.set(xlabel="gradient", ylabel="loss")
    figure.savefig(path, dpi=110)


def main() -> int:
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    digits = load_digits()
    images, labels = digits.data / 16, digits.target.astype(np.int64)
    print(f"digits: {FITTED} images to fit, {len(images) - FITTED} to judge")
    started = time.perf_counter()
    program = minifut.compile(HERE / "digits.fut")
    program.loss.derivative("vjp", ("weights", "bias"))
    print(f"compiled with its gradient in {time.perf_counter() - started:.2f} s")
    started = time.perf_counter()
    weights, bias, values = fit(program.loss, images[:FITTED], labels[:FITTED])
    seconds = time.perf_counter() - started
    print(f"fitted with {len(values)} gradients in {seconds:.2f} s")
    model = LogisticRegression(tol=1e-6, max_iter=1000)
    model.fit(images[:FITTED], labels[:FITTED])
    error = float(np.max(np.abs(weights - model.coef_)))
    found = (images[FITTED:] @ weights.T + bias).argmax(axis=1)
    right = float(np.mean(found == labels[FITTED:]))
    print(f"against scikit-learn: weights within {error:.1e}")
    print(f"{right:.1%} of the other images are classified correctly")
    path = HERE / "digits.png"
    draw(weights, values, path)
    print(f"drew {path.name}")
    if error > 1e-3 or right < 0.9:
        print("FAILED: the model disagrees with scikit-learn's")
        return 1
    print("ok: the model agrees with scikit-learn's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
