"""Run programs of printed IR that say themselves what to run, against the interpreter.

-- run n=3 m=7 far=20      sizes and scalars of one run; arrays are random
-- with main.t.rows=4      all runs once more with these parameters

python -m tests.lowering.printed_programs FILE.ir [--device D] [--schedule S]
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minifut.ir.core import Program
from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.parser import parse_program
from minifut.ir.types import ScalarType
from minifut.ir.verify import verify
from tests.opencl.device_programs import assert_same, outcome
from tests.opencl.texts import module_text

Settings = dict[str, int]
_LINE = re.compile(r"^-- (run|with) (.*)$", re.MULTILINE)


def directives(text: str, wanted: str) -> list[Settings]:
    """The settings of all lines of one kind."""
    return [
        {
            name: int(value)
            for name, _, value in (p.partition("=") for p in line.split())
        }
        for kind, line in _LINE.findall(text)
        if kind == wanted
    ]


def arguments(program: Program, given: Settings, seed: int) -> list[Any]:
    """Sizes come with the arrays; small numbers, so that sums are exact in any order."""
    random = np.random.default_rng(seed)
    entry = program.entries[0]
    function = next(f for f in program.functions if f.name == entry.function)
    made: list[Any] = []
    for parameter in function.parameters[entry.sizes :]:
        type_ = parameter.type
        if isinstance(type_, ScalarType):
            made.append(np.array(given[parameter.name.base], _dtype(type_))[()])
            continue
        shape = [
            given[s.as_name.base] if s.as_name else int(s.as_constant or 0)
            for s in type_.shape
        ]
        made.append(random.integers(-4, 6, shape).astype(_dtype(type_.element)))
    return made


def _dtype(type_: ScalarType) -> np.dtype[Any]:
    kinds = {"i": "int", "u": "uint", "f": "float"}
    return np.dtype(kinds[type_.name[0]] + type_.name[1:])


def check(text: str, schedule: str, device: str | None = None) -> int:
    """All runs with all parameters agree with the interpreter; how many there were."""
    program = parse_program(text)
    verify(program, KERNELS)
    namespace: dict[str, Any] = {}
    exec(module_text(program, schedule=schedule), namespace)
    instance = namespace["program"].load(device=device)
    count = 0
    for parameters, given, inputs in _cases(program, text):
        instance.set_parameters(parameters)
        copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in inputs]
        interpreted = partial(run, program, "main", copies, parameters)
        expected, result = (
            outcome(interpreted),
            outcome(partial(instance.main, *inputs)),
        )
        assert_same(result, expected, 0, f"{schedule}, {given}, {parameters}")
        count += 1
    return count


def _cases(program: Program, text: str) -> Iterator[tuple[Settings, Settings, Any]]:
    for parameters in directives(text, "with") or [{}]:
        for seed, given in enumerate(directives(text, "run")):
            yield parameters, given, arguments(program, given, seed)


def main() -> None:
    """Run one file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("--device")
    parser.add_argument("--schedule", default="gpu")
    options = parser.parse_args()
    count = check(options.path.read_text(), options.schedule, options.device)
    print(f"{options.path.name}: {count} runs agree")


if __name__ == "__main__":
    main()
