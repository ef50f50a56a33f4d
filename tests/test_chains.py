"""Programs that compute with numbers as sizes are computed with, but never stop doing so:
what the compiler knows of such numbers must not grow exponentially."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source

CONTEXTS = {
    "index": "[n] (m: i64) (xs: [n]i64): [n]i64 = map (\\x -> {chain} xs[x % n]) xs",
    "divisor": "[n] (m: i64) (xs: [n]i64) = tabulate n (\\i -> let x = i {chain} xs[i % x])",
    "size": "[n] (m: i64) (x: i64) (xs: [n]i64): []i64 = {chain} map (+ x) (iota (x % n))",
    "size in a branch": """(m: i64) (x: i64) (xs: []i64): []i64 =
        {chain} if x < 0 then xs else tabulate x (\\i -> i * x)""",
    "reduction": """[n] (m: i64) (xs: [n][n]i64): [n]i64 =
        map (\\r -> i64.sum (map (\\x -> {chain} x % m) r)) xs""",
    "tiles": """[n] (m: i64) (a: [n][n]f32) (p: [n]i64): [n][n]f32 = tabulate_2d n n
        (\\i j -> let x = p[i] {chain} f32.sum (map2 (*) a[x % n] a[:,j]))""",
    "loop": """[n] (m: i64) (xs: *[n]i64): [n]i64 =
        loop xs for i < n do let x = xs[i] + i {chain} xs with [i] = xs[x % n]""",
    "scan": "(m: i64) (xs: []i64) = scan (\\a b -> let x = a + b {chain} x) 0 xs",
    "inner size": """(m: i64) (xs: []i64): []i64 =
        map (\\x -> {chain} i64.sum (map (* x) (iota (x % m)))) xs""",
}


def text(context: str, step: str, steps: int) -> str:
    chain = "".join(f"let x = {step} in " for _ in range(steps))
    body = CONTEXTS[context]
    if "let x" in body:
        chain = f"in {chain}"
    return f"entry main {body.replace('{chain}', chain)}"


@pytest.mark.parametrize("context", CONTEXTS)
def test_long_chains_are_compiled(context: str) -> None:
    source = Source("chain.fut", text(context, "x * x * m + x", 100))
    kernels = stages.to_kernels(stages.to_core(stages.check(source)))
    for schedule in ("cpu", "gpu"):
        assert stages.to_host_module(kernels, schedule, "program")


@pytest.mark.parametrize("context", ["size", "size in a branch"])
def test_sizes_at_the_end_of_chains(context: str) -> None:
    program = minifut.compile(text(context, "(x * x + m) % 1021", 40))
    x, xs = 5, np.arange(1000)
    found = program.main(7, x, xs)
    for _ in range(40):
        x = (x * x + 7) % 1021
    wanted = np.arange(x % 1000) + x if context == "size" else np.arange(x) * x
    np.testing.assert_array_equal(found, wanted)
