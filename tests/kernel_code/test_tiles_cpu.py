"""Register tiles under the CPU schedule: variants of the tiled product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.parser import parse_program
from minifut.ir.verify import verify
from minifut.opencl.module import module_text
from tests.opencl.device_programs import load

pytestmark = pytest.mark.device

PRINTED = Path(__file__).parent.parent / "ir" / "printed"
TILED = (PRINTED / "tiled_matmul.ir").read_text()
STEM = "main.map_map_redomap."
NAMES = (
    "block_rows",
    "block_columns",
    "block_depth",
    "register_rows",
    "register_columns",
)
SHAPES = [(5, 7, 9), (9, 20, 70), (1, 1, 1), (3, 0, 4)]
SIZES = [(2, 2, 3, 2, 3), (1, 2, 20, 3, 16), (2, 1, 18, 2, 32), (3, 2, 4, 1, 8)]


def check(text: str, make: Any, sizes: tuple[int, ...]) -> None:
    """The device gives what the interpreter gives, for several shapes."""
    program = parse_program(text)
    verify(program, KERNELS)
    values = {STEM + n: v for n, v in zip(NAMES, sizes, strict=True)}
    instance = load(program, "cpu", values)
    for shape in SHAPES:
        given = make(*shape)
        (wanted,) = run(program, "main", [np.copy(a) for a in given], values)
        np.testing.assert_array_equal(instance.main(*given), wanted)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(1).integers(-4, 5, shape).astype(dtype)


def product(dtype: Any) -> Any:
    return lambda n, m, p: (numbers(n, m, dtype=dtype), numbers(m, p, dtype=dtype))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", ["f64", "i32", "i8", "u16"])
def test_elements_of_other_types(name: str, sizes: tuple[int, ...]) -> None:
    dtype = np.dtype(f"{name[0]}{int(name[1:]) // 8}")
    text = TILED.replace("f32", name)
    check(text, product(dtype), sizes)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("turned", ["a", "b", "ab"])
def test_operands_that_lie_the_other_way_round(
    turned: str, sizes: tuple[int, ...]
) -> None:
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

    check(text, make, sizes)


LEAST = (
    TILED.replace("mul_f32(u, v)", "add_f32(u, v)")
    .replace("add_f32(s, w)", "min_f32(s, w)")
    .replace("returns 0f32", "returns 1000f32")
)


@pytest.mark.parametrize("sizes", SIZES)
def test_minima_pass_over_what_is_not_a_number(sizes: tuple[int, ...]) -> None:
    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        a, b = numbers(n, m), numbers(m, p)
        a[a == 3], b[b == -4] = np.nan, np.nan
        return a, b

    check(LEAST, make, sizes)


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


@pytest.mark.parametrize("sizes", SIZES)
def test_what_follows_is_computed_in_the_tile(sizes: tuple[int, ...]) -> None:
    def make(n: int, m: int, p: int) -> tuple[np.ndarray, ...]:
        return numbers(n, m), numbers(m, p), numbers(n, p)

    check(FINISHED, make, sizes)


def test_sums_live_in_the_result() -> None:
    for text in (TILED, FINISHED):
        module = module_text(parse_program(text), schedule="cpu")
        host = module[module.index("def main(") : module.index("program_cpu")]
        assert host.count("run.local(") == 2
