"""Every rule that lowers operations of the core: its examples run on a device, against
the interpreter."""

from __future__ import annotations

import importlib
import pkgutil
from functools import partial
from typing import Any

import numpy as np
import pytest

from minifut import lowering
from minifut.ir.interpret import run
from minifut.rewrite.rule import REGISTRY
from tests.opencl.device_programs import load, outcome
from tests.rewrite.core_examples import close, random_arguments, read, sizes_of
from tests.rewrite.examples import Example, examples_of
from tests.rewrite.lowering_examples import program_of_example, schedule_of

for module in pkgutil.walk_packages(lowering.__path__, "minifut.lowering."):
    importlib.import_module(module.name)

RULES = {n: r for n, r in REGISTRY.items() if r.module.startswith("minifut.lowering.")}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", sorted(RULES))
def test_kernels_compute_what_the_example_means(name: str) -> None:
    rule = RULES[name]
    for example in examples_of(rule):
        program, statements = (
            program_of_example(example),
            read(Example(example.before, None)),
        )
        instance = load(program, schedule_of(rule))
        sizes = max(1, len(sizes_of(statements.given)))
        most = 20_000 if sizes < 3 else 6_000  # as long takes the interpreter for tiles
        for seed, points in enumerate((1, 20, 400, most)):
            largest = max(1, int(points ** (1 / sizes)))
            given = random_arguments(statements, seed, largest)
            wanted = run(program, "main", copied(given))
            found = outcome(partial(instance.main, *given))
            assert close(found, wanted), (given, found, wanted)


def copied(values: list[Any]) -> list[Any]:
    return [np.copy(v) if isinstance(v, np.ndarray) else v for v in values]
