"""Every construct of the language has the derivative that differences have."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import ProgramError
from minifut.passes.differentiate.reverse import hist_chunks
from tests.passes.differentiate.derivatives import check, runner

XS = np.array([0.7, 1.3, -0.4, 2.1, 0.9])
YS = np.array([1.1, -0.6, 0.8, 0.3, -1.7])
M = np.arange(12.0).reshape(3, 4) * 0.3 - 1.2

SCALAR = {
    "arithmetic": "(x * y + x / y - y)",
    "powers": "f64.abs x ** 1.7 + 2 ** y",
    "functions": "f64.sin x * f64.exp y + f64.log (x * x + 1) - f64.sqrt (y * y)",
    "hyperbolic": "f64.tanh x + f64.cosh y - f64.sinh (x * y)",
    "inverse": "f64.atan2 x y + f64.asin (0.1 * x) + f64.acos (0.1 * y) + f64.atan x",
    "extremes": "f64.min x y * f64.max (2 * x) y + f64.abs y",
    "special": "f64.erf x + f64.log1p (y * y) + f64.cbrt x + f64.hypot x y",
    "fused": "f64.mad x y x + f64.lerp x y 0.25 + f64.copysign x (-1)",
    "steps": "f64.floor x * y + f64.round y * x",
    "branch": "if x < y then x * y else x + 3 * y",
    "nested branches": "let z = if x > 0 then x * y else y in if z > 1 then z * z else -z",
    "constant branch": "if x < 10 then 3.0 else x * y",
    "loop": "loop a = x for i < 4 do a * y + f64.i64 i",
    "loop of two": "let (a, b) = loop (a, b) = (x, y) for _i < 5i32 do (b, a * b) in a + b",
    "nested loops": "loop a = x for i < 3 do loop b = a for _j < i do b * y + a",
    "while": "(loop (a, n) = (x, 0i64) while n < 3 do (a * a + y, n + 1)).0",
    "while on the value": "loop a = x * x + 1 while a < 100 do a * (1.5 + y * y)",
    "bounded while": "#[bound(20)] loop a = x * x + 1 while a < 100 do a * (1.5 + y * y)",
    "bounded while of arrays": "f64.sum (#[bound(9)] loop a = [x, y] while f64.sum a > 1 do map (* 0.4) a)",
    "no rounds": "loop a = x for _i < 0 do a * y",
    "unroll": "#[unroll] loop a = x for i < 4 do f64.sin (a + y * f64.i64 i)",
    "stripmine": "#[stripmine(1)] loop a = x for i < 11 do a * 0.5 + y * f64.i64 i",
    "deep stripmine": "#[stripmine(2)] loop a = x for i < 29 do f64.sin (a + y * f64.i64 i)",
    "conversions": "f64.f32 (f32.f64 1) * x + f64.i64 (i64.f64 (f64.floor y)) * x",
    "bits": "f64.from_bits (f64.to_bits (x * y)) * x + f64.sin (f64.from_bits (f64.to_bits y))",
    "match": "match (if x < 0 then 0i32 else 1) case 0 -> x case 1 -> x * y case _ -> y",
}


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("point", [(0.7, 1.3), (1.9, -0.6)])
def test_of_scalars(name: str, point: tuple[float, float]) -> None:
    check(f"def f (x: f64, y: f64) = {SCALAR[name]}", ["f64", "f64"], point)


ARRAY = {
    "map": "map (\\x -> x * x) xs",
    "map of two": "map2 (\\x y -> x * y + f64.sin x) xs ys",
    "map with a free scalar": "map (\\x -> x * ys[1] * ys[1]) xs",
    "map with a free array": "map (\\i -> xs[i] * xs[(i + 1) % 5]) (iota 5)",
    "nested maps": "map (\\x -> f64.sum (map (\\y -> x * y * y) ys)) xs",
    "matrix of products": "map (\\x -> map (\\y -> x * y) ys) xs",
    "branch in a map": "map2 (\\x y -> if x > y then x * y else y) xs ys",
    "loop in a map": "map2 (\\x y -> loop a = x for _i < 3 do a * y) xs ys",
    "sum": "f64.sum xs * f64.sum ys",
    "product": "f64.product xs + f64.product ys",
    "product with a zero": "f64.product (map2 (\\i x -> if i == 1 then 0 * x else x) (iota 5) xs)",
    "extremes": "f64.maximum xs * f64.minimum ys",
    "sum of rows": "reduce (map2 (+)) (replicate 5 0) [xs, ys, map (* 2) xs]",
    "products of rows": "reduce (map2 (*)) (replicate 5 1) [xs, ys, map (* 2) xs]",
    "greatest of rows": "reduce (map2 f64.max) (replicate 5 (-1000)) [xs, ys, map (* 2) ys]",
    "independent reduction": "reduce (\\(a, b) (c, d) -> (a + c, b * d)) (0, 1) (zip xs ys)",
    "argmax": "(reduce (\\(a, i) (b, j) -> if a > b then (a, i) else (b, j)) (-1000, -1i64) (zip xs (iota 5))).0",
    "matrix reduction": "reduce (\\(a, b, c, d) (e, g, h, k) -> (a * e + b * h, a * g + b * k, c * e + d * h, c * g + d * k)) (1, 0, 0, 1) (zip4 xs ys xs ys)",
    "reduction with a free name": "reduce (\\a b -> a + b + ys[0] * a * b) 0 xs",
    "running sums": "scan (+) 0 (map2 (*) xs ys)",
    "running products": "scan (*) 1 xs",
    "running maxima": "scan f64.max (-1000) xs",
    "scan of rows": "scan (map2 (*)) (replicate 5 1) [xs, ys, xs]",
    "linear recurrence": "map (.1) (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip xs ys))",
    "segmented scan": "map (.1) (scan (\\(s, a) (t, b) -> (s || t, if t then b else a + b)) (false, 0) (zip [true, false, false, true, false] xs))",
    "scan of matrices": "map (.0) (scan (\\(a, b, c, d) (e, g, h, k) -> (a * e + b * h, a * g + b * k, c * e + d * h, c * g + d * k)) (1, 0, 0, 1) (zip4 xs ys xs ys))",
    "scan with a free name": "scan (\\a b -> a + b + ys[0] * a * b) 0 xs",
    "histogram of sums": "reduce_by_index (copy ys) (+) 0 [0, 1, 1, 7, 3] xs",
    "histogram of products": "reduce_by_index (copy ys) (*) 1 [0, 1, 1, 7, 1] xs",
    "histogram of maxima": "reduce_by_index (copy ys) f64.max (-1000) [0, 1, 1, 7, 1] xs",
    "histogram of rows": "reduce_by_index [xs, ys] (map2 (+)) (replicate 5 0) [1, 0, 1] [ys, ys, xs]",
    "histogram of rows of products": "reduce_by_index [xs, ys] (map2 (*)) (replicate 5 1) [1, 0, 1] [ys, ys, xs]",
    "histogram of rows by an affine operator": "flatten (reduce_by_index [xs, ys] (map2 (\\a b -> a + b - 0.5 * a * b)) (replicate 5 0) [1, 0, 1, 7] [ys, ys, xs, xs])",
    "histogram of rows of maxima": "flatten (reduce_by_index [xs, ys] (map2 f64.max) (replicate 5 (-1000)) [1, 0, 1, 7] [ys, map (* 2) ys, xs, xs])",
    "histogram in two dimensions": "flatten (reduce_by_index_2d [xs, ys] (+) 0 [(0, 1), (1, 4), (0, 9)] xs[:3])",
    "histogram of pairs": "(\\hs -> map (.0) hs) (reduce_by_index (zip xs ys) (\\(a, b) (c, d) -> (a * d + b * c, b * d)) (0, 1) [1, 1, 4, 0, 1] (zip ys xs))",
    "scatter": "scatter (copy ys) [3, 0, 9, 1, -1] xs",
    "scatter of rows": "flatten (scatter [xs, ys] [1, 5] [ys, xs])",
    "gather": "map (\\i -> xs[i]) [0, 0, 3, 1, 0, 2]",
    "update": "(copy xs with [2] = ys[1] * ys[2])",
    "update of a slice": "(copy xs with [1:3] = ys[3:5])",
    "slices": "f64.sum (map (\\x -> x * x) (xs[1:4] ++ ys[::2]))",
    "reverse": "map2 (*) (reverse xs) ys",
    "rotations": "map2 (*) (rotate 2 xs) ys",
    "transposition": "flatten (transpose [xs, ys])",
    "replicate": "flatten (replicate 3 (map2 (*) xs ys))",
    "literal": "[xs[0] * ys[0], xs[1], 3]",
    "loop over an array": "loop a = copy xs for i < 5 do a with [i] = a[(i + 1) % 5] * ys[i]",
    "loop of slices": "loop a = copy xs for i < 2 do a with [1:4] = map2 (\\x y -> x * y + a[i]) a[:3] (ys[i:i + 3] :> [3]f64)",
    "loop of updates that overlap": "loop a = copy xs for i < 4 do let a = a with [i] = a[i] * ys[i] in a with [i:i + 2] = [a[i + 1], a[i] * a[4]]",
    "loop from the end": "loop a = copy xs for i < 4 do a with [3 - i] = a[4 - i] * ys[i] + f64.sin a[3 - i]",
    "loop that overwrites one place": "loop a = copy xs for i < 4 do a with [2] = a[2] * ys[i] + a[i]",
    "loop of places that data give": "(loop (a, b) = (copy xs, [2i64, 0, 4, 1, 3]) for i < 5 do (a with [b[i]] = a[i] * ys[i], b with [4 - i] = b[i])).0",
    "loop of two arrays": "let (a, b) = loop (a, b) = (copy xs, copy ys) for i < 5 do let c = a[i] in (a with [i] = c * b[4 - i], b with [i] = c) in map2 (*) a b",
    "loop of loops that update": "loop a = copy xs for i < 5 do loop a for j < i do a with [j] = a[j] * a[i] + ys[j]",
    "loop of updates in branches": "loop a = copy xs for i < 4 do if a[i] > ys[i] then a with [i + 1] = a[i] * a[i + 1] else a with [0] = a[0] * ys[i]",
    "loop of updates in branches of branches": "loop a = copy xs for i < 4 do if a[i] > ys[i] then a else if ys[i] > 0 then let a = a with [4] = a[i] * a[4] in a with [i] = a[4] else a with [i:i + 2] = [a[0] * a[i], a[1]]",
    "loop of updates before a branch": "loop a = copy xs for i < 4 do let a = a with [i] = a[i] * a[i + 1] in if a[i] > 0 then a with [i + 1] = a[i] * ys[i] else a",
    "loop of loops of four updates": "loop a = copy xs for i < 5 do loop a for j < 4 do a with [j + 1] = a[j] * a[i] + ys[j] * a[j + 1]",
    "loop of two loops of updates": "loop a = copy xs for i < 5 do let a = loop a for j < 4 do a with [j + 1] = a[j] * a[i] + ys[j] in loop a for j < 3 do if a[j] > 0 then a with [i] = a[i] * a[j] else a",
    "loop of branches at places that data give": "(loop (a, b) = (copy xs, [2i64, 0, 4, 1, 3]) for i < 5 do let k = b[i] in if a[k] > 0 then (a with [b[k]] = a[i] * ys[k], b with [4 - i] = k) else (a with [k] = a[0] * a[k], b)).0",
    "loop of branches with loops": "loop a = copy xs for i < 3 do if ys[i] > 0 then loop a for j < 4 do a with [j] = a[j] * a[j + 1] else a with [i] = ys[i] * a[i]",
    "loop of updates after it is read": "let a = loop a = copy xs for i < 5 do a with [i] = a[(i + 1) % 5] * a[i] in map2 (*) a xs",
    "loop for each": "loop a = 1 for x in xs do a * x + ys[0]",
    "loop with a map": "loop a = xs for _i < 3 do map2 (\\x y -> f64.sin x * y) a ys",
    "loop that grows": "f64.sum (loop a = xs for i < 3 do a ++ map (* a[i]) ys)",
    "stencil": "loop a = xs for _s < 4 do map (\\i -> 0.3 * a[(i - 1) % 5] + 0.5 * a[i] * a[(i + 1) % 5]) (iota 5)",
    "filter": "f64.sum (filter (> 0) (map2 (*) xs ys))",
    "flatmap": "let g (i: i64, x: f64) = replicate i (x * ys[i])"
    " let (_, _, _, a) = flatmap' g (zip (iota 5) xs) in f64.sum (map (\\x -> x * x) a)",
}


@pytest.mark.parametrize("name", ARRAY)
def test_of_arrays(name: str) -> None:
    text = f"def f (xs: [5]f64, ys: [5]f64) = {ARRAY[name]}"
    check(text, ["[5]f64", "[5]f64"], (XS, YS))


MATRIX = {
    "product": "map (\\row -> map (\\column -> f64.sum (map2 (*) row column)) (transpose (map (map f64.sin) a))) a |> map f64.sum",
    "sweeps in place": "flatten (loop a = copy a for _t < 2 do loop a for i < 2 do loop a for j < 3 do if a[i, j] > 0.2 then a with [i + 1, j + 1] = a[i, j] * a[i + 1, j + 1] + 0.3 * a[i, j + 1] else a)",
    "columns in a loop of loops": "flatten (loop a = copy a for i < 2 do loop a for j < 3 do a with [:, j] = map (\\r -> r[j] * r[j + 1] + r[i]) a)",
    "sums of rows": "map f64.sum a",
    "sums of columns": "map f64.sum (transpose a)",
    "scan of the rows of a map": "map (scan (*) 1) a",
    "reduction in a map": "map (reduce (\\x y -> x * y + x + y) 0) a",
    "softmax": "map (\\r -> let m = f64.maximum r let e = map (\\x -> f64.exp (x - m)) r let s = f64.sum e in map (/ s) e) a",
    "least of a map": "f64.minimum (map (\\r -> f64.sum (map2 (\\x y -> (x - y * a[0, 0]) ** 2) r a[1])) a)",
    "least of each": "map (\\x -> f64.minimum (map (\\r -> f64.sum (map (\\y -> (x - y) ** 2) r)) a)) a[2]",
    "least of scalars": "f64.minimum (map (\\x -> x * x * a[1, 2]) a[2])",
    "greatest of a map, used twice": "let s = map f64.sum a let m = f64.maximum s in map (\\x -> f64.exp (x - m)) s",
    "update of a row": "copy a with [1] = map (* a[0, 0]) a[2]",
    "loop that updates columns": "loop b = copy a for i < 3 do b with [:, i] = map (\\r -> f64.sum r[:i + 1] * r[3]) b",
    "loop that updates rows": "(loop b = copy a for i < 2 do b with [i + 1] = map2 (*) b[i] (map f64.sin b[i + 1])) with [0, 0] = 1",
    "loop of rows": "loop r = a[0] for row in a do map2 (\\x y -> x * y + x) r row",
}


@pytest.mark.parametrize("name", MATRIX)
def test_of_matrices(name: str) -> None:
    body = MATRIX[name]
    if name == "product":
        body = "map (\\row -> map (\\other -> f64.sum (map2 (*) row (map f64.sin other))) a) a"
    check(f"def f (a: [3][4]f64) = {body}", ["[3][4]f64"], (M,))


def test_of_a_recursive_function() -> None:
    text = """
    def power (x: f64) (y: f64) (n: i64): f64 =
      if n == 0 then y else x * power (x + 0.1 * y) y (n - 1)
    def f (x: f64, y: f64) = power x y 5
    """
    check(text, ["f64", "f64"], (0.7, 1.3))


def test_of_a_recursive_function_on_arrays() -> None:
    text = """
    def total [n] (xs: [n]f64): f64 =
      if n <= 1 then (if n == 0 then 0 else xs[0] * xs[0])
      else total xs[:n / 2] * 0.5 + total xs[n / 2:]
    def f (xs: [5]f64) = total xs
    """
    check(text, ["[5]f64"], (XS,))


def test_more_rounds_than_their_bound_are_an_error() -> None:
    text = """
    entry main (x: f64) = vjp (\\x -> #[bound(3)] loop a = x while a < 100 do a * 2) x 1
    """
    interpreter = runner(text)
    assert interpreter.run("main", [20.0]) == (8,)
    with pytest.raises(ProgramError, match="more than 3 rounds"):
        interpreter.run("main", [1.0])


@pytest.mark.parametrize(
    "operator, zero",
    [
        ("a + b + a * b", -1),
        ("a + b - 2 * a * b", 0.5),
        ("a + b + (a * b) / d[1]", -2),
        ("a + b - f64.cos 0 * (b * a)", 1),
        ("a + b - d[0]", 0),
    ],
)
def test_of_histograms_by_an_affine_operator(operator: str, zero: float) -> None:
    text = f"""
def f [n] (xs: [n]f64, d: [4]f64) =
  let op a b = let d = [1, 2] in {operator}
  let ne = let d = [0, 0] in {"d[0]" if "- d" not in operator else "1"}
  in reduce_by_index (copy d) op ne [0, 0, 1, 1, 2, 7, 2, 3, 3] (xs :> [9]f64)"""
    xs = np.array([zero, 0.25, zero, zero, 0.75, 0.3, -0.4, 0.7, 1.3])
    for start in ([0.2, -0.3, 0.6, 0.9], [0.2, zero, zero, zero]):
        check(text, ["[n]f64", "[4]f64"], [xs, np.array(start)], "[n]")


IN_CHUNKS = {
    "pairs": """
  let op (a, b) (c, d) = (a * c, b * c + a * d)
  let (a, b) = unzip (reduce_by_index (zip d (map (* 2) d)) op (1, 0) bins (zip xs ys))
  in map2 (\\a b -> a + f64.sin b) a b""",
    "two dimensions": """
  let op a b = f64.log (f64.exp a + f64.exp b)
  let places = map2 (\\i j -> (i, (j * 3) % 4 - 1)) bins (iota n)
  in flatten (reduce_by_index_2d [d, map (* 2) d] op (-100) places xs)""",
    "arrays": """
  let op (a: [2]f64) (b: [2]f64) = [a[0] * b[0], a[1] * b[0] + a[0] * b[1]]
  let values = map2 (\\x y -> [x, y]) xs ys
  in map f64.sum (reduce_by_index (map (\\x -> [x, x * x]) d) op [1, 0] bins values)""",
    "arrays in two dimensions": """
  let op [k] (a: [k]f64, x: f64) (b: [k]f64, y: f64) =
    (map2 (\\p q -> p * y + q * x) a b, x * y)
  let values = map2 (\\x y -> ([x * y, x, y], y)) xs ys
  let places = map2 (\\i j -> (i % 2, (j * 3) % 4 - 1)) bins (iota n)
  let start = replicate 2 (map (\\x -> ([x, x + 1, x * x], x)) d)
  in map (\\(a, b) -> f64.sum a * b)
         (flatten (reduce_by_index_2d start op ([0, 0, 0], 1) places values))""",
    "an affine operator in two dimensions": """
  let op a b = a + b - 0.5 * a * b
  let places = map2 (\\i j -> (i, (j * 3) % 4 - 1)) bins (iota n)
  in flatten (reduce_by_index_2d [d, map (* 2) d] op 0 places xs)""",
    "an operator of a parameter": """
  let op a b = f64.sin d[0] * a * b + a + b
  in reduce_by_index (copy d) op 0 bins (map2 (*) xs ys)""",
    "rows": """
  let op a b = f64.log (f64.exp a + f64.exp b)
  let values = map2 (\\x y -> [x, y]) xs ys
  in flatten (reduce_by_index (map (\\x -> [x, x * x]) d) (map2 op) [-100, -100] bins
                              values)""",
}


@pytest.mark.parametrize("n", [0, 1, 7, 20])
@pytest.mark.parametrize("text", IN_CHUNKS.values(), ids=IN_CHUNKS)
def test_of_histograms_in_chunks(
    text: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hist_chunks, "SHORTEST", 0)
    monkeypatch.setattr(hist_chunks, "FOR_EACH_BIN", 1)
    random = np.random.default_rng(n)
    shapes = n, n, 3
    arguments = [random.uniform(0.5, 1.5, shape) for shape in shapes]
    head = "def f [n] (xs: [n]f64, ys: [n]f64, d: [3]f64) =\n"
    bins = "  let bins = map (\\i -> (i * 7) % 5 - 1) (iota n)"
    check(head + bins + text, ["[n]f64", "[n]f64", "[3]f64"], arguments, "[n]")
