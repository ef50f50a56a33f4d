"""Programs that compute with numbers as sizes are computed with, but never stop doing so:
what the compiler knows of such numbers must not grow exponentially."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.sizes import Size
from minifut.names import Name

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


@pytest.mark.sweep
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


def test_sizes_that_double_are_unknown_beyond_a_bound() -> None:
    doubled = "".join(f"let x{i + 1} = x{i} ++ x{i} " for i in range(18))
    program = minifut.compile(f"entry main (x0: []i8) = {doubled} in (length x18, x18)")
    length, found = program.main(np.array([3, 4], np.int8))
    assert length == 2**19
    np.testing.assert_array_equal(found, np.tile([3, 4], 2**18))


def test_long_sizes_are_known_where_types_need_them() -> None:
    joined = " ++ ".join(["x"] * 200)
    program = minifut.compile(
        f"entry main (n: i64) = map (\\x -> let x = [x] in {joined}) (iota n)"
    )
    np.testing.assert_array_equal(
        program.main(3), np.repeat([[0], [1], [2]], 200, axis=1)
    )


def test_sizes_are_replaced_only_by_short_ones() -> None:
    n, m, x = Name("n", 1), Name("m", 2), Name("x", 3)
    short = Size.of(n) + 1
    assert (Size.of(x) * Size.of(m)).substitute_short({x: short}) == (
        Size.of(n) * Size.of(m) + Size.of(m)
    )
    names = [Size.of(Name("y", i)) for i in range(9, 18)]
    long = sum(names, Size.constant(0))
    assert long.substitute_short({}) == long
    assert (Size.of(x) * Size.of(x)).substitute_short({x: long}) is None
