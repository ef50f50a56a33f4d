"""Which version runs by default on a CPU: what the default thresholds say of nests."""

from __future__ import annotations

import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Stm
from minifut.ir.kernels import NEVER, AtLeast
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import walk
from minifut.passes.flatten import defaults

NESTS = {
    "map (\\row -> map (\\col -> f32.sum (map2 (*) row col)) (transpose b)) a": (
        defaults.CPU_PRODUCTS
    ),
    "map (\\row -> f32.sum row) a": NEVER,
    "map (\\x -> f32.sum (map (\\y -> x / (1 + y)) b[0])) a[0]": (
        defaults.CPU_SHARED_ROWS
    ),
    "tabulate_2d n m (\\i j -> f32.maximum (map (+ a[i, 0] * b[0, j]) b[1]))": (
        defaults.CPU_SHARED_ROWS
    ),
    "map (\\x -> f32.sum (tabulate n (\\i -> x / (1 + f32.i64 i)))) b[0]": (
        defaults.CPU_SHARED_ROWS
    ),
    "map (\\x -> f32.sum (map (\\y -> f32.exp (x - y)) b[0])) a[0]": (
        defaults.CPU_SHARED_CALLS
    ),
    "map (\\i -> f32.sum (map (+ f32.i64 i) a[i])) (iota n)": NEVER,
    "map (\\i -> f32.sum (map (\\y -> b[0, i64.f32 y]) b[1])) (iota n)": (
        defaults.CPU_LONG_ROWS
    ),
    "map (\\row -> f32.sum (map f32.exp row)) a": defaults.CPU_LONG_ROWS,
    "map (\\row -> f32.sum (map f32.abs row)) a": NEVER,
    "tabulate (n - 4) (\\i -> f32.sum (tabulate 5 (\\j -> #[unsafe] b[1, i + j])))": (
        defaults.CPU_SHARED_ROWS
    ),
    "tabulate n (\\i -> f32.sum (tabulate 5 (\\j -> #[unsafe] b[1, 2 * i + j])))": NEVER,
    "tabulate n (\\i -> f32.sum (tabulate 5 (\\j -> #[unsafe] a[i + j, 0])))": NEVER,
    "tabulate (m - 4) (\\i -> f32.sum b[1, i:i + 5])": defaults.CPU_SHARED_ROWS,
    "tabulate (m - 4) (\\i -> f32.sum (take 5 (drop i b[1])))": (
        defaults.CPU_SHARED_ROWS
    ),
    "tabulate (m - 4) (\\i -> f32.sum b[i, i:i + 5])": NEVER,
    "map (\\f -> f32.sum (tabulate 5 (\\j -> #[unsafe] b[0, i64.f32 f + j]))) a[0]": (
        NEVER
    ),
    "map (\\f -> f32.sum b[i64.f32 f]) a[0]": defaults.CPU_SELECTED_ROWS,
    "map2 (\\f g -> f32.sum (map2 (*) b[i64.f32 f] b[i64.f32 g])) a[0] a[1]": (
        defaults.CPU_SELECTED_ROWS
    ),
    "map (\\f -> f32.sum (map f32.exp b[i64.f32 f])) a[0]": defaults.CPU_LONG_ROWS,
    """map (\\is -> reduce (map2 (+)) (replicate m 0)
                      (map (\\i -> b[i64.f32 i]) is)) a""": defaults.CPU_BUSY,
    """map (\\is -> reduce (map2 (+)) (replicate m 0)
                      (map2 (\\i row -> map (* i) row) is b)) a""": NEVER,
    "map (scan (+) 0) a": NEVER,
    "map (\\row -> let s = f32.sum row in map (/ s) row) a": defaults.CPU_BUSY,
    "map (\\row -> f32.maximum (map2 (*) row (scan (+) 0 row))) a": (
        defaults.CPU_COLUMNS
    ),
    "map (\\row -> map (/ f32.sum row) (scan (+) 0 row)) a": defaults.CPU_SCANS,
    "map (\\row -> map2 (*) row (scan (+) 0 row)) a": defaults.CPU_SHORT_ROWS,
    "map (\\row -> map2 (*) (scan f32.max 0 row) (scan (+) 0 row)) a": (
        defaults.CPU_SCANS
    ),
    """map (\\row -> let (x, y, z) = unzip3 (scan
          (\\(a, b, c) (p, q, r) -> (a * p, b * p + q, c * p + b * r)) (1, 0, 0)
          (zip3 row row row)) in map3 (\\x y z -> x * y + z) x y z) a""": (
        defaults.CPU_WIDE_SCANS
    ),
    """map (\\row -> map2 (*) row (scan (\\x y -> f32.log (f32.exp x + f32.exp y))
                                   (-f32.inf) row)) a""": defaults.CPU_COLUMNS,
    "map (\\row -> f32.maximum (map2 (\\x r -> x * f32.i64 r) row (RANKS row))) a": (
        defaults.CPU_BUSY
    ),
    "map (\\row -> f32.maximum (map2 (\\x r -> x * f32.i32 r) row (SHORT row))) a": (
        defaults.CPU_SHORT_ROWS
    ),
    "map (\\row -> f32.maximum (map2 (\\x r -> f32.exp x * f32.i64 r) row (RANKS row))) a": (
        defaults.CPU_SHORT_ROWS
    ),
    "map (\\row -> let s = map f32.exp row in map (/ f32.sum s) s) a": (
        defaults.CPU_BUSY
    ),
    """map (\\row ->
      let s = map f32.exp row in map (/ reduce (\\a b -> a + b * a) 0 s) s) a""": (
        defaults.CPU_SHORT_ROWS
    ),
    "map (\\row -> let s = f32.sum row in map (\\x -> f32.exp x / s) row) a": (
        defaults.CPU_BUSY
    ),
    """map (\\row -> (reduce (\\(a, b) (p, q) -> (a * p, b * p + q)) (1, 0)
                       (map (\\x -> (x, 1 - x)) row)).0) a""": defaults.CPU_COLUMNS,
    """map (\\row -> (reduce (\\(a, b) (p, q) -> (f32.min a p, f32.max b q)) (1, 0)
                       (map (\\x -> (x, 1 - x)) row)).0) a""": defaults.CPU_BUSY,
    """map (\\row -> (reduce (\\(a, b) (p, q) -> (a * p, b * p + f32.exp q)) (1, 0)
                       (map (\\x -> (x, x)) row)).0) a""": defaults.CPU_COLUMNS,
    "f32.maximum (map f32.sum a)": NEVER,
    "map (\\row -> loop row for _i < 3i32 do map (+ row[0]) row) a": defaults.ALWAYS,
}


