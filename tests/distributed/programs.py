"""Entry points that run over chunks, with arguments, and how results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import minifut

SOURCE = """
entry squares [n] (xs: [n]i32): [n]i32 = map (\\x -> x * x) xs
entry total [n] (xs: [n]i32): i32 = i32.sum xs
entry mean [n] (xs: [n]f32): f32 = f32.sum xs / f32.i64 n
entry variance [n] (xs: [n]f32): f32 =
  let m = f32.sum xs / f32.i64 n in f32.sum (map (\\x -> (x - m) ** 2) xs) / f32.i64 n
entry centred [n] (xs: [n]f32): [n]f32 =
  let m = f32.sum xs / f32.i64 n in map (\\x -> x - m) xs
entry column_means [n][d] (xss: [n][d]f32): [d]f32 =
  map (\\c -> f32.sum c / f32.i64 n) (transpose xss)
entry row_sums [n][d] (xss: [n][d]i32): [n]i32 = map i32.sum xss
entry norm_of_means [n][d] (xss: [n][d]f32): f32 =
  f32.sum (map (\\c -> (f32.sum c) ** 2) (transpose xss))
entry largest [n] (xs: [n]i32): (i32, i64) =
  let best (x, i) (y, j) = if y > x || (y == x && j < i) then (y, j) else (x, i)
  in reduce best (i32.lowest, -1) (zip xs (iota n))
entry steepest [n] (xs: [n]i32): i32 =
  let join (a, b, c, d) (e, f, g, h) =
    (i32.max a (i32.max e (c + f)), i32.max f (b + h) , i32.max c (d + g), d + h)
  let lift x = let y = i32.max x 0 in (y, y, y, x)
  let swap (a, b, c, d) (e, f, g, h) = let (p, q, r, s) = join (a, b, c, d) (e, f, g, h)
                                       in (p, i32.max b (d + f), i32.max g (h + c), s)
  in (reduce swap (0, 0, 0, 0) (map lift xs)).0
