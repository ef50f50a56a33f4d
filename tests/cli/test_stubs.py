"""Stub files: what type checkers say about calls of compiled programs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

from minifut import stages
from minifut.cli.stubs import stub_text
from minifut.errors import Source
from minifut.generated_module import generated_program
from minifut.opencl import runtime

pytest.importorskip("mypy")

SOURCE = """
-- | The sum of products.
entry dot [n] (xs: [n]f32) (ys: [n]f32): f32 = f32.sum (map2 (*) xs ys)
entry count [n] (xs: [n]bool) (limit: i64): (i64, [n]i32) =
  (i64.min limit n, map i32.bool xs)
entry swap (p: (i32, bool)) (r: {a: i32}): ((bool, i32), {a: i32}) = ((p.1, p.0), r)
entry both [n][m] (xss: [n][m]f32): ([m]f32, i64) = (xss[0], n)
entry odd (lambda: i32): i32 = lambda
entry kind (x: i32): i32 = x
entry move [n] (ps: [n]{x: f32, y: f32}): [n]{x: f32, y: f32} = ps
entry grid [n][m] (g: [n][m]{x: f32}): f32 = g[0, 0].x
entry seconds [n] (ps: [n](f32, i32)): [n]i32 = map (.1) ps
entry tags [n] (s: [n](#a f32 | #b)): i64 = n
module m: { type t val start: i32 -> t val next: t -> i32 } =
  { type t = {v: i32} def start x: t = {v = x} def next (t: t) = t.v + 1 }
entry start (x: i32): m.t = m.start x
entry next (t: m.t): i32 = m.next t
"""
CALLS = {
    "loaded.dot(xs, ys)": "",
    "loaded.dot(xs, ys=ys, device=True)": "",
    "loaded.count(flags, 3)[1].sum()": "",
    "loaded.swap((np.int32(1), True), {'a': 2})": "",
    "loaded.odd(3)": "",
    "loaded.dot([1, 2.5, 3], range(3))": "",
    "loaded.count([True], 3)": "",
    "loaded.both([[1, 2], (3, 4)])[0].mean()": "",
    "loaded.both(grid, device=True)[0].get()": "",
    "len(loaded.both(loaded.both(grid, device=True)[0])[0])": "",
    "loaded.dot(loaded.to_device(xs), ys)": "",
    "loaded.to_device(grid).shape[0] + len(loaded.kind)": "",
    "loaded.entry('kind')(3)": "",
    "loaded.set_parameters({p.name: 1 for p in program.parameters})": "",
    "loaded.move({'x': xs, 'y': ys}, device=True)['x']": "",
    "loaded.move(loaded.move([{'x': 1, 'y': 2}, Point(1, 2)])).fields": "",
    "loaded.move(np.zeros(3, [('x', 'f4'), ('y', 'f4')]))": "",
    "loaded.grid({'x': grid})": "",
    "loaded.grid([[{'x': 1}], [{'x': 2}]])": "",
    "loaded.seconds((xs, [1, 2, 3]))": "",
    "loaded.seconds([(1.5, 2), (3, 4)])": "",
    "loaded.tags([Variant('a', 1.5), Variant('b')])": "",
    "loaded.next(loaded.start(3))": "",
    "loaded.move(3.5)": 'Argument 1 to "move"',
    "loaded.move(xs)": 'Argument 1 to "move"',
    "loaded.move([1, 2])": "List item 0",
    "loaded.seconds([(1, 2, 3)])": "List item 0",
    "loaded.seconds((xs, ys, xs))": 'Argument 1 to "seconds"',
    "loaded.tags(Variant('b'))": 'Argument 1 to "tags"',
    "loaded.tags(['b'])": "List item 0",
    "loaded.next(3)": 'Argument 1 to "next"',
    "loaded.kind(3)": '"str" not callable',
    "loaded.to_device('abc')": 'Argument 1 to "to_device"',
    "loaded.both(grid)[0].get()": 'has no attribute "get"',
    "loaded.both(grid, device=True)[0].mean()": 'has no attribute "mean"',
    "loaded.dot('abc', ys)": 'Argument 1 to "dot"',
    "loaded.dot([[1.0]], ys)": "List item 0",
    "loaded.dot(xs)": 'Missing positional argument "ys"',
    "loaded.dot(xs, wide)": 'Argument 2 to "dot"',
    "loaded.dot(xs, 3)": 'Argument 2 to "dot"',
    "loaded.count(flags, 1.5)": 'No overload variant of "count"',
    "loaded.swap((1, 'x'), {})": 'Argument 1 to "swap"',
    "loaded.dots(xs, ys)": 'has no attribute "dots"',
    "loaded.dot(xs, zs=ys)": "Unexpected keyword argument",
}
PRELUDE = """\
from dataclasses import dataclass
import numpy as np
from minifut import Variant
from prog import program
@dataclass
class Point:
    x: float
    y: float
xs = np.zeros(3, np.float32)
ys = np.zeros(3, np.float32)
wide = np.zeros(3, np.float64)
grid = np.zeros((2, 3), np.float32)
flags = np.zeros(3, np.bool_)
loaded = program.load()
"""


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says about each call, in order; empty for nothing."""
    folder = tmp_path_factory.mktemp("stubs")
    checked = stages.check(Source("prog.fut", SOURCE))
    core = stages.to_core(checked)
    text = stub_text(core, stages.documentation_of(checked))
    (folder / "prog.pyi").write_text(text)
    (folder / "use.py").write_text(PRELUDE + "\n".join(CALLS) + "\n")
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--strict", "use.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert "prog.pyi" not in done.stdout, done.stdout
    found = [""] * len(CALLS)
    first = PRELUDE.count("\n") + 1
    for line in done.stdout.splitlines():
        if line.startswith("use.py:") and ": error:" in line:
            found[int(line.split(":")[1]) - first] += line
    return found


@pytest.mark.parametrize("number", range(len(CALLS)), ids=list(CALLS))
def test_wrong_calls_are_errors(messages: list[str], number: int) -> None:
    wanted = list(CALLS.values())[number]
    assert wanted in messages[number]
    assert bool(wanted) == bool(messages[number]), messages[number]


def test_documentation_is_kept() -> None:
    checked = stages.check(Source("prog.fut", SOURCE))
    text = stub_text(stages.to_core(checked), stages.documentation_of(checked))
    compile(text, "prog.pyi", "exec")
    assert "The sum of products." in text


@pytest.mark.device
def test_stubs_have_what_programs_have() -> None:
    """Every public attribute of a generated, and of a loaded program; entry points are
    methods."""
    checked = stages.check(Source("prog.fut", SOURCE))
    core = stages.to_core(checked)
    classes = {
        node.name: {
            child.name if isinstance(child, ast.FunctionDef) else ast.unparse(child)
            for child in node.body
        }
        for node in ast.parse(stub_text(core, {})).body
        if isinstance(node, ast.ClassDef)
    }
    known = {n: {m.partition(":")[0] for m in own} for n, own in classes.items()}
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "prog")
    program = generated_program(text)
    both = public(program) & public(runtime.Schedules(program, program))
    assert public(program) >= known["Generated"] >= both
    loaded = program.load()
    assert public(loaded) <= known["Loaded"]
    assert known["Loaded"] - public(loaded) <= {"__doc__", "'The program on a device.'"}
    for name in ("dot", "count"):
        assert public(getattr(loaded, name)) == {"name"}  # `__name__` of a method
        assert name in known["Loaded"]
    assert inspect.signature(program.load).parameters.keys() == {
        "device",
        "parameters",
        "max_memory",
        "session",
    }


def public(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}
