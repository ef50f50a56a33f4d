"""Derivatives of a Futhark function against finite differences and each other.

`check(text, arguments)` takes a program that defines `f`, whose argument is one value or
a tuple of values of f64, and asks:

* that `jvp` agrees with central differences of fourth order in a random direction;
* that <jvp f x v, w> = <v, vjp f x w> to 1e-10 for random v and w.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minifut import stages
from minifut.errors import Source
from minifut.ir.interpret import Interpreter
from minifut.program import Program

STEP = 1e-6


def entries(text: str, types: Sequence[str], sizes: str = "") -> str:
    """The program with the entry points `primal`, `forward` and `reverse`; the last
    takes the adjoint of the result behind the argument."""
    names = [f"x{n}" for n in range(len(types))]
    given = " ".join(f"({n}: {t})" for n, t in zip(names, types, strict=True))
    tangents = " ".join(f"(d{n}: {t})" for n, t in zip(names, types, strict=True))
    value = names[0] if len(names) == 1 else f"({', '.join(names)})"
    along = ", ".join(f"d{n}" for n in names)
    direction = along if len(names) == 1 else f"({along})"
    return f"""{text}
entry primal {sizes} {given} = f {value}
entry forward {sizes} {given} {tangents} = jvp f {value} {direction}
entry reverse {sizes} {given} w = vjp f {value} w
"""


def runner(text: str) -> Interpreter:
    """The interpreter of a program."""
    core = stages.to_core(stages.check(Source("test.fut", text)))
    return Interpreter(stages.without_derivatives(core))


def check(
    text: str,
    types: Sequence[str],
    arguments: Sequence[Any],
    sizes: str = "",
    seed: int = 0,
    run: Program | None = None,
    tolerance: float = 1e-5,
) -> None:
    """See the module; `run` runs the entry points instead of the interpreter."""
    whole = entries(text, types, sizes)
    if run is None:
        interpreter = runner(whole)

        def call(name: str, *given: Any) -> list[np.ndarray]:
            return [np.asarray(r) for r in interpreter.run(name, given)]

    else:

        def call(name: str, *given: Any) -> list[np.ndarray]:
            return flat(getattr(run, name)(*given))

    random = np.random.default_rng(seed)
    xs = [np.asarray(x, np.float64) for x in arguments]
    vs = [random.normal(size=x.shape) for x in xs]
    near, far = (
        central_differences(partial(call, "primal"), xs, vs, step)
        for step in (STEP, 2 * STEP)
    )
    expected = [(4 * a - b) / 3 for a, b in zip(near, far, strict=True)]
    tangents = call("forward", *xs, *vs)
    for found, wanted in zip(tangents, expected, strict=True):
        scale = max(1.0, float(np.abs(wanted).max(initial=0)))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * scale)
    ws = [random.normal(size=t.shape) for t in tangents]
    if len(ws) != 1:
        ws = [tuple(ws)] if run is not None else ws
    adjoints = call("reverse", *xs, *ws)
    flat_ws = flat(ws)
    left = sum(float(np.sum(t * w)) for t, w in zip(tangents, flat_ws, strict=True))
    right = sum(float(np.sum(v * a)) for v, a in zip(vs, adjoints, strict=True))
    assert abs(left - right) <= 1e-10 * max(1.0, abs(left), abs(right)), (left, right)


def central_differences(
    function: Callable[..., list[np.ndarray]],
    xs: Sequence[np.ndarray],
    vs: Sequence[np.ndarray],
    step: float,
) -> list[np.ndarray]:
    """How the results change along `vs`, with an error of the second order in `step`."""
    up = function(*[x + step * v for x, v in zip(xs, vs, strict=True)])
    down = function(*[x - step * v for x, v in zip(xs, vs, strict=True)])
    return [(a - b) / (2 * step) for a, b in zip(up, down, strict=True)]


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a value, however it is nested."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [np.asarray(value)]
