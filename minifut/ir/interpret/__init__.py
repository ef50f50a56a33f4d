"""The oracle: runs a core program, of either dialect, on NumPy arrays.

A plain walk over the program: scalars are Python numbers kept in their type's range,
arrays are NumPy arrays. Nothing is shared with the passes or with lowering, and nothing
is reordered, except that a body of total scalar operators is evaluated for all its
points at once (`points`). What is too slow here is for `sequential`, the fast oracle.

    values = run(program, "main", [xs, np.int32(3)])

`walk` statements, `points` a function at all points, `second_order` SOACs and kernels,
`arrays` what they do to arrays, `arithmetic` scalar operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minifut.errors import ProgramError, UsageError
from minifut.ir import core
from minifut.ir.entries import Entry
from minifut.ir.interpret.arithmetic import NUMPY_TYPES, from_numpy, to_numpy
from minifut.ir.interpret.deep import call_deep, raised_limit, recursive_functions
from minifut.ir.interpret.steps import Steps
from minifut.ir.interpret.walk import Evaluation
from minifut.ir.sizes import Size
from minifut.ir.types import ArrayType, element_of
from minifut.names import Name


class Interpreter:
    """A program made ready to run; `parameters` sets tuning parameters by name.

    With `steps`, a run that takes more rounds of loops and points of SOACs raises
    `TooManySteps`.
    """

    def __init__(
        self,
        program: core.Program,
        parameters: Mapping[str, int] | None = None,
        device_kind: str = "cpu",
        steps: int | None = None,
    ) -> None:
        self.program = program
        self.functions = {f.name: f for f in program.functions}
        self._deep = recursive_functions(program)
        self._steps = None if steps is None else Steps(steps)
        self._run = Evaluation(
            program, dict(parameters or {}), device_kind, self._steps
        )

    def run(self, entry: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The leaf values of an entry point's results, for its leaf arguments.

        Sizes are found from the shapes. Raises `ProgramError` when the program fails or
        shapes disagree, `UsageError` for an unknown entry or wrong number of arguments.
        """
        found = [e for e in self.program.entries if e.name == entry]
        if not found:
            known = ", ".join(e.name for e in self.program.entries)
            raise UsageError(f'no entry point "{entry}" (there is: {known})')
        function = self.functions[found[0].function]
        given = match_arguments(function, found[0], arguments)
        if self._steps is not None:
            self._steps.left = self._steps.limit
        call = self._run.call
        try:
            if self._deep:
                results = call_deep(self._deep, lambda: call(function.name, given))
            else:
                with raised_limit():
                    results = call(function.name, given)
        except IndexError as error:
            message = f"{error}; #[unsafe] leaves it unchecked"
            raise ProgramError(message) from error
        existential = len(function.results) - sum(r.leaves for r in found[0].results)
        pairs = list(zip(results, function.results, strict=True))[existential:]
        return tuple(to_numpy(value, result.type) for value, result in pairs)


def run(
    program: core.Program,
    entry: str,
    arguments: Sequence[Any],
    parameters: Mapping[str, int] | None = None,
) -> tuple[Any, ...]:
    """Run an entry point once; see `Interpreter.run`."""
    return Interpreter(program, parameters).run(entry, arguments)


def match_arguments(
    function: core.Function, entry: Entry, arguments: Sequence[Any]
) -> list[Any]:
    """All arguments of the core function: the sizes found from the shapes, then the
    leaf values in the interpreter's representation."""
    sizes = function.parameters[: entry.sizes]
    leaves = function.parameters[entry.sizes :]
    if len(leaves) != len(arguments):
        raise UsageError(
            f'"{entry.name}" takes {len(leaves)} values, {len(arguments)} were given'
        )
    names = [parameter.name for parameter in sizes]
    found: dict[Name, int] = {}
    values = []
    for parameter, argument in zip(leaves, arguments, strict=True):
        if isinstance(parameter.type, ArrayType):
            array = np.asarray(argument)
            _match_shape(parameter, array, set(names), found)
            values.append(array.astype(NUMPY_TYPES[parameter.type.element.name]))
        else:
            values.append(from_numpy(argument, element_of(parameter.type)))
    return [found.get(name, 0) for name in names] + values


def _match_shape(
    parameter: core.Param, array: np.ndarray, sizes: set[Name], found: dict[Name, int]
) -> None:
    assert isinstance(parameter.type, ArrayType)
    base = parameter.name.base
    if array.ndim != parameter.type.rank:
        raise ProgramError(
            f'parameter "{base}": expected {parameter.type.rank} dimensions, '
            f"got {array.ndim}"
        )
    pairs = zip(parameter.type.shape, array.shape, strict=True)
    for dimension, (size, actual) in enumerate(pairs):
        name = size.as_name
        if name is not None and name in sizes and name not in found:
            found[name] = actual
            continue
        expected = _expected(size, found)
        if expected is not None and expected != actual:
            raise ProgramError(
                f'parameter "{base}": dimension {dimension} has size {actual}, '
                f"expected {expected} ({size})"
            )


def _expected(size: Size, found: dict[Name, int]) -> int | None:
    return size.evaluate(found) if size.names() <= found.keys() else None
