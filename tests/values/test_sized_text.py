"""Types of entry points with their sizes: the same from each backend."""

import inspect

import pytest

import minifut

SOURCE = """
type point = {x: f32, y: f32}
entry move [n] (ps: [n]point): [n]point = ps
entry grid [n][m] (g: [n][m]point): [m][n]point = transpose g
entry vecs [n][d] (ps: [n]{p: [d]f32, m: f32}): [n]{m: f32, p: [d]f32} = ps
entry pair [n][m] (p: ([n]f32, [m](i32, i64))): ([m]i32, [n]f32) = (map (.0) p.1, p.0)
entry zipped [n] (xs: [n]f32): [n](f32, i64) = zip xs (iota n)
entry one [n] (s: #a ([n]f32) | #b i32): [n]f32 =
  match s case #a x -> x case #b _ -> replicate n 3
entry shapes [n] (s: [n](#circle f32 | #none)): [n]f32 =
  map (\\s -> match s case #circle x -> x case #none -> 0) s
entry three (v: [3]{a: i32}): [3]{a: i32} = v
entry fill (n: i64) (v: u8): [n]u8 = replicate n v
entry bins [n] (k: i64) (is: [n]i64): [k]i64 = hist (+) 0 k is (replicate n 1)
entry few [n] (xs: [n]f32): []f32 = filter (> 0) xs
entry cut (p: {n: i64}): []i32 = replicate p.n 1i32
"""

EXPECTED = """
move (ps: [n]point): [n]point
grid (g: [n][m]point): [m][n]point
vecs (ps: [n]{m: f32, p: [d]f32}): [n]{m: f32, p: [d]f32}
pair (p: ([n]f32, [m](i32, i64))): ([m]i32, [n]f32)
zipped (xs: [n]f32): [n](f32, i64)
one (s: #a [n]f32 | #b i32): [n]f32
shapes (s: [n](#circle f32 | #none)): [n]f32
three (v: [3]{a: i32}): [3]{a: i32}
fill (n: i64) (v: u8): [n]u8
bins (k: i64) (is: [n]i64): [k]i64
few (xs: [n]f32): []f32
cut (p: {n: i64}): []i32
"""


@pytest.mark.parametrize(
    "backend", ["interpreter", pytest.param("opencl", marks=pytest.mark.device)]
)
def test_all_types_have_their_sizes(backend: str) -> None:
    program = minifut.compile(SOURCE, backend=backend)
    found = [entry.signature_text() for entry in program.entries.values()]
    assert found == EXPECTED.split("\n")[1:-1]


def test_signatures_have_them_as_well() -> None:
    program = minifut.compile(SOURCE, backend="interpreter")
    signature = inspect.signature(program.grid)
    assert signature.parameters["g"].annotation == "[n][m]point"
    assert signature.return_annotation == "[m][n]point"


def test_a_size_that_a_scalar_gives_is_no_dimension_of_a_gufunc() -> None:
    program = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(minifut.UsageError, match="not one of the arguments' sizes"):
        _ = program.fill.gufunc_signature