def test_windows_that_filters_share_are_folded_by_threads() -> None:
    """The channels and windows of a convolution, whose elements and weights are each
    the same for many results; sums of sums, too, but those of calls in short rows only."""
    convolution = """entry main [c][w][o][k] (x: [c][w]f32) (f: [o][c][k]f32) =
      map (\\weights -> tabulate (w - k + 1) (\\i ->
        f32.sum (map2 (\\row f -> f32.sum (map2 (*) (row[i:i + k] :> [k]f32) f))
                      x weights))) f"""
    sums = "entry main [n][m][k] (a: [n][m][k]f32) = map (f32.sum <-< map f32.sum) a"
    calls = sums.replace("map f32.sum", "map (map f32.exp >-> f32.sum)")
    for text, wanted in (
        (convolution, defaults.CPU_BUSY),
        (sums, defaults.CPU_BUSY),
        (calls, defaults.CPU_LONG_ROWS),
    ):
        core = stages.to_core(stages.check(Source("nest.fut", text)))
        program = stages.to_kernels(core)
        found = [n.threshold for n in walk(program) if isinstance(n, AtLeast)]
        assert wanted in [dict(threshold.defaults)["cpu"] for threshold in found]


def test_columns_of_many_arrays_are_folded_by_threads() -> None:
    """The points of all arrays are parallel, though each turns its rows round."""
    text = """def windows [n] (xs: [n]f32): [n]f32 =
        tabulate n (\\i -> f32.sum (tabulate 5 (\\j -> xs[i64.min (n - 1) (i + j)])))
      entry main [d][n][m] (a: [d][n][m]f32): [d][n][m]f32 =
        map (\\xss -> transpose (map windows (transpose xss))) a"""
    core = stages.to_core(stages.check(Source("nest.fut", text)))
    program = stages.to_kernels(core)
    found = [n.threshold for n in walk(program) if isinstance(n, AtLeast)]
    outer = [dict(t.defaults)["cpu"] for t in found if t.name.endswith(".outer")]
    assert outer == [defaults.CPU_SHARED_ROWS]


