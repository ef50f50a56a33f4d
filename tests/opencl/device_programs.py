"""Running printed Kernels IR on the device, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minifut.errors import ProgramError
from minifut.ir.core import Program
from minifut.ir.interpret import run
from minifut.ir.parser import names_after, parse_program
from minifut.passes.pipelines import run_pipeline
from tests.opencl.texts import module_text

SCHEDULES = ("cpu", "gpu")
BUILT = 'options=("-w",)'
DEFAULTS: tuple[tuple[str, Mapping[str, int]], ...] = (("cpu", {}), ("gpu", {}))


def entry(sizes: int, parameters: str, results: str) -> str:
    """The line of an entry point whose function is `main`, from lists of types."""
    given = ", ".join(
        f'"p{i}" "{t}" "array" 1' for i, t in enumerate(parameters.split())
    )
    made = ", ".join(f'"" "{t}" "array" 1' for t in results.split())
    return f'entry "main" = main sizes {sizes} ({given}) -> ({made})\n'


def load_ir(
    text: str, schedule: str, parameters: Mapping[str, int] | None = None
) -> Any:
    """Printed Kernels IR on the device: lowered as it stands, without any pass."""
    return load(parse_program(text), schedule, parameters)


def load(
    program: Program,
    schedule: str,
    parameters: Mapping[str, int] | None = None,
    optimised: bool = True,
) -> Any:
    """The program on the device; built faster if the driver need not optimise it."""
    text = module_text(program, schedule=schedule)
    if not optimised:
        assert BUILT in text
        text = text.replace(BUILT, 'options=("-w", "-cl-opt-disable")')
    return load_text(text, parameters)


def load_text(text: str, parameters: Mapping[str, int] | None = None) -> Any:
    """A generated module on the device."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "<generated>", "exec"), namespace)
    return namespace["program"].load(parameters=parameters)


def outcome(call: Any) -> Any:
    """The results as a tuple, or the message of the failure."""
    try:
        results = call()
    except ProgramError as error:
        return error.message
    return results if isinstance(results, tuple) else (results,)


def check(
    text: str,
    inputs: Sequence[Sequence[Any]],
    flatten: bool = False,
    tolerance: float = 0,
    settings: Sequence[tuple[str, Mapping[str, int]]] = DEFAULTS,
) -> None:
    """Under both schedules, or the given ones with their parameters, the device gives
    what the interpreter gives."""
    program = parse_program(text)
    kernels = run_pipeline(program, names_after(program)) if flatten else program
    wanted = []
    for given in inputs:
        copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in given]
        wanted.append(outcome(lambda args=copies: run(program, "main", args)))
    for schedule, parameters in settings:
        instance = load(kernels, schedule, parameters)
        for given, expected in zip(inputs, wanted, strict=True):
            result = outcome(lambda args=given, i=instance: i.main(*args))
            assert_same(result, expected, tolerance, f"{schedule}, {given}")


def assert_same(result: Any, expected: Any, tolerance: float, where: str) -> None:
    """Equal messages, or equal values of equal types."""
    if isinstance(result, str) or isinstance(expected, str):
        assert result == expected, where
        return
    for got, wanted in zip(result, expected, strict=True):
        assert np.asarray(got).dtype == np.asarray(wanted).dtype, where
        if tolerance:
            np.testing.assert_allclose(got, wanted, rtol=tolerance, err_msg=where)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=where)
