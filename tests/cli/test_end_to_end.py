"""The whole way from a file to results, by both backends."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import minifut
from minifut.cli import main

PROGRAM = """-- ==
-- entry: dot
-- input { [1f32, 2f32] [3f32, 4f32] } output { 11f32 }
-- random input { [100]f32 [100]f32 } auto output
-- input { [1f32] [1f32, 2f32] } error:

-- ==
-- entry: halve
-- input { [7, 8] 2 } output { [3, 4] 1 }
-- input { [7, 8] 0 } error: division by zero
-- "made" script input { (twice [1, 2], 2) } output { [1, 2] 1 }

entry dot [n] (xs: [n]f32) (ys: [n]f32) = reduce (+) 0 (map2 (*) xs ys)
entry halve [n] (xs: [n]i32) (d: i32) = (map (/ d) xs, 2 / d)
entry twice [n] (xs: [n]i32) = map (* 2) xs
"""

BACKENDS = [
    "interpreter",
    pytest.param("opencl", marks=pytest.mark.device),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.fut"
    path.write_text(PROGRAM)
    return path


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_program_passes_its_tests(file: Path, backend: str) -> None:
    result = invoke("test", file, "--backend", backend)
    assert "1 passed, 0 failed" in result.output
    assert result.exit_code == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrong_expectation_fails(file: Path, backend: str) -> None:
    file.write_text(PROGRAM.replace("output { 11f32 }", "output { 12f32 }"))
    result = invoke("test", file.parent, "--backend", backend)
    assert "12.0f32 expected, got 11.0f32" in result.output
    assert "0 passed, 1 failed" in result.output
    assert result.exit_code == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_run(file: Path, backend: str) -> None:
    result = invoke(
        "run", file, "-e", "halve", "[-7, 8]", "-2i32", "--backend", backend
    )
    assert (result.exit_code, result.output) == (0, "[3i32, -4i32]\n-1i32\n")
    result = invoke("run", file, "-e", "halve", "[7]", "0", "--backend", backend)
    assert result.exit_code == 1
    assert "division by zero" in result.stderr and "program.fut:" in result.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_python(file: Path, backend: str) -> None:
    program = minifut.compile(file, backend=backend)
    assert list(program.entries) == ["dot", "halve", "twice"]
    xs = np.arange(5, dtype=np.float32)
    assert program.dot(xs, xs) == 30
    halves, number = program.halve(np.array([4, 6], np.int32), np.int32(2))
    assert halves.tolist() == [2, 3] and number == 1
    with pytest.raises(minifut.UsageError, match="did you mean 'dot'"):
        program.entry("dott")
    with pytest.raises(minifut.UsageError, match="xs"):
        program.dot(xs.astype(np.float64), xs)
    with pytest.raises(minifut.UsageError, match="2 arguments expected"):
        program.dot(xs)
    with pytest.raises((minifut.UsageError, minifut.ProgramError)):
        program.dot(xs, xs[1:])
    assert program.dot(xs, xs) == 30


def test_wrong_programs_are_located(file: Path) -> None:
    file.write_text("entry main (x: i32) = x +\n  y")
    for command in ("check", "run", "compile", "dev"):
        result = invoke(command, file)
        assert result.exit_code == 2
        assert f"{file}:2:3: error:" in result.stderr and "^" in result.stderr
    with pytest.raises(minifut.CompileError):
        minifut.compile(file.read_text())


def test_dev_shows_the_core_and_reads_it_back(file: Path, tmp_path: Path) -> None:
    core = invoke("dev", file, "--core", "-e", "dot")
    assert core.exit_code == 0 and "halve" not in core.output
    printed = tmp_path / "core.ir"
    printed.write_text(core.output)
    assert invoke("dev", printed, "--core").output == core.output
    first = invoke("dev", "--list-passes").output.split()[0]
    assert invoke("dev", printed, "--pass", first).exit_code == 0
    dumped = invoke("dev", file, "--dump-after", "all", "--time")
    assert f"-- after {first}" in dumped.output and " ms " in dumped.stderr
    wrong = invoke("dev", file, "-e", "dott")
    assert wrong.exit_code == 2 and "did you mean 'dot'" in wrong.stderr


@pytest.mark.device
@pytest.mark.parametrize("options", [[], ["--schedule", "gpu"]])
def test_a_compiled_module_does_without_the_compiler(
    file: Path, options: list[str]
) -> None:
    assert invoke("compile", file, *options).exit_code == 0
    use = (
        "import sys, numpy as np, program\n"
        "xs = np.ones(3, np.float32)\n"
        "print(program.program.load().dot(xs, xs))\n"
        "print(*[m for m in sys.modules if m.startswith('minifut.')"
        " and m.split('.')[1] in ('frontend', 'ir', 'passes', 'lowering')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", use],
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "3.0\n\n"


STRUCTURED = """
type vec = {x: f32, y: i32}
module m : { type t val make: i32 -> t val get: t -> i32 } =
  { type t = (i32, bool)  def make x = (x, true)  def get (t: t) = t.0 }
