"""Programs that bring out the kinds of kernels of the GPU schedule, with small inputs.

Sizes are whole numbers of tiles and of warps where a case is about full tiles; they are
small, since simulation takes about 10,000 times as long as a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = tuple[Any, ...]
NEVER = 1 << 62
FAMILIES = ("sm_80", "sm_90", "gfx90a")
PRODUCT = "main.map_map_redomap"
TILED = {f"{PRODUCT}.tiled": 0, f"{PRODUCT}.split": NEVER}
UNTILED = {"main.map_reduce.outer": 0, f"{PRODUCT}.tiled": NEVER}


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its input, parameters, and limits that its kernels must keep.

    `hot`: kernels (a pattern of the end of their name) whose loads must be free of bank
    conflicts and coalesced. `atomic_conflict`: the most wavefronts of an atomic in
    local memory.
    `cores`: compute units of the device that Oclgrind poses as. `families`: the
    architectures whose limits hold, where tiles are those of some of them alone.
    `stores`: the least part of sectors that hot stores use; none are hot where a group
    stores but a value. `traffic`: the most bytes that a hot kernel moves over those of
    its input. `in_parts`: hot kernels are predicted by all that they do, not by a loop.
    """

    name: str
    program: str
    arguments: Callable[[np.random.Generator], Arrays]
    entry: str = "main"
    parameters: Mapping[str, int] = field(default_factory=dict)
    hot: str = ""
    is_product: bool = False
    atomic_conflict: float = 32.0
    cores: int = 1
    families: tuple[str, ...] = FAMILIES
    stores: float = 0.95
    traffic: float = math.inf
    in_parts: bool = False


def product_text(type_: str) -> str:
    return (
        f"entry main [n][m][k] (a: [n][k]{type_}) (b: [k][m]{type_}): [n][m]{type_} =\n"
        "  map (\\row -> map (\\column -> reduce (+) 0 (map2 (*) row column))"
        " (transpose b)) a"
    )


BATCHED = """\
entry main [b][n][m][p] (xs: [b][n][m]f32) (ys: [b][m][p]f32): [b][n][p]f32 =
  map2 (\\x y -> map (\\row -> map (\\column -> reduce (+) 0 (map2 (*) row column))
    (transpose y)) x) xs ys
"""
TRANSPOSE = "entry main [n][m] (a: [n][m]f32): [m][n]f32 = copy (transpose a)"
REDUCE = "entry main [n] (a: [n]f32): f32 = reduce (+) 0 a"
LARGEST = """\
def more (x, i) (y, j) =
  if x > y || (x == y && i < j) then (x, i) else (y: f32, j: i64)
entry main [n] (a: [n]f32): (f32, i64) =
  reduce more (f32.lowest, i64.highest) (zip a (iota n))
"""
AFFINE = """\
def after (a, b) (c, d) = (a * c, b * c + d : i32)
entry main [n] (a: [n]i32) (b: [n]i32): (i32, i32) = reduce after (1, 0) (zip a b)
"""
ROW_SUMS = "entry main [n][m] (a: [n][m]f32): [n]f32 = map (reduce (+) 0) a"
SCAN = "entry main [n] (a: [n]i32): [n]i32 = scan (+) 0 a"
ROW_SCANS = "entry main [n][m] (a: [n][m]i32): [n][m]i32 = map (scan (+) 0) a"
COUNTS = (
    "entry main [n] (k: i64) (is: [n]i64): [k]i32 = hist (+) 0 k is (replicate n 1)"
)
SUMS = "entry main [n] (k: i64) (is: [n]i64) (vs: [n]f32): [k]f32 = hist (+) 0 k is vs"
VECTOR_SUMS = """\
entry main [n][d] (k: i64) (is: [n]i64) (vs: [n][d]f32): [k][d]f32 =
  hist (map2 (+)) (replicate d 0) k is vs
"""
LARGEST_ROWS = """\
entry main [n][d] (k: i64) (is: [n]i64) (vs: [n][d]f32): [k][d]f32 =
  hist (\\a b -> if a[0] >= b[0] then a else b) (replicate d f32.lowest) k is vs
"""
BODIES = """\
entry main [n] (xs: [n]f32) (ys: [n]f32) (zs: [n]f32) (ms: [n]f32) =
  let force x y z px py pz m =
    let (dx, dy, dz) = (px - x, py - y, pz - z)
    let square = dx * dx + dy * dy + dz * dz + 0.01f32
    let scale = m / f32.sqrt (square * square * square)
    in (dx * scale, dy * scale, dz * scale)
  let plus (a, b, c) (d, e, f) = (a + d, b + e, c + f)
  in unzip3 (map3 (\\x y z ->
       reduce_comm plus (0, 0, 0) (map4 (force x y z) xs ys zs ms)) xs ys zs)
"""
STENCIL = """\
entry main [n][m] (a: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\\i j ->
    let c = a[i, j]
    let u = if i > 0 then a[i - 1, j] else c
    let d = if i < n - 1 then a[i + 1, j] else c
    let l = if j > 0 then a[i, j - 1] else c
    let r = if j < m - 1 then a[i, j + 1] else c
    in c + 0.1f32 * (u + d + l + r - 4 * c))
"""
BACKWARD = """\
entry main [n][m] (a: [n][m]f32): [m][n]f32 =
  map (\\j -> scan (+) 0 (map (\\k -> #[unsafe] a[n - k - 1, j]) (iota n))) (iota m)
"""


