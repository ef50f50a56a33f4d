"""A program made of Python functions, to test the test runner on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.ir.entries import EntryType
from minifut.program import EntryPoint, Program
from minifut.signature import Parameter


def parameter(text: str) -> Parameter:
    """A parameter `name: type`; a type that no value has is opaque."""
    name, _, type_text = text.partition(": ")
    plain = of_kind(name, type_text, "array")
    return plain if plain.value_type is not None else of_kind(name, type_text, "opaque")


def of_kind(name: str, type_text: str, kind: str) -> Parameter:
    """A parameter without components."""
    structure = EntryType(name, type_text, kind, 1)
    return Parameter(name, type_text, kind, False, None, structure)


def entry(
    name: str, parameters: list[str], results: list[str], function: Callable[..., Any]
) -> EntryPoint:
    """An entry point that is a Python function."""
    return EntryPoint(
        name,
        tuple(parameter(p) for p in parameters),
        tuple(parameter(f": {r}") for r in results),
        function,
    )


def program(*entries: EntryPoint) -> Program:
    return Program(entries, "a fake")
