"""SOACs that call recursive functions become loops, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.calls import call_graph, calls_in, recursive
from minifut.ir.core import Program
from minifut.ir.dialect import KERNELS, SOACS
from minifut.ir.interpret import run
from minifut.ir.parser import names_after
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import walk
from minifut.ir.verify import verify
from minifut.passes.recursion import loop_over_recursion

PROGRAMS = {
    "map": (
        "def f (n: i64): i64 = if n == 0 then 0 else 1 + i64.maximum (map f (iota n))\n"
        "entry main (n: i64) = map f (iota n)"
    ),
    "reduce": (
        "def gcd (a: i64) (b: i64): i64 = if b == 0 then a else gcd b (a % b)\n"
        "entry main (n: i64) = reduce gcd 0 (map (* 6) (iota n))"
    ),
    "scan": (
        "def gcd (a: i64) (b: i64): i64 = if b == 0 then a else gcd b (a % b)\n"
        "entry main (n: i64) = scan gcd 0 (map (\\i -> 60 * (n - i)) (iota n))"
    ),
    "histogram": (
        "def big (n: i64): i64 = if n < 10 then n else big (n / 10)\n"
        "entry main (n: i64) ="
        " reduce_by_index (replicate 10 0) (+) 0 (map big (iota n)) (iota n)"
    ),
    "scatter": (
        "def odd (n: i64): i64 = if n < 2 then n else odd (n - 2)\n"
        "entry main (n: i64) ="
        " scatter (replicate n 0) (map (\\i -> n - 1 - i) (iota n)) (map odd (iota n))"
    ),
    "two functions, by turns": (
        "def half (n: i64): i64 = if n <= 1 then n else half (n / 2) + 1\n"
        "entry main (n: i64) ="
        " map (\\i -> i64.sum (map (\\j -> half j * i) (iota i))) (iota n)"
    ),
    "rows": (
        "def sort [n] (xs: [n]i64): [n]i64 = if n <= 1 then xs else"
        " let (a, b) = partition (< xs[0]) xs[1:]"
        " in sized n (sort a ++ [xs[0]] ++ sort b)\n"
        "entry main (n: i64) ="
        " map (\\i -> sort (map (\\j -> (j * 7 + i) % 11) (iota 6))) (iota n)"
    ),
}


def core_of(text: str) -> Program:
    return stages.to_core(stages.check(Source("recursion.fut", text)))


def recursion_in_soacs(program: Program) -> bool:
    deep = recursive(call_graph(program))
    return any(
        isinstance(node, SOAC_EXPRESSIONS) and deep & set(calls_in(node))
        for node in walk(program)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_soac_recurses_and_results_stay(name: str) -> None:
    program = core_of(PROGRAMS[name])
    after = loop_over_recursion(program, names_after(program))
    assert recursion_in_soacs(program) and not recursion_in_soacs(after)
    kernels = stages.to_kernels(program)
    verify(kernels, KERNELS)
    for n in (0, 1, 7):
        expected = run(program, "main", [np.int64(n)])
        for other in (after, kernels):
            np.testing.assert_array_equal(
                run(other, "main", [np.int64(n)])[0], expected[0]
            )


def test_what_does_not_recurse_stays_parallel() -> None:
    text = (
        "def f [n] (xs: [n]i64): i64 ="
        " if n < 2 then n else i64.sum (map (+ 1) xs) + f xs[: n / 2]\n"
        "entry main [n] (xs: [n][n]i64) = map (\\x -> f (map (* 2) x)) xs"
    )
    program = core_of(text)
    after = loop_over_recursion(program, names_after(program))
    soacs = sum(isinstance(node, SOAC_EXPRESSIONS) for node in walk(after))
    # the map in `main`, the map and the sum in `f`; only the outermost map is gone
    assert soacs == sum(isinstance(n, SOAC_EXPRESSIONS) for n in walk(program)) - 1


def test_a_program_without_recursion_is_left_alone() -> None:
    program = core_of("entry main [n] (xs: [n]i64) = map (+ 1) xs")
    assert loop_over_recursion(program, names_after(program)) is program


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_recursion_on_the_device(name: str, schedule: str) -> None:
    import minifut

    program = minifut.compile(PROGRAMS[name], schedule=schedule)
    core = core_of(PROGRAMS[name])
    for n in (0, 1, 7):
        expected = run(core, "main", [np.int64(n)])[0]
        np.testing.assert_array_equal(program.main(np.int64(n)), expected)


DEEP = (
    "def f (n: i64): i64 = if n == 0 then 0 else 1 + f (n - 1)\n"
    "def g (n: i64): i64 = if n == 0 then 0 else i64.sum (map (\\i -> i + g (n - 1))"
    " (iota 1))\n"
    "def table = f 3000\n"
    "entry plain (n: i64) = f n\n"
    "entry mapped (n: i64) = map (\\i -> f (i * n)) (iota 3)\n"
    "entry through_soacs (n: i64) = g n\n"
    "entry constant (n: i64) = n + table\n"
)


@pytest.mark.parametrize(
    "backend", ["interpreter", pytest.param("opencl", marks=pytest.mark.device)]
)
def test_recursion_is_deep_and_ends_with_a_place(backend: str) -> None:
    import minifut

    program = minifut.compile(DEEP, backend=backend)
    assert program.constant(np.int64(1)) == 3001
    assert program.plain(np.int64(20_000)) == 20_000
    assert program.mapped(np.int64(2_000)).tolist() == [0, 2_000, 4_000]
    for entry, place in (("plain", ":1:"), ("mapped", ":1:"), ("through_soacs", ":2:")):
        with pytest.raises(
            minifut.ProgramError, match=r"recursion of .* is too deep"
        ) as e:
            getattr(program, entry)(np.int64(-1))
        assert place in e.value.backtrace[0]
        assert program.plain(np.int64(3)) == 3


HIGHER_ORDER = (
    "def times (n: i64) (f: i64 -> i64) (x: i64): i64 ="
    " if n == 0 then x else times (n - 1) f (f x)\n"
    "def fold 'a 'b [n] (f: a -> b -> b) (z: b) (xs: [n]a): b ="
    " if n == 0 then z else f xs[0] (fold f z (drop 1 xs))\n"
    "entry main (n: i64) ="
    " let ys = map (+ n) (iota (n + 3))\n"
    " let (s, p) = fold (\\x (s, p) -> (s + x, p * (n + 1))) (0, 1) (iota n)\n"
    " let ts = map (\\i -> times i (\\x -> 2 * x + ys[x % 3] + i) p) (iota n)\n"
    " in concat [s, p, times 3 (* 2) n, fold (+) 0 ys] ts"
)


def python_main(n: int) -> list[int]:
    ys = [i + n for i in range(n + 3)]
    s, p = sum(range(n)), (n + 1) ** n
    ts = []
    for i in range(n):
        x = p
        for _ in range(i):
            x = 2 * x + ys[x % 3] + i
        ts.append(x)
    return [s, p, 8 * n, sum(ys), *ts]


def test_recursive_functions_take_functions_that_capture() -> None:
    program = core_of(HIGHER_ORDER)
    verify(program, SOACS)
    kernels = stages.to_kernels(program)
    for n in (0, 1, 4):
        for stage in (program, kernels):
            assert run(stage, "main", [np.int64(n)])[0].tolist() == python_main(n)