def outer_points(text: str) -> list[Size]:
    """What the thresholds of the outer versions of a program are compared with."""
    core = stages.to_core(stages.check(Source("nest.fut", text)))
    return [
        node.parallelism
        for node in nodes_of(AtLeast, stages.to_kernels(core))
        if node.threshold.name.endswith(".outer")
    ]


@pytest.mark.parametrize("nest", NESTS)
def test_defaults_follow_what_the_last_version_consists_of(nest: str) -> None:
    text = f"entry main [n][m][k] (a: [n][k]f32) (b: [k][m]f32) = (b, {nest})"
    text = text.replace("RANKS", "(map (i64.bool <-< (> 0.5)) >-> scan (+) 0)")
    text = text.replace("SHORT", "(map (i32.bool <-< (> 0.5)) >-> scan (+) 0)")
    core = stages.to_core(stages.check(Source("nest.fut", text)))
    outer = [
        dict(statement.exp.threshold.defaults)
        for statement in walk(stages.to_kernels(core))
        if isinstance(statement, Stm)
        and isinstance(statement.exp, AtLeast)
        and statement.exp.threshold.name.endswith(".outer")
    ]
    assert [given["cpu"] for given in outer] == [NESTS[nest]]
    assert [given["gpu"] for given in outer] == [defaults.GPU_BUSY]


def test_windows_of_slices_are_folded_by_threads_at_any_length() -> None:
    text = """entry main [n] (xs: [n]f32) (w: i64) = tabulate (n - w) (\\i ->
        let ys = take w (drop i xs) in f32.sqrt (f32.sum (map (** 2) ys)))"""
    (points,) = outer_points(text)
    values = {name: {"n": 10000, "w": 1000}[name.base] for name in points.names()}
    assert points.evaluate(values) == 9000


@pytest.mark.parametrize(
    ("fold", "wanted"),
    [
        (
            "tabulate k (\\a -> f32.sum (tabulate k (\\b -> f[a, b] * x[i + a, j + b])))",
            4,
        ),
        (
            "map2 (\\a b -> f32.sum (map2 (*) a b)) f (x[i:i + k, j:j + k] :> [k][k]f32)",
            4,
        ),
        ("map2 (*) (flatten f) (flatten (x[i:i + k, j:j + k] :> [k][k]f32))", 256),
    ],
)
def test_windows_in_two_dimensions_are_folded_by_threads(
    fold: str, wanted: int
) -> None:
    text = f"""entry main [n][m][k] (x: [n][m]f32) (f: [k][k]f32) =
      tabulate_2d (n - k) (m - k) (\\i j -> #[unsafe] f32.sum ({fold}))"""
    core = stages.to_core(stages.check(Source("nest.fut", text)))
    found = [
        n.threshold for n in walk(stages.to_kernels(core)) if isinstance(n, AtLeast)
    ]
    assert dict(found[0].defaults)["cpu"] == wanted


@pytest.mark.parametrize(
    ("fold", "longest"),
    [
        ("let s = map f32.exp row in map (/ f32.sum s) s", 32),
        ("f32.sum (map f32.exp row)", 15),
        ("f32.sum (map (\\x -> row[i64.i32 (i32.max 0 (i32.f32 x))]) row)", 64),
        (
            """(reduce (\\(x, i) (y, j) -> if x > y || (x == y && i < j) then (x, i)
                                          else (y, j)) (0, -1i64) (zip row (iota m))).1""",
            24,
        ),
    ],
)
def test_short_rows_of_calls_are_folded_by_threads(fold: str, longest: int) -> None:
    (points,) = outer_points(
        f"entry main [n][m] (a: [n][m]f32) = map (\\row -> {fold}) a"
    )
    for m, counted in ((1, True), (longest, True), (longest + 1, False)):
        values = {name: {"n": 10, "m": m}[name.base] for name in points.names()}
        assert (points.evaluate(values) >= defaults.CPU_LONG_ROWS) == counted


def test_rows_whose_lengths_only_threads_know_count_once() -> None:
    """And so are folded as long ones."""
    (points,) = outer_points("""entry main [n][m] (a: [n][m]f32) = map (\\row ->
      let s = map f32.exp (filter (> 0) row)
      in f32.sum (map (/ f32.sum s) s)) a""")
    assert points.evaluate(dict.fromkeys(points.names(), 10)) == 10


