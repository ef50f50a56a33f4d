"""Vectorisation: the scalar body of a point becomes one for W points at once.

    for i: body(i)      →      for i by W: body(i, i + 1, .., i + W - 1)

    float x = xs[i];                float16 x = vload16(0, xs + i);
    if (x > 0) y = x;               y = select(y, x, x > 0);
    while (c) {..; c = e}           while (any(c)) {..; c = c & e}

A value that differs between the points (*varying*, `varying`) is a vector with a lane
for each; uniform values stay scalar. Integers that are affine in the lane number
(`affine`) stay scalar too: they are represented by base and step, and an access through
them is a vector load, a broadcast, or one load per lane. In divergent control flow
assignments select by a *mask*.

The same mechanism vectorises maps with control flow, reductions (an accumulator in each
lane), the first phase of scans and register tiles; W = 1 is the scalar body itself. Its
uses are rules (`rule`): for loops over points in `maps` and `folds`, for folds inside
of them in `row_folds`, for divergent control flow in `masks`, for loops whose bounds
differ by known numbers in `shared_rounds`, for short branches in `if_conversion`.
Several vectors at once are `jam`. The lowering applies them, and `minifut dev
--explain` prints which fired for a kernel, and why others declined.

Source: Steuwer, Remmelg and Dubach, "Matrix multiplication beyond auto-tuning" (Lift's
asVector); Karrenberg and Hack, "Whole-function vectorization" (masks).
"""

from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.statements import vectorise

__all__ = ["NotVectorisable", "vectorise"]
