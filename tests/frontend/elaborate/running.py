"""Elaborate a program text, verify it, and run its entry points in the interpreter."""

from __future__ import annotations

from typing import Any

from minifut.errors import Source
from minifut.frontend.check import check_program
from minifut.frontend.elaborate import elaborate_program
from minifut.ir.core import Program
from minifut.ir.dialect import SOACS
from minifut.ir.interpret import run
from minifut.ir.printer import show
from minifut.ir.verify import verify


def core_of(text: str) -> Program:
    """The verified core program of a text."""
    program = elaborate_program(check_program(Source("test.fut", text)))
    verify(program, SOACS)
    return program


def shown(text: str) -> str:
    """The printed core program, without its entry lines."""
    lines = show(core_of(text)).strip().split("\n")
    return "\n".join(line for line in lines if not line.startswith("entry")).strip()


def results(text: str, *arguments: Any, entry: str = "main") -> tuple[Any, ...]:
    """All leaves that an entry point returns."""
    return run(core_of(text), entry, list(arguments))


def result(text: str, *arguments: Any, entry: str = "main") -> Any:
    """The one leaf that an entry point returns, as lists and numbers."""
    (value,) = results(text, *arguments, entry=entry)
    return value.tolist()
