"""Entry points as generalised universal functions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.gufunc import mapped_text

SOURCE = """
entry nearest [n][d][k] (xs: [n][d]f32) (cs: [k][d]f32): [n]i64 =
  let distance x c = f32.sum (map2 (\\a b -> (a - b) ** 2) x c)
  let closer (i, a) (j, b) = if b < a || (a == b && j < i) then (j, b) else (i, a)
  in map (\\x -> (reduce closer (k, f32.inf) (zip (iota k) (map (distance x) cs))).0) xs

entry scaled [n] (a: f32) (xs: *[n]f32): ([n]f32, f32) =
  let ys = map (* a) xs in (ys, f32.sum ys)

entry corner (m: [2][2]i32): i32 = m[0, 1]
entry positive [n] (xs: [n]f32): []f32 = filter (> 0) xs
entry longer [n] (xs: [n]f32): [n + 1]f32 = ([0] ++ xs) :> [n + 1]f32
entry pair (p: (i32, i32)): i32 = p.0
"""

RANDOM = np.random.default_rng(3)
XS = RANDOM.normal(size=(4, 3, 6, 2)).astype(np.float32)
CS = RANDOM.normal(size=(3, 5, 2)).astype(np.float32)


@pytest.fixture(
    scope="module",
    params=[pytest.param("opencl", marks=pytest.mark.device), "interpreter"],
)
def program(request: pytest.FixtureRequest) -> minifut.Program:
    return minifut.compile(SOURCE, backend=request.param)


def nearest(xs: np.ndarray, cs: np.ndarray) -> np.ndarray:
    distances = ((xs[..., :, None, :] - cs[..., None, :, :]) ** 2).sum(-1)
    return distances.argmin(-1)


def test_signatures_come_from_the_sizes_of_types(program: minifut.Program) -> None:
    assert program.nearest.gufunc_signature == "(n,d),(k,d)->(n)"
    assert program.scaled.gufunc_signature == "(),(n)->(n),()"
    assert program.corner.gufunc_signature == "(2,2)->()"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("positive", "not one of the arguments"),
        ("longer", "not one of the arguments"),
        ("pair", "p: .i32, i32. is no array"),
    ],
)
def test_what_has_no_signature(
    program: minifut.Program, name: str, message: str
) -> None:
    with pytest.raises(minifut.UsageError, match=message):
        program[name].gufunc()


@pytest.mark.parametrize(
    ("xs", "cs"),
    [(XS, CS), (XS[0, 0], CS), (XS, CS[0]), (XS[0, 0], CS[0]), (XS[:, :1], CS[None])],
    ids=["both", "second", "first", "none", "ones"],
)
def test_leading_dimensions_broadcast(
    program: minifut.Program, xs: np.ndarray, cs: np.ndarray
) -> None:
    result = program.nearest.gufunc()(xs, cs)
    wanted = nearest(xs, cs)
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, wanted)


def test_several_results_scalars_and_consumed_arguments(
    program: minifut.Program,
) -> None:
    scaled = program.scaled.gufunc()
    given = XS.copy()
    arrays, sums = scaled(2.0, given)
    np.testing.assert_array_equal(arrays, 2 * XS)
    np.testing.assert_allclose(sums, 2 * XS.sum(-1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(given, XS)
    arrays, _ = scaled(np.arange(3, dtype=np.float32), XS[0, :, 0])
    np.testing.assert_array_equal(arrays, np.arange(3)[:, None] * XS[0, :, 0])


def test_an_empty_loop(program: minifut.Program) -> None:
    assert program.nearest.gufunc()(XS[:0], CS).shape == (0, 3, 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((XS,), "2 arguments expected"),
        ((XS[0, 0, 0], CS), "xs: .n..d.f32 has 2 dimensions, the argument has 1"),
        ((XS, CS[:2]), "shape mismatch"),
        (
            (XS, CS[..., :1]),
            r"cs: dimension 2 must be 2 \(d, from argument xs\), got 1",
        ),
        ((XS, np.ma.masked_array(CS)), "mask"),
    ],
)
def test_wrong_arguments(
    program: minifut.Program, arguments: Any, message: str
) -> None:
    with pytest.raises(minifut.ArgumentError, match=message):
        program.nearest.gufunc()(*arguments)


def test_sizes_that_are_numbers_are_checked(program: minifut.Program) -> None:
    with pytest.raises(minifut.ArgumentError, match="m: dimension 2 must be 2, got 3"):
        program.corner.gufunc()(np.zeros((4, 2, 3), np.int32))


def test_the_mapped_entry_point_uses_no_name_of_the_original() -> None:
    text = "entry i [rows] (x1: [rows]f32) (i: f32): f32 = f32.sum x1 + i"
    program = minifut.compile(text, backend="interpreter")
    name, shown = mapped_text(program.i, (True, False))
    assert name not in ("i", "x1", "rows") and "tabulate rows_ " in shown
    result = program.i.gufunc()(np.ones((3, 2), np.float32), 1.0)
    np.testing.assert_array_equal(result, [3, 3, 3])


def test_messages_of_the_mapped_entry_point_name_what_the_user_wrote() -> None:
    text = "entry norm [n] (x: [n]f32): f32 = f32.sum (map (\\v -> v * v) x)"
    program = minifut.compile(text, backend="interpreter")
    with pytest.raises(minifut.ArgumentError, match=r"^norm: .*\bx\b"):
        program.norm.gufunc()(np.ones((3, 2), np.complex64))


@pytest.mark.device
def test_they_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(minifut.compile(SOURCE).nearest.gufunc()))
    np.testing.assert_array_equal(again(XS, CS), nearest(XS, CS))


@pytest.mark.device
def test_arrays_of_dask() -> None:
    array = pytest.importorskip("dask.array")
    xs = array.from_array(XS, chunks=(2, 3, -1, -1))
    function = minifut.compile(SOURCE).nearest.gufunc()
    lazy = function(xs, array.from_array(CS, chunks=(3, -1, -1)))
    assert lazy.shape == (4, 3, 6) and lazy.dtype == np.int64
    wanted = nearest(XS, CS)
    np.testing.assert_array_equal(lazy.compute(scheduler="sync"), wanted)
    direct = array.apply_gufunc(
        function, function.signature, xs, CS, output_dtypes=np.int64
    )
    np.testing.assert_array_equal(direct.compute(scheduler="sync"), wanted)


@pytest.mark.device
def test_arrays_of_numpy_are_cut_like_those_of_dask() -> None:
    array = pytest.importorskip("dask.array")
    function = minifut.compile(SOURCE).nearest.gufunc()
    names = [p.name for p in function.entry.parameters]
    wanted = nearest(XS, CS)
    for xs, cs in (
        (array.from_array(XS, chunks=(2, 3, -1, -1)), CS),
        (XS, array.from_array(CS, chunks=(1, -1, -1))),
        (array.from_array(XS, chunks=(3, 1, -1, -1)), array.from_array(CS)),
        (array.from_array(XS, chunks=(1, 2, -1, -1)), CS[:1]),
    ):
        lazy = function(**dict(zip(names, (xs, cs), strict=True)))
        expected = wanted if len(cs) > 1 else nearest(XS, CS[:1])
        np.testing.assert_array_equal(lazy.compute(scheduler="sync"), expected)
    with pytest.raises(minifut.ArgumentError, match=r"float64; use .astype"):
        function(array.from_array(XS.astype(float)), CS)
    with pytest.raises(minifut.ArgumentError, match="device is no option of a gufunc"):
        function(XS, CS, device=True)


@pytest.mark.device
def test_arrays_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    xs = xarray.DataArray(XS, dims=("time", "place", "n", "d")).chunk({"time": 2})
    cs = xarray.DataArray(CS, dims=("place", "k", "d"))
    function = minifut.compile(SOURCE).nearest.gufunc()
    options = function.dimensions
    lazy = xarray.apply_ufunc(function, xs, cs, dask="parallelized", **options)
    assert lazy.dims == ("time", "place", "n")
    np.testing.assert_array_equal(lazy.compute(scheduler="sync"), nearest(XS, CS))
