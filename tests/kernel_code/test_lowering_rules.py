"""Every rule that lowers operations of the core: its docstring is executed, as text and
on a device, against the interpreter."""

from __future__ import annotations

import importlib
import pkgutil
from functools import partial
from typing import Any

import numpy as np
import pytest

from minifut import kernel_code
from minifut.ir.interpret import run
from minifut.kernel_passes.rule import CodeRule
from minifut.opencl.lowering_examples import (
    complaint,
    lowering_examples,
    program_of_example,
    schedule_of,
)
from minifut.rewrite.examples import close, random_arguments, sizes_of
from minifut.rewrite.rule import REGISTRY
from tests.opencl.device_programs import load, outcome

for module in pkgutil.walk_packages(kernel_code.__path__, "minifut.kernel_code."):
    importlib.import_module(module.name)

RULES = {n: r for n, r in REGISTRY.items() if isinstance(r, CodeRule) and r.lowers}


@pytest.mark.parametrize("name", sorted(RULES))
def test_the_docstring_of_a_rule_holds(name: str) -> None:
    examples = lowering_examples(RULES[name].documentation)
    assert any(parts is not None for _, parts in examples), "no before: and after:"
    assert any(parts is None for _, parts in examples), "no declines:"
    for example, parts in examples:
        assert complaint(RULES[name], example, parts) is None, complaint(
            RULES[name], example, parts
        )


def test_an_example_that_does_not_hold_is_found() -> None:
    rule = RULES["accumulate_in_array"]
    (good, parts), (refusal, _) = lowering_examples(rule.documentation)
    assert parts is not None and refusal.reason
    assert "there is no" in str(complaint(rule, good, "no such line"))
    assert "should decline" in str(complaint(rule, good, None))
    assert "should fire" in str(complaint(rule, refusal, parts))
    out_of_order = "\n    ..\n".join(reversed(parts.split("\n    ..\n")))
    assert out_of_order != parts
    assert "there is no" in str(complaint(rule, good, out_of_order))


@pytest.mark.device
@pytest.mark.parametrize("name", sorted(RULES))
def test_kernels_compute_what_the_example_means(name: str) -> None:
    rule = RULES[name]
    for example, _ in lowering_examples(rule.documentation):
        program = program_of_example(example)
        instance = load(program, schedule_of(rule))
        for seed, points in enumerate((1, 20, 400, 20_000)):
            largest = max(1, int(points ** (1 / max(1, len(sizes_of(example.given))))))
            given = random_arguments(example, seed, largest)
            wanted = run(program, "main", copied(given))
            found = outcome(partial(instance.main, *given))
            assert close(found, wanted), (given, found, wanted)


def copied(values: list[Any]) -> list[Any]:
    return [np.copy(v) if isinstance(v, np.ndarray) else v for v in values]
