"""Lifting: the scalar body of a point becomes one for W points at once.

    for i: body(i)      →      for i by W: body(i, i + 1, .., i + W - 1)

    float x = xs[i];                float16 x = vload16(0, xs + i);
    if (x > 0) y = x;               y = select(y, x, x > 0);
    while (c) {..; c = e}           while (any(c)) {..; c = c & e}

A value that differs between the points (*varying*, `varying`) is a vector with a lane
for each; what is the same for all stays scalar. Integers that grow evenly from lane to
lane (*affine*, `affine`) stay scalar too: their first value and the step tell all, and
an access through them is a vector load, a broadcast, or one load per lane. Under a
branch or in a loop that some lanes have left, assignments select by a *mask*.

So one mechanism serves maps with control flow, reductions (each lane its own running
value), the first phase of scans and register tiles; W = 1 is the scalar body itself.
The ways in which it is used are rules (`rule`): those for loops over points in `loops`,
those for what some lanes do and others do not in `masks`. The lowering asks them, and
`minifut dev --explain` tells which fired for a kernel, and why others refused.

Source: Steuwer, Remmelg and Dubach, "Matrix multiplication beyond auto-tuning" (Lift's
asVector); Karrenberg and Hack, "Whole-function vectorization" (masks).
"""

from minifut.kernel_passes.vectorise.rule import NotLifted
from minifut.kernel_passes.vectorise.statements import lift

__all__ = ["NotLifted", "lift"]
