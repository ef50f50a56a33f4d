"""No text of a user gets into generated Python or C as code."""

from __future__ import annotations

import ast
import re

import pytest

from minifut import compiler
from minifut.errors import Source
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
    checked = compiler.check(Source(file, text))
    kernels = compiler.to_kernels(compiler.to_core(checked))
    return compiler.to_host_module(kernels, None, name)


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
