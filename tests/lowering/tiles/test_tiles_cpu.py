"""Register tiles under the CPU schedule: variants of the tiled product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minifut.errors import ProgramError
from minifut.ir.core import Program
from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.parser import parse_program
from minifut.ir.verify import verify
from tests.opencl.device_programs import load
from tests.opencl.texts import module_text

pytestmark = [pytest.mark.device, pytest.mark.optimised]

PRINTED = Path(__file__).parents[2] / "ir" / "printed"
TILED = (PRINTED / "tiled_matmul.ir").read_text()
STEM = "main.map_map_redomap."
NAMES = (
    "block_rows",
    "block_columns",
    "block_depth",
    "register_rows",
    "register_columns",
)
FULL_NAMES = [STEM + name for name in NAMES]
LARGEST = (9, 20, 70)
SHAPES = [(5, 7, 9), LARGEST, (1, 1, 1), (3, 0, 4)]
OPTIMISED = (2, 1, 18, 2, 32)
"""the sizes that are built as users do, for the largest shape: several vectors in a row
of registers"""
SIZES = [(2, 2, 3, 2, 3), (1, 2, 20, 3, 16), OPTIMISED, (3, 2, 4, 1, 8)]


def loaded(program: Program, sizes: tuple[int, ...], optimised: bool = False) -> Any:
    """The program on the device with tiles of these sizes."""
    return load(program, "cpu", parameters(sizes), optimised)


def parameters(sizes: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(FULL_NAMES, sizes, strict=True))


def interpreted(program: Program, shape: tuple[int, ...], given: Any) -> Any:
    """What the interpreter gives: with one tile, for which it takes half as long as for
    many."""
    n, m, p = (max(size, 1) for size in shape)
    copies = [np.copy(a) for a in given]
    return run(program, "main", copies, parameters((1, 1, m, n, p)))[0]


def check(text: str, make: Any) -> None:
    """The device gives with tiles of all sizes what the interpreter gives, for several
    shapes."""
    program = parse_program(text)
    verify(program, KERNELS)
    cases = {shape: make(*shape) for shape in SHAPES}
    wanted = {
        shape: interpreted(program, shape, given) for shape, given in cases.items()
    }
    for sizes in SIZES:
        fast = loaded(program, sizes)
        best = loaded(program, sizes, optimised=True) if sizes == OPTIMISED else fast
        for shape, given in cases.items():
            result = (best if shape == LARGEST else fast).main(*given)
            np.testing.assert_array_equal(result, wanted[shape], str(sizes))


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(1).integers(-4, 5, shape).astype(dtype)


def product(dtype: Any) -> Any:
    return lambda n, m, p: (numbers(n, m, dtype=dtype), numbers(m, p, dtype=dtype))


@pytest.mark.parametrize("name", ["f64", "i32", "i8", "u16"])
def test_elements_of_other_types(name: str) -> None:
    dtype = np.dtype(f"{name[0]}{int(name[1:]) // 8}")
    text = TILED.replace("f32", name)
    check(text, product(dtype))


@pytest.mark.parametrize("turned", ["a", "b", "ab"])
def test_operands_that_lie_the_other_way_round(turned: str) -> None:
    text = TILED
    for name, (first, second) in {"a": "nm", "b": "mp"}.items():
        if name in turned:
            text = text.replace(f", {name}: [{first}]", f", {name}_t: [{second}]")
            text = text.replace(f"_t: [{second}][{second}]", f"_t: [{second}][{first}]")
            view = f"  let {name}: [{first}][{second}]f32 = "
            view += f"rearrange((1, 0), {name}_t)\n"
            text = text.replace("  let c: [n][p]", view + "  let c: [n][p]")

    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        a, b = numbers(n, m), numbers(m, p)
        left = np.ascontiguousarray(a.T) if "a" in turned else a
        return left, np.ascontiguousarray(b.T) if "b" in turned else b

    check(text, make)


LEAST = (
    TILED.replace("mul_f32(u, v)", "add_f32(u, v)")
    .replace("add_f32(s, w)", "min_f32(s, w)")
    .replace("returns 0f32", "returns 1000f32")
)


def test_minima_pass_over_what_is_not_a_number() -> None:
    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        a, b = numbers(n, m), numbers(m, p)
        a[a == 3], b[b == -4] = np.nan, np.nan
        return a, b

    check(LEAST, make)


FINISHED = TILED.replace(
    "    return regtile acc of",
    """\
    let done: [ty][tx][ry][rx]f32 = segmap thread (y_2 < ty, x_2 < tx) -> ([ry][rx]f32) {
      let tile: [ry][rx]f32 = segmap register (i_2 < ry, j_2 < rx) -> (f32) {
        let sum: f32 = acc[y_2, x_2, i_2, j_2]
        let i_3: i64 = size(min(row + y_2 * ry + i_2, n - 1))
        let j_3: i64 = size(min(column + x_2 * rx + j_2, p - 1))
        let old: f32 = d[i_3, j_3]
        let twice: f32 = mul_f32(2f32, sum)
        let both: f32 = add_f32(twice, old)
        return returns both
      }
      return returns tile
    }
    return regtile done of""",
)
FINISHED = FINISHED.replace("b: [m][p]f32)", "b: [m][p]f32, d: [n][p]f32)")
FINISHED = FINISHED.replace('1) -> (""', '1, "d" "[][]f32" "array" 1) -> (""')


@pytest.mark.parametrize("place", [0, 1, 2])
def test_operands_that_are_a_part_of_something(place: int) -> None:
    """A dimension with one index before, between or behind those of the tile."""
    dims, slices = ["m", "p"], ["first :+ tk by 1i64", "column :+ tx * rx by 1i64"]
    dims.insert(place, "3")
    slices.insert(place, "1i64")
    shape = "".join(f"[{d}]" for d in dims)
    text = TILED.replace("b: [m][p]f32", f"b: {shape}f32")
    text = text.replace('"b" "[][]f32"', '"b" "[][][]f32"')
    text = text.replace(
        "collective_copy b[first :+ tk by 1i64, column :+ tx * rx by 1i64]",
        f"collective_copy b[{', '.join(slices)}]",
    )

    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        shape = [m, p]
        shape.insert(place, 3)
        return numbers(n, m), numbers(*shape)

    check(text, make)


def test_what_follows_is_computed_in_the_tile() -> None:
    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        return numbers(n, m), numbers(m, p), numbers(n, p)

    check(FINISHED, make)


def test_operators_that_fail_see_no_padding() -> None:
    """Integer division, checked, as what combines elements."""
    checked = """\
            let good: bool = ne_i32(v, 0i32)
            let () = assert(good, ["by zero"], [])
            let w: i32 = div_i32(u, v)
