"""Every line of the tables of docs/semantics.md, by each backend and in kernels.

A line `| x / y | x = -7i32, y = 2i32 | -4i32 |` becomes an entry point; where all its
arguments are scalars, a second one does the same for an array of copies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import ProgramError
from minifut.values.reader import read_values

PAGE = Path(__file__).parent.parent / "docs" / "semantics.md"
COPIES = 37
"""elements of arrays in kernels: whole vectors and some more"""
BACKENDS: dict[str, dict[str, Any]] = {
    "interpreter": {"backend": "interpreter"},
    "sequential": {"backend": "sequential"},
    "cpu": {"schedule": "cpu"},
    "gpu": {"schedule": "gpu"},
}


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    number: int
    expression: str
    names: tuple[str, ...]
    arguments: tuple[np.ndarray, ...]
    expected: tuple[np.ndarray, ...]
    error: str = ""

    @property
    def parameters(self) -> str:
        types = [
            "[]" * x.ndim + ("bool" if x.dtype == bool else x.dtype.name)
            for x in self.arguments
        ]
        short = [t.replace("uint", "u").replace("int", "i") for t in types]
        short = [t.replace("float", "f") for t in short]
        return " ".join(f"({n}: {t})" for n, t in zip(self.names, short, strict=True))

    @property
    def in_kernel(self) -> bool:
        """Whether there is an entry point that maps the expression."""
        plain = not self.error and len(self.expected) == 1
        return plain and all(x.ndim == 0 for x in (*self.arguments, *self.expected))

    @property
    def source(self) -> str:
        single = f"entry single{self.number} {self.parameters} = {self.expression}\n"
        if not self.in_kernel:
            return single
        mapped = re.sub(r"\((\w+): (\w+)\)", r"(\1s: [n]\2)", self.parameters)
        return single + (
            f"entry mapped{self.number} [n] {mapped} = map{len(self.names)} "
            f"(\\{' '.join(self.names)} -> {self.expression}) "
            f"{' '.join(f'{n}s' for n in self.names)}\n"
        )


def values(text: str) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(value) for value in read_values(text.encode(), text))


def lines() -> list[Line]:
    """All lines of all tables."""
    found = []
    for row in re.findall(
        r"^\| `(.*?)` \| `(.*?)` \| (.*?) \|$", PAGE.read_text(), re.M
    ):
        expression, given, result = row
        pairs = [pair.split(" = ") for pair in re.split(r", (?=\w+ =)", given)]
        names = tuple(name for name, _ in pairs)
        arguments = tuple(values(text)[0] for _, text in pairs)
        error = result.removeprefix("error: ") if result.startswith("error") else ""
        expected = () if error else values(result.strip("`"))
        found.append(Line(len(found), expression, names, arguments, expected, error))
    return found


LINES = lines()


@pytest.fixture(scope="module", params=BACKENDS)
def program(request: pytest.FixtureRequest) -> Any:
    source = "".join(line.source for line in LINES)
    return minifut.compile(source, **BACKENDS[request.param])


def bits(value: Any) -> tuple[Any, ...]:
    array = np.asarray(value)
    return array.dtype, array.shape, array.tobytes()


def test_the_page_has_tables() -> None:
    assert len(LINES) > 50
    assert sum(line.in_kernel for line in LINES) > 40


@pytest.mark.sweep
@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.number}")
def test_a_line(program: Any, line: Line) -> None:
    single = getattr(program, f"single{line.number}")
    if line.error:
        with pytest.raises((ProgramError, ValueError), match=line.error):
            single(*line.arguments)
        return
    result = single(*line.arguments)
    results = result if isinstance(result, tuple) else (result,)
    assert [bits(r) for r in results] == [bits(e) for e in line.expected]
    if line.in_kernel:
        mapped = getattr(program, f"mapped{line.number}")
        copies = [np.full(COPIES, x) for x in line.arguments]
        assert bits(mapped(*copies)) == bits(np.full(COPIES, line.expected[0]))
