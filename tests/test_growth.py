"""Twice the program takes twice the time: no stage of the compiler is quadratic.

Counted are calls of Python functions, not seconds, so that a busy machine says the
same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from minifut import stages
from minifut.errors import Source

FEW, MANY = 12, 48


def definitions(n: int) -> str:
    return "\n".join(
        f"entry f{i} [n] (xs: [n]f32) (ys: [n][n]f32) ="
        f" map (\\row -> reduce (+) {i} (map2 (*) row xs)) ys"
        for i in range(n)
    )


def chain(n: int) -> str:
    steps = "".join(
        f"  let x{i + 1} = scan (+) 0 (map (+{i}) x{i})\n" for i in range(n)
    )
    return f"entry main [n] (xs: [n]i64) =\n  let x0 = xs\n{steps}  in x{n}"


def calls(n: int) -> str:
    steps = "".join(f"  let x{i + 1} = g x{i} {i + 1}\n" for i in range(n))
    return (
        "def g [n] (xs: [n]i64) (k: i64) ="
        " map (\\x -> if x > k then x - 1 else x / k) xs |> reverse\n"
        f"entry main [n] (xs: [n]i64) =\n  let x0 = xs\n{steps}  in x{n}"
    )


def neighbours(n: int) -> str:
    sums = ", ".join(f"i64.sum (map (*{i}) xs)" for i in range(n))
    return f"entry main [n] (xs: [n]i64) = ({sums})"


def in_threads(n: int) -> str:
    steps = "".join(
        f"  let x = if x % {i + 2} == 0 then x / {i + 2} "
        "else loop y = x for j < 3 do y + j\n"
        for i in range(n)
    )
    return f"entry main [n] (xs: [n]i64) = map (\\x ->\n{steps}  in x) xs"


def rows_of_versions(n: int) -> str:
    steps = "".join(
        f"  let y{i} = map (\\r -> reduce (+) {i} (scan (+) {i} r)) xss\n"
        for i in range(n)
    )
    results = ", ".join(f"y{i}[0]" for i in range(n))
    return f"entry main [n][m] (xss: [n][m]i64) =\n{steps}  in [{results}]"


def calls_in_threads(n: int) -> str:
    body = "".join(
        f"  let x = if x % {i + 2} == k then x / {i + 2} else x + {i}\n"
        for i in range(40)
    )
    steps = "".join(f"  let y = f {i} y\n" for i in range(n // 2))
    return (
        f"def f (k: i64) (x: i64) =\n{body}  in x\n"
        f"entry main [n] (xs: [n]i64) = map (\\y ->\n{steps}  in y) xs"
    )


def functions(n: int) -> str:
    calls = "".join(f"def f{i + 1} (x: i64) = f{i} x + {i}\n" for i in range(5 * n))
    return f"def f0 (x: i64) = x\n{calls}entry main (x: i64) = f{5 * n} x"


def constants(n: int) -> str:
    numbers = ", ".join(f"{i}i32" for i in range(50 * n))
    return f"entry main (i: i64) = let xs = [{numbers}] in xs[i]"


def rows_of_constants(n: int) -> str:
    rows = ", ".join(f"([{i}, {i + 1}], {i}.5)" for i in range(50 * n))
    return f"entry main (i: i64) = let xs = [{rows}] in (xs[i].0[1], xs[i].1)"


def joins(n: int) -> str:
    steps = "".join(f"  let x = if null x then y{i % 3} else x\n" for i in range(n))
    return (
        "def f (x: []i32) (y0: []i32) (y1: []i32) (y2: []i32) =\n"
        f"{steps}  in length x\nentry main (xs: []i32) = f xs xs [1] []"
    )


def indices(n: int) -> str:
    terms = " + ".join(f"xs[i + {k}]" for k in range(4 * n))
    return f"entry main [n] (xs: [n]i32) (is: []i64) = map (\\i -> {terms}) is"


def work(run: Callable[[], Any]) -> tuple[Any, int]:
    """What `run` gives, and how many calls it made."""
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        result = run()
    finally:
        sys.setprofile(before)
    return result, count


def work_of_stages(text: str) -> dict[str, int]:
    checked, check = work(lambda: stages.check(Source("growth.fut", text)))
    core, elaborate = work(lambda: stages.to_core(checked))
    kernels, passes = work(lambda: stages.to_kernels(core))
    _, module = work(lambda: stages.to_host_module(kernels, "cpu"))
    return {"check": check, "elaborate": elaborate, "passes": passes, "module": module}


PATTERNS = [
    definitions,
    chain,
    calls,
    neighbours,
    in_threads,
    rows_of_versions,
    calls_in_threads,
    functions,
    constants,
    rows_of_constants,
    joins,
    indices,
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_work_grows_with_the_program(pattern: Callable[[int], str]) -> None:
    few, many = work_of_stages(pattern(FEW)), work_of_stages(pattern(MANY))
    ratios = {stage: many[stage] / few[stage] for stage in few}
    assert all(ratio < 1.5 * MANY / FEW for ratio in ratios.values()), ratios
