"""No text of a user gets into generated Python or C as code."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.parser import parse_program
from minifut.opencl import runtime as rt

NASTY = [
    '"""\nINJECTED = 1\n"""',
    "'''; INJECTED = 1 #",
    '"); INJECTED = 1; ("',
    "*/ INJECTED; /*",
    "// \\\nINJECTED;",
    "{INJECTED} ${INJECTED} $[INJECTED]",
    '\\" + INJECTED + "',
    "%s %d %n INJECTED\\",
    "#define x INJECTED\n#include </etc/passwd>\n",
    "$for i < INJECTED\n$end",
    "\r\u2028\x0cINJECTED",
]


def module_of(text: str, file: str, name: str) -> str:
    checked = stages.check(Source(file, text))
    kernels = stages.to_kernels(stages.to_core(checked))
    return stages.to_host_module(kernels, None, name)


def as_literal(text: str) -> str:
    """The text in a string literal of Futhark."""
    return "".join(
        c if c.isprintable() and c not in '"\\' else f"\\x{ord(c):x}\\&" for c in text
    )


@pytest.mark.parametrize("nasty", NASTY)
def test_texts_of_users_are_data(nasty: str) -> None:
    program = (
        "type INJECTED' = {a: i32, b: [3]i32}\n"
        "#[INJECTED] entry main' (xs: []i32) (r: INJECTED') = map (\\x -> "
        f'assert (i64.i32 x > length "{as_literal(nasty)}") (xs[x] + r.a)) xs\n'
    )
    text = module_of(program, f"{nasty}.fut", nasty)
    tree = ast.parse(text)
    assert "INJECTED" not in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    variables: dict[str, object] = {"__name__": "generated"}
    exec(compile(tree, "generated", "exec"), variables)
    assert "INJECTED" not in variables
    loaded = variables["program"]
    assert isinstance(loaded, rt.Schedules)
    for schedule in (loaded.cpu, loaded.gpu):
        assert schedule.name == nasty
        places = [place for failure in schedule.failures for place in failure.backtrace]
        assert any(place.startswith(f"{nasty}.fut:") for place in places)
        for kernel in schedule.kernels:
            code = re.sub(r"//.*|/\*.*?\*/", "", kernel.text or "", flags=re.DOTALL)
            assert "INJECTED" not in code.replace("INJECTED_", "")


PRINTED = Path(__file__).parents[1] / "ir" / "printed" / "tiled_matmul.ir"
FIXED = ("threshold", "tile_size", "reg_tile_size", "cpu", "gpu", "array")


@pytest.mark.parametrize("nasty", NASTY)
def test_names_of_printed_core_are_data(nasty: str) -> None:
    """Printed core has texts for the names of entry points, of their parameters and
    types, and of tuning parameters, in which any characters may stand."""

    def with_nasty(found: re.Match[str]) -> str:
        text = json.loads(found[0])
        return found[0] if text in FIXED else json.dumps(text + nasty)

    text = re.sub(r'"(?:[^"\\]|\\.)*"', with_nasty, PRINTED.read_text())
    module = stages.to_host_module(parse_program(text), None, nasty)
    tree = ast.parse(module)
    assert "INJECTED" not in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    variables: dict[str, object] = {"__name__": "generated"}
    exec(compile(tree, "generated", "exec"), variables)
    assert "INJECTED" not in variables
    loaded = variables["program"]
    assert isinstance(loaded, rt.Schedules)
    for schedule in (loaded.cpu, loaded.gpu):
        assert schedule.entries[0].name == f"main{nasty}"
        for kernel in schedule.kernels:
            code = re.sub(r"//.*|/\*.*?\*/", "", kernel.text or "", flags=re.DOTALL)
            assert re.search(r"\bINJECTED\b|#include|passwd", code) is None


NAMES = ["main'", "a''b", "x'_'y"]


@pytest.mark.parametrize("name", NAMES)
def test_names_with_primes_are_no_quotes(name: str) -> None:
    text = module_of(f"entry {name} ({name}_1: i32) = {name}_1 + 1", "a.fut", "a")
    variables: dict[str, object] = {"__name__": "generated"}
    exec(text, variables)
    loaded = variables["program"]
    assert isinstance(loaded, rt.Schedules)
    assert [entry.name for entry in loaded.entries] == [name]
    assert loaded.entries[0].parameters[0].name == f"{name}_1"