def _floats(*shapes: tuple[int, ...], type_: str = "f4") -> Callable[..., Arrays]:
    return lambda random: tuple(random.random(s).astype(type_) for s in shapes)


def _registers(
    rows: int, columns: int, depth: int, threads: int = 16
) -> dict[str, int]:
    return {
        **TILED,
        f"{PRODUCT}.block_rows": threads,
        f"{PRODUCT}.register_rows": rows,
        f"{PRODUCT}.register_columns": columns,
        f"{PRODUCT}.block_depth": depth,
    }


def _product_case(
    name: str,
    parameters: Mapping[str, int],
    sizes: tuple[int, int, int] = (128, 48, 128),
    type_: str = "f32",
    hot: str = "groups",
    families: tuple[str, ...] = FAMILIES,
) -> Case:
    n, k, m = sizes
    data = _floats((n, k), (k, m), type_={"f32": "f4", "f64": "f8"}[type_])
    return Case(
        name,
        product_text(type_),
        data,
        parameters=parameters,
        hot=hot,
        is_product=True,
        families=families,
    )


NOT_SM_90 = ("sm_80", "gfx90a")

CASES = (
    _product_case("product_f32", TILED),
    _product_case("product_f64", TILED, type_="f64", families=NOT_SM_90),
    _product_case("product_4x4", _registers(4, 4, 16)),
    _product_case("product_8x4", _registers(8, 4, 8)),
    _product_case("product_8x8", _registers(8, 8, 8)),
    _product_case(
        "product_8x4_f64", _registers(8, 4, 8), type_="f64", families=NOT_SM_90
    ),
    _product_case(
        "product_f64_sm_90",
        _registers(8, 8, 8, threads=8),
        type_="f64",
        families=("sm_90",),
    ),
    _product_case("product_4x4_f64", _registers(4, 4, 8), type_="f64"),
    _product_case("product_edge", _registers(8, 8, 8), (130, 50, 135), hot=""),
    _product_case("product_rows", UNTILED, (32, 48, 64), hot=""),
    _product_case(
        "product_split",
        {f"{PRODUCT}.tiled": 0, f"{PRODUCT}.split": 0, f"{PRODUCT}.split_depth": 64},
        (128, 128, 128),
    ),
    Case(
        "batched",
        BATCHED,
        _floats((2, 128, 48), (2, 48, 128)),
        hot="groups",
        is_product=True,
    ),
    Case("transpose", TRANSPOSE, _floats((96, 128)), hot="transpose"),
    Case("reduce", REDUCE, _floats((1 << 14,)), hot="reduce", stores=0),
    Case(
        "largest",
        LARGEST,
        _floats((1 << 13,)),
        hot="reduce",
        stores=0,
        in_parts=True,
    ),
    Case(
        "affine",
        AFFINE,
        lambda random: tuple(random.integers(0, 9, (2, 1 << 13), "i4")),
        hot="reduce",
        stores=0,
        in_parts=True,
    ),
    Case("row_sums_few", ROW_SUMS, _floats((4, 4096)), hot="reduce", cores=4, stores=0),
    Case(
        "row_sums_short",
        ROW_SUMS,
        _floats((256, 16)),
        parameters={"main.map_reduce.outer": NEVER},
        hot="reduce",
        stores=0,
    ),
    Case(
        "row_sums_many",
        ROW_SUMS,
        _floats((512, 16)),
        parameters={"main.map_reduce.outer": 0},
    ),
    Case(
        "scan",
        SCAN,
        lambda random: (np.ones(1 << 14, "i4"),),
        hot="scan",
        in_parts=True,
    ),
    Case(
        "scan_one_pass",
        SCAN,
        lambda random: (np.ones(8 * 15 * 256, "i4"),),
        parameters={"gpu.scan.look_back": 1},
        hot="scan_look_back",
        traffic=2.2,
        in_parts=True,
    ),
    Case("row_scans", ROW_SCANS, lambda random: (np.ones((64, 128), "i4"),)),
    Case(
        "histogram",
        COUNTS,
        lambda random: (64, random.integers(0, 64, 1 << 13)),
    ),
    Case(
        "histogram_large",
        COUNTS,
        lambda random: (1 << 16, random.integers(0, 1 << 16, 1 << 10)),
    ),
    Case(
        "histogram_one_bin",
        COUNTS,
        lambda random: (64, np.zeros(1 << 12, "i8")),
        atomic_conflict=4.0,
    ),
    Case(
        "histogram_f32",
        SUMS,
        lambda random: (
            64,
            random.integers(0, 64, 1 << 12),
            random.random(1 << 12).astype("f4"),
        ),
    ),
    Case(
        "histogram_rows",
        VECTOR_SUMS,
        lambda random: (
            16,
            random.integers(0, 16, 512),
            random.random((512, 8)).astype("f4"),
        ),
        hot="hist_local",
    ),
    Case(
        "histogram_largest_rows",
        LARGEST_ROWS,
        lambda random: (
            4,
            random.integers(0, 4, 512),
            random.random((512, 32)).astype("f4"),
        ),
    ),
    Case("bodies", BODIES, _floats((256,), (256,), (256,), (256,))),
    Case("stencil", STENCIL, _floats((32, 256))),
    Case("backward_scans", BACKWARD, _floats((64, 128)), hot="scan|transpose"),
)
