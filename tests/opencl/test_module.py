"""The text of generated modules: readable, complete, and free of the compiler."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source, UsageError
from minifut.generated_module import generated_program
from minifut.ir.parser import parse_program
from minifut.names import Name
from minifut.opencl.c_expressions import Names
from tests.opencl.device_programs import entry, load_text
from tests.opencl.texts import module_text

AXPY = (
    entry(1, "f32 []f32", "[]f32")
    + """
fun main (n: i64, a: f32, xs: [n]f32) -> (r: [n]f32) {
  let r: [n]f32 = segmap grid (i < n) -> (f32) {
    let x: f32 = xs[i]
    let y: f32 = mul_f32(a, x)
    return returns y
  }
  return r
}
"""
)

VERSIONS = (
    entry(1, "[]f32", "[]f32 i64")
    + """
fun main (n: i64, xs: [n]f32) -> (r: [n]f32, w: i64) {
  let many: bool = at_least(n, "main.map" "threshold" ("cpu" = 4, "gpu" = 1000))
  let w: i64 = get_parameter("main.width" "tile_size" ("cpu" = 8, "gpu" = 16) bounds 1 64 guards "v")
  let r: [n]f32 = if many then {xs} else {
    let ys: [n]f32 = replicate([n], 0f32)
    return ys
  }
  return r, w
}
"""
)


def test_a_kernel_reads_like_written_by_hand() -> None:
    text = module_text(parse_program(AXPY), schedule="cpu")
    assert "lanes[l] = y;" in text
    vector = "*(__private const loose_float8 *)(lanes + 8L)"
    place = "(__global float8 *)(r + (block + 8L))"
    assert f"STREAM((float8)(({vector})), {place});" in text
    assert "r[i] = y;" in text
    assert "float x = xs[i];" in text
    assert "__global const float *restrict xs" in text
    assert "__global float *restrict r" in text


def test_helpers_appear_only_where_used() -> None:
    text = module_text(parse_program(AXPY), schedule="gpu")
    assert "div_" not in text and "static" not in text


def test_names_are_readable_and_never_words_of_the_language() -> None:
    names = Names({"float"}.__contains__)
    made = [names.text(Name(base, tag)) for tag, base in enumerate(
        ("x", "x", "float", "x'", "2d", ""))]  # fmt: skip
    assert made == ["x", "x_1", "float_1", "x_2", "x2d", "x_3"]
    assert names.text(Name("x", 1)) == "x_1"


@pytest.mark.device
def test_a_module_on_disk_runs_without_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "axpy.py"
    path.write_text(module_text(parse_program(AXPY), schedule=None, name="axpy"))
    program = (
        "import sys, numpy as np, axpy\n"
        "for program in (axpy.program, axpy.program.cpu, axpy.program.gpu):\n"
        "    instance = program.load()\n"
        "    print(instance.main(np.float32(2), np.arange(4, dtype=np.float32)))\n"
        "print([m for m in sys.modules if m.startswith(('minifut.ir', "
        "'minifut.lowering', 'minifut.frontend', 'lark'))])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["[0. 2. 4. 6.]"] * 3 + ["[]"]


@pytest.mark.device
def test_a_module_opens_with_how_it_is_used() -> None:
    name = 'we"""ird\\'
    text = module_text(parse_program(AXPY), schedule=None, name=name)
    opening = ast.get_docstring(ast.parse(text)) or ""
    assert "program.load()" in opening and "loaded.main(" in opening
    result = load_text(text).main(np.float32(2), np.arange(3, dtype=np.float32))
    assert result.tolist() == [0, 2, 4]


@pytest.mark.device
def test_parameters_choose_versions_without_new_text() -> None:
    text = module_text(parse_program(VERSIONS), schedule="cpu")
    xs = np.arange(1, 6, dtype=np.float32)
    plain = load_text(text).main(xs)
    assert plain[0].tolist() == xs.tolist() and plain[1] == 8
    chosen = load_text(text, {"main.map": 6, "main.width": 32}).main(xs)
    assert chosen[0].tolist() == [0] * 5 and chosen[1] == 32
    with pytest.raises(UsageError, match=r"main\.map"):
        load_text(text, {"main.mpa": 6})


CONSTANTS = (
    entry(1, "[]i32", "[]i32")
    + """
constants {
  let c: i32 = add_i32(40i32, 2i32)
  let k: i64 = 3i64
  let table: [k]i32 = replicate([k], c)
}
fun main (n: i64, xs: [n]i32) -> (r: [n]i32) {
  let r: [n]i32 = segmap grid (i < n) -> (i32) {
    let x: i32 = xs[i]
    let at: i64 = mod_i64(i, k)
    let t: i32 = table[at]
    let y: i32 = add_i32(x, t)
    return returns y
  }
  return r
}
"""
)


@pytest.mark.device
def test_constants_are_evaluated_once_and_seen_by_functions() -> None:
    instance = load_text(module_text(parse_program(CONSTANTS), schedule="cpu"))
    xs = np.arange(5, dtype=np.int32)
    for _ in range(2):
        np.testing.assert_array_equal(instance.main(xs), xs + 42)


@pytest.mark.device
def test_a_program_that_is_to_be_loaded_prints_in_a_line_and_helps() -> None:
    """The comment above an entry point is what `help` shows, as in `minifut.compile`."""
    text = '-- | Sums, "as" \\\\ is.\nentry rows [n][m] (x: [n][m]f32): [n]f32 = map f32.sum x'
    core = stages.to_core(stages.check(Source("rows.fut", text)))
    about = {"rows": 'Sums, "as" \\ is.'}
    module = stages.to_host_module(stages.to_kernels(core), None, "rows", about)
    program = generated_program(module)
    assert repr(program) == "<minifut program that is to be loaded: rows>"
    assert repr(program.cpu) == repr(program)
    rows = program.load().rows
    assert rows.__doc__ == f"{about['rows']}\n\nentry rows (x: [n][m]f32): [n]f32"
    assert repr(rows) == "<entry rows (x: [n][m]f32): [n]f32>"
    assert inspect.signature(rows).return_annotation == "[n]f32"


def test_an_entry_point_with_the_name_of_a_keyword_is_shown_as_it_is_called() -> None:
    core = stages.to_core(
        stages.check(Source("k.fut", "entry lambda (x: i32) = x + 1"))
    )
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "k")
    assert 'loaded.entry("lambda")(x)' in module