entry main (vs: []vec) (k: f32): []vec = map (\\v -> v with x = k * v.x) vs
entry turn (s: #circle f32 | #rect f32 f32): (#circle f32 | #rect f32 f32) =
  match s case #circle r -> #rect r r case #rect a b -> #circle (a * b)
entry make (x: i32): m.t = m.make x
entry get (t: m.t): i32 = m.get t
entry makes [n] (xs: [n]i32): [n]m.t = map m.make xs
entry gets [n] (ts: [n]m.t): [n]i32 = map m.get ts
entry named (n: i32): {n: i32, t: m.t} = {n, t = m.make n}
entry taken (r: {n: i32, t: m.t}): i32 = r.n + m.get r.t
entry some (x: i32): (#some m.t | #none) = #some (m.make x)
entry of_some (s: #some m.t | #none): i32 = match s case #some t -> m.get t case #none -> 0
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_structured_values_are_given_and_shown(tmp_path: Path, backend: str) -> None:
    file = tmp_path / "program.fut"
    file.write_text(STRUCTURED)
    run = ("run", "--backend", backend, file)
    for given, wanted in (
        (
            ("[{x = 1.5, y = 2}, {y = 3, x = 2}]", "2"),
            "[{x = 3.0f32, y = 2i32}, {x = 4.0f32, y = 3i32}]",
        ),
        (("[]", "2"), "[]"),
        (("-e", "turn", "#rect 2 3"), "#circle 6.0f32"),
        (("-e", "turn", "#circle 2f32"), "#rect 2.0f32 2.0f32"),
        (("-e", "make", "7"), "#<m.t 7i32 true>"),
        (("-e", "get", "#<m.t 7i32 true>"), "7i32"),
        (("-e", "makes", "[7, 8]"), "#<[]m.t [7i32, 8i32] [true, true]>"),
        (("-e", "gets", "#<[]m.t [7i32, 8i32] [true, true]>"), "[7i32, 8i32]"),
        (("-e", "named", "7"), "{n = 7i32, t = #<m.t 7i32 true>}"),
        (("-e", "taken", "{t = #<m.t 7i32 true>, n = 1}"), "8i32"),
        (("-e", "some", "7"), "#some #<t 7i32 true>"),
        (("-e", "of_some", "#some #<t 7i32 true>"), "7i32"),
        (("-e", "of_some", "#none"), "0i32"),
    ):
        assert invoke(*run, *given).output == wanted + "\n"
    typed = CliRunner().invoke(main, list(map(str, run)), input="[{x=1,y=2}] 3f32")
    assert typed.output == "[{x = 3.0f32, y = 2i32}]\n"
    for first, then, wanted in (
        (("-e", "make", "7"), ("-e", "get"), "7i32"),
        (("-e", "turn", "#rect 2 3"), ("-e", "turn"), "#rect 6.0f32 6.0f32"),
    ):
        stored = invoke(*run, *first, "-b").stdout_bytes
        again = CliRunner().invoke(main, list(map(str, (*run, *then))), input=stored)
        assert again.output == wanted + "\n"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("-e", "turn", "#oval 1"), "byte 0: one of #circle f32 | #rect f32 f32"),
        (("-e", "turn", "#rect 1 (2"), "byte 10: ')' was expected"),
        (("[{x = 1, z = 2}]", "2"), "byte 9: a field was expected: y"),
        (("-e", "get", "3"), "a value of the type m.t was expected, as a run"),
        (("-e", "get", "#<m.u 7i32 true>"), "a value of the type m.t was expected"),
        (("-e", "get", "#<m.t 7i32>"), "a value was expected, not '>'"),
    ],
)
def test_wrong_structured_values(
    tmp_path: Path, given: tuple[str, ...], words: str
) -> None:
    file = tmp_path / "program.fut"
    file.write_text(STRUCTURED)
    with pytest.raises(minifut.UsageError, match=re.escape(words)):
        invoke_raising("run", "--backend", "interpreter", file, *given)


def invoke_raising(*args: object) -> None:
    """As `invoke`, with an error of minifut's as it is raised."""
    found = invoke(*args)
    assert found.exception is not None
    raise minifut.UsageError(found.output)
