"""Maps over rows of two to four elements: a row is one point, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

BODIES = {
    "elements": "map (map (\\x -> x * 3 + 1)) xs",
    "sums of rows": "map (\\r -> let s = i32.sum r in map (\\x -> x * s) r) xs",
    "columns": "map (map (+ 1)) (transpose xs) |> map (map (* 2)) |> transpose",
    "positions": "tabulate_2d n C (\\i j -> if j == 0 then xs[i, C - 1] else xs[i, j - 1] - 7)",
    "rows of rows": "map (\\r -> map (\\x -> map (+ x) r) r) xs",
    "checked": "tabulate_2d n C (\\i j -> xs[i64.i32 (xs[i, j] & 63) % n, j])",
    "loops": "map (map (\\x -> loop y = x for i < x & 3 do y * 2 + i)) xs",
    "several results": "map (\\r -> unzip (map (\\x -> (x / 3, f32.i32 x)) r)) xs |> unzip",
    "shared": "map (\\r -> let s = f32.sqrt (f32.i32 (r[0] & 15)) in map (\\x -> f32.i32 x * s) r) xs",
    "a shared place": "map (\\r -> let k = i64.i32 (r[0] & 63) % n let s = r[0] / 7 in map (\\c -> c[0] * s) (transpose xs[k:k+1])) xs",
    "calls": "map (map (\\x -> f32.sqrt (f32.exp (f32.i32 x / 50)))) xs",
}


def source(name: str, columns: int) -> Source:
    body = BODIES[name].replace("C", str(columns))
    return Source("rows.fut", f"entry main [n] (xs: [n][{columns}]i32) = {body}")


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", BODIES)
def test_rows_of_few_elements_agree_with_the_interpreter(
    name: str, columns: int
) -> None:
    text = source(name, columns)
    program = minifut.compile(text.text, schedule="cpu")
    oracle = interpreted_program(stages.to_core(stages.check(text)))
    for n in (0, 1, 5, 700):
        xs = np.random.default_rng(n).integers(-99, 99, (n, columns)).astype(np.int32)
        found, wanted = program.main(xs), oracle.main(xs)
        pairs = (
            zip(found, wanted, strict=True)
            if isinstance(found, tuple)
            else [(found, wanted)]
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize(("columns", "stores"), [(2, 2), (4, 4), (5, 1)])
def test_the_elements_of_a_short_row_are_one_point(columns: int, stores: int) -> None:
    core = stages.to_core(stages.check(source("elements", columns)))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "rows")
    written = [line for line in text.splitlines() if line.strip().startswith("mapped[")]
    assert len(written) == stores


def kernels_of(text: Source) -> list[str]:
    core = stages.to_core(stages.check(text))
    return stages.to_host_module(stages.to_kernels(core), "cpu", "rows").splitlines()


def test_what_the_elements_of_a_short_row_share_is_computed_once() -> None:
    lines = kernels_of(source("shared", 3))
    assert sum("= sqrt_f32(" in line for line in lines) == 1


def test_a_check_that_the_elements_of_a_short_row_share_is_tested_once() -> None:
    text = """entry main [n] (ks: [n]f64) (xs: [n][3]i32) = map (\\k ->
      map i32.sum (transpose xs[i64.f64 k:i64.f64 k + 4])) ks"""
    (test,) = [
        line for line in kernels_of(Source("t.fut", text)) if "fine = fine &" in line
    ]
    assert "&&" not in test