entry running [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs
entry averages [n] (xs: [n]f32): [n]f32 =
  map3 (\\s x i -> x * f32.i64 i + s / f32.i64 (i + 1)) (scan (+) 0 xs)
       (map2 (\\i x -> x / f32.i64 (i + 1)) (iota n) xs) (iota n)
entry weighted [n] (xs: [n]f32) (steps: i32): f32 =
  let ws = map (\\i -> f32.i64 i / f32.i64 n) (iota n)
  let first = f32.sum (map2 (*) ws xs)
  in loop t = first for _i < steps do
       f32.sum (map3 (\\w x i -> w * x / (t + f32.i64 (i + n))) ws xs (iota n))
entry shares [n] (xs: [n]i32): [n]i32 =
  let s = scan (+) 0 xs in map2 (\\x y -> x * 10 + y % 7) s xs
entry linear [n] (xs: [n]i32) (ys: [n]i32): [n]i32 =
  let after (a, b) (c, d) = (a * c, b * c + d)
  in map (.1) (scan after (1, 0) (zip xs ys))
entry row_scan [n][d] (xss: [n][d]i32): [n][d]i32 =
  scan (map2 (+)) (replicate d 0) xss
entry even [n] (xs: [n]i32): []i32 = filter (\\x -> x % 2 == 0) xs
entry even_mean [n] (xs: [n]i32): (i64, i32) =
  let ys = filter (\\x -> x % 2 == 0) xs in (length ys, i32.sum (map (+ 1) ys))
entry kept_pairs [n] (xs: [n]i32) (ys: [n]f32): ([]i32, []f32) =
  unzip (filter (\\(x, _) -> x > 3) (zip xs ys))
entry histogram [n][k] (bins: [k]i32) (xs: [n]i32): [k]i32 =
  reduce_by_index (copy bins) (+) 0 (map (\\x -> i64.i32 x % k) xs) (map (% 5) xs)
entry row_histogram [n][d] (k: i64) (xs: [n]i32) (rows: [n][d]i32): [k][d]i32 =
  reduce_by_index (replicate k (replicate d 1)) (map2 (+)) (replicate d 0)
                  (map (\\x -> i64.i32 x % k) xs) rows
entry positions [n] (xs: [n]i32): [n]i32 = map2 (\\x i -> x + 2 * i32.i64 i) xs (iota n)
entry flat [n][d] (xss: [n][d]i32): i32 =
  i32.sum (map2 (\\x i -> x * i32.i64 i) (flatten xss) (iota (n * d)))
entry power [n] (xs: [n]i32) (steps: i32): [n]i32 =
  loop ys = xs for _i < steps do map (\\y -> y * 3 + 1) ys
entry relaxed [n] (xs: [n]f32) (steps: i32): ([n]f32, f32) =
  loop (ys, s) = (xs, 0) for i < steps do
    let t = f32.sum ys / f32.i64 n
    in (map (\\y -> (y + t) / 2) ys, s + f32.i32 i * t)
entry counted [n] (xs: [n]i32) (steps: i32): ([n]i32, i32, i32) =
  let (ys, c) = loop (ys, c) = (xs, 1) for _i < steps do (map (* 2) ys, c * 3)
  in (ys, c, i32.sum (map (+ c) ys) - c)
entry doubled [n] (xs: [n]i32) (limit: i32): ([n]i32, i32) =
  let (ys, c, _) = loop (ys, c, go) = (xs, 1, true) while go do
    let s = i32.sum ys
    let (zs, d) = loop (zs, d) = (ys, c) for _i < 2 do (map (+ 1) zs, d + 1)
    in (zs, d, s < limit && d < 20)
  in (ys, c)
entry until [n] (xs: [n]f32): (i32, f32) =
  loop (i, x) = (0, 8) while x > 0.1 do (i + 1, f32.sum (map (\\y -> y * x) xs))
entry checked [n] (xs: [n]i32): i32 = assert (i32.maximum xs < 100) (i32.sum xs)
"""
RANDOM = np.random.default_rng(7)
N, D = 103, 3
INTS = RANDOM.integers(-9, 9, N).astype(np.int32)
FLOATS = RANDOM.normal(size=N).astype(np.float32)
ROWS = RANDOM.integers(-9, 9, (N, D)).astype(np.int32)
POINTS = RANDOM.normal(size=(N, D)).astype(np.float32)
SMALL = np.abs(FLOATS) / np.abs(FLOATS).sum() / 2

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "squares": (INTS,),
    "total": (INTS,),
    "mean": (FLOATS,),
    "variance": (FLOATS,),
    "centred": (FLOATS,),
    "column_means": (POINTS,),
    "row_sums": (ROWS,),
    "norm_of_means": (POINTS,),
    "largest": (INTS,),
    "steepest": (INTS,),
    "running": (INTS,),
    "averages": (FLOATS,),
    "weighted": (np.abs(FLOATS), 3),
    "shares": (INTS,),
    "linear": (INTS, INTS),
    "row_scan": (ROWS,),
    "even": (INTS,),
    "even_mean": (INTS,),
    "kept_pairs": (INTS, FLOATS),
    "histogram": (np.arange(5, dtype=np.int32), np.abs(INTS)),
    "row_histogram": (4, np.abs(INTS), ROWS),
    "positions": (INTS,),
    "flat": (ROWS,),
    "power": (INTS, 3),
    "relaxed": (FLOATS, 4),
    "counted": (INTS, 3),
    "doubled": (INTS, 100),
    "until": (SMALL,),
    "checked": (INTS,),
}


def distribute(entry: minifut.EntryPoint, **options: Any) -> Any:
    from minifut.dask import distribute

    return distribute(entry, over="n", **options)


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def check(given: Any, wanted: Any) -> None:
    for one, other in zip(as_tuple(given), as_tuple(wanted), strict=True):
        one = np.asarray(one)
        assert one.dtype == np.asarray(other).dtype
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(one, other)


def in_chunks(value: Any, chunks: Any) -> Any:
    """Arrays of n elements as arrays of dask."""
    import dask.array as da

    if isinstance(value, np.ndarray) and len(value) == N:
        return da.from_array(value, chunks=(chunks, *value.shape[1:]))
    return value
