"""Edge-preserving smoothing of a photograph that scikit-learn ships.

Compiles `diffusion.fut`, adds noise to the photograph, smooths it, checks the result
against the same steps in NumPy and saves all three side by side.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import minifut

HERE = Path(__file__).parent
STEPS, RATE, SHARPNESS = 12, 0.2, 0.07


def reference(image: np.ndarray) -> np.ndarray:
    """The same diffusion in NumPy."""
    sharpness, rate = np.float32(SHARPNESS), np.float32(RATE)

    def flow(difference: np.ndarray) -> np.ndarray:
        ratio = difference / sharpness
        return difference / (1 + ratio * ratio)

    for _ in range(STEPS):
        padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
        change = flow(padded[:-2, 1:-1] - image)
        change += flow(padded[2:, 1:-1] - image)
        change += flow(padded[1:-1, :-2] - image)
        change += flow(padded[1:-1, 2:] - image)
        image = image + rate * change
    return image


def main() -> int:
    from sklearn.datasets import load_sample_image

    photograph = load_sample_image("flower.jpg").astype(np.float32) / 255
    noise = np.random.default_rng(1).normal(0, 0.06, photograph.shape)
    noisy = np.clip(photograph + noise, 0, 1).astype(np.float32)
    print(f"photograph: {noisy.shape[1]} x {noisy.shape[0]} pixels")
    started = time.perf_counter()
    program = minifut.compile(HERE / "diffusion.fut")
    print(f"compiled in {time.perf_counter() - started:.2f} s")
    arguments = (np.int32(STEPS), np.float32(RATE), np.float32(SHARPNESS), noisy)
    program.main(*arguments)
    started = time.perf_counter()
    smooth = program.main(*arguments)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    expected = reference(noisy)
    theirs = time.perf_counter() - started
    print(f"{STEPS} steps in {ours * 1e3:.0f} ms (NumPy: {theirs * 1e3:.0f} ms)")
    error = float(np.max(np.abs(smooth - expected)))
    print(f"against NumPy: within {error:.1e}")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    crop = np.s_[120:320, 200:460]
    path = HERE / "diffusion.png"
    row = np.concatenate([photograph[crop], noisy[crop], smooth[crop]], axis=1)
    plt.imsave(path, np.clip(row, 0, 1))
    print(f"drew {path.name}: photograph, with noise, smoothed")
    if error > 1e-4:
        print("FAILED: the result disagrees with NumPy's")
        return 1
    print("ok: the result agrees with NumPy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