def test_folds_of_shared_operands_have_points_in_lanes() -> None:
    """The cost of k-means, but not what is least of rows that no two points share."""
    distances = """entry main [n][k][d] (c: [k][d]f32) (x: [n][d]f32) =
      f32.sum (map (\\p -> f32.minimum (map (\\q ->
        f32.sum (map2 (\\a b -> (a - b) * (a - b)) p q)) c)) x)"""
    sums = """entry main [n][m][k] (a: [n][m][k]f32) =
      f32.sum (map (f32.minimum <-< map f32.sum) a)"""
    for text, wanted in ((distances, defaults.CPU_PRODUCTS), (sums, NEVER)):
        core = stages.to_core(stages.check(Source("nest.fut", text)))
        found = {
            n.threshold.name: dict(n.threshold.defaults)["cpu"]
            for n in walk(stages.to_kernels(core))
            if isinstance(n, AtLeast)
        }
        assert found["main.reduce_reduce.map_reduce.reduce_reduce.outer"] == wanted


PRODUCTS = """
def mul [n][m][k] (a: [n][k]f32) (b: [k][m]f32): [n][m]f32 =
  map (\\row -> map (\\col -> f32.sum (map2 (*) row col)) (transpose b)) a
entry main [b][n] (xs: [b][n][n]f32) (ys: [n][n]f32) =
  map (\\x -> mul (mul x ys) (map (map (+ 1)) x)) xs
"""


@pytest.mark.parametrize(("n", "counted"), [(4, 1000), (15, 1000), (16, 0), (64, 0)])
def test_points_with_products_that_are_worth_tiles_do_not_count(
    n: int, counted: int
) -> None:
    core = stages.to_core(stages.check(Source("products.fut", PRODUCTS)))
    compared = [
        statement.exp.parallelism
        for statement in walk(stages.to_kernels(core))
        if isinstance(statement, Stm)
        and isinstance(statement.exp, AtLeast)
        and statement.exp.threshold.name == "main.map_map_map_map.outer"
    ]
    assert len(compared) == 1
    sizes = {"b": 1000, "n": n}
    values = {name: sizes[name.base] for name in compared[0].names()}
    assert compared[0].evaluate(values) == counted


NEAREST = """
def closer (i: i64, a: f32) (j: i64, b: f32) = if b < a then (j, b) else (i, a)
entry main [n][m][k] (xs: [n][k]f32) (ys: [m][k]f32) =
  map (\\x -> OPERATION (map (\\y -> f32.sum (map2 (*) x y)) ys)) xs
"""
FOLDS = {
    "reduce closer (-1, f32.inf) <-< zip (iota m)": 1000,
    "f32.minimum <-< map f32.sqrt": 0,
}


@pytest.mark.parametrize("fold", FOLDS)
def test_products_count_where_what_they_are_folded_by_does_not_commute(
    fold: str,
) -> None:
    text = NEAREST.replace("OPERATION", f"({fold})")
    core = stages.to_core(stages.check(Source("nearest.fut", text)))
    outermost = next(
        node.parallelism
        for node in walk(stages.to_kernels(core))
        if isinstance(node, AtLeast)
    )
    counted = outermost.evaluate(dict.fromkeys(outermost.names(), 1000))
    assert counted == FOLDS[fold]


ROWS = {
    """(reduce (\\(x, i) (y, j) -> if x < y then (y, j) else (x, i)) (0, -1i64)
            (zip row (iota k))).1""": 8,
    "f32.sqrt (f32.sum (map (\\x -> x * x) row))": 8,
    "(let s = f32.sum row in f32.sum (map (\\x -> (x - s) * (x - s)) row))": 8,
    "(let s = f32.maximum row in f32.sum (map (\\x -> f32.exp (x - s)) row))": 64,
}


@pytest.mark.parametrize("fold", ROWS)
def test_points_that_fold_long_rows_do_not_count(fold: str) -> None:
    text = f"entry main [n][k] (a: [n][k]f32) = map (\\row -> {fold}) a"
    core = stages.to_core(stages.check(Source("rows.fut", text)))
    (points,) = [
        statement.exp.parallelism
        for statement in walk(stages.to_kernels(core))
        if isinstance(statement, Stm)
        and isinstance(statement.exp, AtLeast)
        and statement.exp.threshold.name.endswith(".outer")
    ]
    for k, counted in ((ROWS[fold] - 1, 1000), (ROWS[fold], 0), (5000, 0)):
        sizes = {"n": 1000, "k": k}
        values = {name: sizes[name.base] for name in points.names()}
        assert points.evaluate(values) == counted


