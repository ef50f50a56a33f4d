"""A program made of Python functions, to test the test runner on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.program import EntryPoint, Program
from minifut.signature import Parameter


def parameter(text: str) -> Parameter:
    """A parameter `name: type`; a type that no value has is opaque."""
    name, _, type_text = text.partition(": ")
    plain = Parameter(name, type_text, "array", False)
    known = plain.value_type is not None
    return plain if known else Parameter(name, type_text, "opaque", False)


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