"""
    text = TILED.replace("f32", "i32")
    text = text.replace("            let w: i32 = mul_i32(u, v)\n", checked)

    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        b = numbers(m, p, dtype=np.int32)
        return 100 * numbers(n, m, dtype=np.int32), np.where(b == 0, 7, b)

    check(text, make)
    for sizes in SIZES:
        instance = loaded(parse_program(text), sizes)
        with pytest.raises(ProgramError, match="by zero"):
            instance.main(np.ones((9, 20), np.int32), np.zeros((20, 70), np.int32))


def test_truth_values_of_mixed_elements() -> None:
    """Elements of i16 and f64, and a logical and over what they give."""
    text = (
        TILED.replace("f32", "bool")
        .replace("a: [n][m]bool", "a: [n][m]i16")
        .replace("b: [m][p]bool", "b: [m][p]f64")
        .replace("as: [ty * ry][tk]bool", "as: [ty * ry][tk]i16")
        .replace("bs: [tk][tx * rx]bool", "bs: [tk][tx * rx]f64")
        .replace("u: bool =", "u: i16 =")
        .replace("v: bool =", "v: f64 =")
        .replace("returns 0bool", "returns true")
        .replace(
            "let w: bool = mul_bool(u, v)",
            "let u_1: f64 = convert_i16_f64(u)\n            let w: bool = lt_f64(u_1, v)",
        )
        .replace("add_bool(s, w)", "and_bool(s, w)")
        .replace(
            '"[][]bool" "array" 1, "b" "[][]bool"', '"[][]i16" "array" 1, "b" "[][]f64"'
        )
    )

    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        return numbers(n, m, dtype=np.int16), numbers(
            m, p, dtype=np.float64
        ) + 8 - m / 4

    check(text, make)


def test_branches_and_halves() -> None:
    """Only products of positive numbers count, and elements are rounded to f16."""
    branch = """\
            let good: bool = lt_f16(0f16, v)
            let w: f16 = if good then {
              let z_1: f16 = mul_f16(u, v)
              return z_1
            } else {0f16}
"""
    text = TILED.replace("f32", "f16")
    text = text.replace("            let w: f16 = mul_f16(u, v)\n", branch)
    check(text, product(np.float16))


def test_sums_live_in_the_result() -> None:
    for text in (TILED, FINISHED):
        module = module_text(parse_program(text), schedule="cpu")
        host = module[module.index("def main(") : module.index("program_cpu")]
        assert host.count("run.local(") == 1  # only one operand is copied


@pytest.mark.parametrize("turned", [False, True])
def test_rows_are_read_where_they_lie(turned: bool) -> None:
    """A copy is made only of what has another order."""
    text = TILED
    if turned:
        text = text.replace(", a: [n][m]f32", ", at: [m][n]f32")
        view = "  let a: [n][m]f32 = rearrange((1, 0), at)\n"
        text = text.replace("  let c: [n][p]", view + "  let c: [n][p]")
    host = module_text(parse_program(text), schedule="cpu")
    assert host.count("run.local(") == (2 if turned else 1)


@pytest.mark.parametrize("shape", [(1, 40, 1), (2, 40, 3), (4, 33, 4), (5, 9, 16),
                                   (16, 40, 8), (17, 40, 33), (3, 40, 31),
                                   (9, 40, 33), (12, 5, 8)])  # fmt: skip
def test_register_tiles_are_no_larger_than_the_result(
    shape: tuple[int, int, int],
) -> None:
    instance = loaded(parse_program(TILED), (2, 2, 16, 8, 32))
    n, m, p = shape
    a, b = numbers(n, m), numbers(m, p)
    np.testing.assert_array_equal(instance.main(a, b), a @ b)
    (launcher,) = instance.run.kernels
    (sizes,) = launcher._built
    chosen = dict(zip(launcher.kernel.per_launch, sizes, strict=True))
    rows, columns = chosen["REGISTER_ROWS"], chosen["REGISTER_COLUMNS"]
    assert 32 % columns == 0
    assert columns == 32 or p <= columns < 2 * p
    assert rows == 8 or (rows <= 6 and -(-n // rows) == -(-n // 8))


LAST = TILED.replace("b: [m][p]f32)", "bs_2: [m][p][2]f32)").replace(
    '"b" "[][]f32"', '"bs_2" "[][][]f32"'
)
LAST = LAST.replace(
    "  let c: [n][p]",
    "  let bs_3: [2][m][p]f32 = rearrange((2, 0, 1), bs_2)\n"
    "  let b: [m][p]f32 = bs_3[1i64]\n"
    "  let c: [n][p]",
)


def test_operands_whose_elements_are_apart() -> None:
    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        return numbers(n, m), numbers(m, p, 2)

    check(LAST, make)