COUNTED = {
    "map (\\row -> map (\\col -> f32.sqrt (f32.sum (map2 (*) row col))) (transpose b)) a": (
        False
    ),
    """tabulate_2d n m (\\i j -> f32.sqrt (f32.sum (map (\\x ->
        f32.abs (x - f32.i64 i) * f32.abs (x - f32.i64 j)) a[0])))""": True,
    """map (\\row -> map (\\col -> f32.sqrt (f32.maximum (map (\\x ->
        row[0] * x - col[0]) b[0]))) (transpose b)) a""": True,
}


@pytest.mark.parametrize("nest", COUNTED)
def test_folds_by_coordinates_are_no_products(nest: str) -> None:
    """Products are tiled by the last version, whatever the number of points; folds of
    the same elements at each point are for lanes over points."""
    text = f"entry main [n][m][k] (a: [n][k]f32) (b: [k][m]f32) = (b, {nest})"
    points = outer_points(text)
    assert points
    counts = [p.evaluate(dict.fromkeys(p.names(), 1000)) for p in points]
    assert all(count == 1000 * 1000 for count in counts) == COUNTED[nest]


def test_a_fold_may_have_branches_that_only_check() -> None:
    """Those without results, found by the campaign (device seeds 1404 and 1455)."""
    text = """entry main [n][m] (zs: [m]i32) (xs: [n]i32) (xss: [n][m]i32) (flag: bool) =
      let update x2 (acc: *intrinsics.acc ([n]i32)) x3 =
        let _ = if flag then n else n / 0
        in intrinsics.acc_write acc (i64.i32 x2) x3
      in map (\\x2 -> intrinsics.hist_stream (copy xs) (*) 1i32 (update x2) zs) xs"""
    core = stages.to_core(stages.check(Source("nest.fut", text)))
    assert any(isinstance(node, AtLeast) for node in walk(stages.to_kernels(core)))


def test_windows_that_are_clamped_at_edges_are_folded_by_threads() -> None:
    def window(index: str) -> str:
        return f"""entry main [n][k] (x: [n]f32) (f: [k]f32) =
          tabulate n (\\i -> f32.sum (tabulate k (\\j -> f[j] * x[{index}])))"""

    clamped = window("i64.max 0 (i64.min (n - 1) (i + j - k / 2))")
    apart = window("i64.max 0 (i64.min (n - 1) (i * k + j))")
    for text, wanted in ((clamped, defaults.CPU_SHARED_ROWS), (apart, NEVER)):
        core = stages.to_core(stages.check(Source("nest.fut", text)))
        program = stages.to_kernels(core)
        found = [n.threshold for n in walk(program) if isinstance(n, AtLeast)]
        assert dict(found[0].defaults)["cpu"] == wanted


@pytest.mark.parametrize("after", ["", "f32.sqrt"])
def test_points_that_share_what_they_fold_do_not_count_in_rows_without_vectors(
    after: str,
) -> None:
    nearest = "f32.minimum (map2 (\\k d -> f32.abs (f32.i64 (j - k)) + d) (iota k) row)"
    text = f"""entry main [n][k] (a: [n][k]f32) (m: i64) =
      map (\\row -> tabulate m (\\j -> {after} ({nearest}))) a"""
    (points,) = outer_points(text)
    for m, counted in ((0, 0), (1, 0), (15, 0), (16, 16000), (31, 31000)):
        sizes = {"n": 1000, "k": 7, "m": m}
        values = {name: sizes[name.base] for name in points.names()}
        assert points.evaluate(values) == counted


def test_points_that_fold_rows_which_they_make_by_loops_count() -> None:
    text = """entry main [n][k] (a: [n][k]i32) =
      map (\\row -> let d = loop d = replicate k 9 for j in 1..<k do
                              d with [j] = i32.min d[j] (d[j - 1] + row[j])
                    in i32.minimum d) a"""
    (points,) = outer_points(text)
    assert points.evaluate(dict.fromkeys(points.names(), 1000)) == 1000
