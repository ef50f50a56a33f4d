"""Tuning the gradient of an entry point, on the entry point's own data sets.

    minifut autotune model.fut --gradient loss:w
    →  model.fut.tuning sets loss_vjp_wrt_w.*, for loss.value_and_grad(.., wrt="w")

The adjoints of the results are ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from minifut import compiler, stages
from minifut.benchmarking.datasets import DataSet
from minifut.benchmarking.loaded import Loaded
from minifut.inspection import lowered
from minifut.tuning.calls import CallData


def gradient_to_tune(
    path: Path, options: stages.Options, wanted: str, found: Sequence[DataSet]
) -> tuple[Loaded, list[CallData]]:
    """The gradient that `ENTRY` or `ENTRY:NAME,..` stands for, in all parameters of
    floats or in those, and its data sets. Raises `UsageError`."""
    name, _, listed = wanted.partition(":")
    program = compiler.compile_program(stages.read_source(path), options)
    entry = program.entry(name)
    wrt = tuple(listed.split(",")) if listed else None
    gradient = entry.derivative("vjp", wrt)
    made = gradient.program
    assert made is not None
    calls = []
    for data in found:
        values = tuple(data.arguments(program))
        ones = [np.ones_like(np.asarray(result)) for result in entry.call(values)]
        calls.append(CallData(gradient.name, data.name, (*values, *ones)))
    return Loaded(path, made, lowered(made), None), calls
