"""The interpreter as a backend: a core program whose entry points run on NumPy.

Arguments are checked here as the OpenCL runtime checks them, so that both backends
answer a wrong one alike; tuples, records and opaque values are taken apart into the
core program's leaves and put together again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minifut.errors import UsageError
from minifut.program import EntryPoint, Program, describe, value_type_of_text

if TYPE_CHECKING:
    from minifut.ir.core import Entry, EntryType
    from minifut.ir.core import Program as CoreProgram


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A value that only its program understands."""

    type_text: str
    leaves: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"<a value of type {self.type_text}>"


def interpreted_program(
    program: CoreProgram,
    parameters: Mapping[str, int] | None = None,
    steps: int | None = None,
) -> Program:
    """The program with the interpreter behind its entry points; `steps` as there."""
    from minifut.compiler import without_derivatives
    from minifut.ir.interpret import Interpreter

    program = without_derivatives(program)
    interpreter = Interpreter(program, parameters, steps=steps)

    def entry_point(entry: Entry) -> EntryPoint:
        def function(*arguments: Any, device: bool = False) -> Any:
            if device:
                raise UsageError("the interpreter has no device to leave results on")
            leaves: list[Any] = []
            for parameter, argument in zip(entry.parameters, arguments, strict=True):
                leaves += take_apart(parameter, argument)
            results = iter(interpreter.run(entry.name, leaves))
            values = tuple(put_together(r, results) for r in entry.results)
            return values[0] if len(values) == 1 else values

        return EntryPoint(
            entry.name, describe(entry.parameters), describe(entry.results), function
        )

    entries = [entry_point(e) for e in program.entries]
    return Program(entries, "the interpreter", opaques=OpaqueValues())


class OpaqueValues:
    """Opaque values from their leaves and back; see `minifut.program`."""

    def make(self, text: str, leaves: Sequence[Any]) -> Opaque:
        return Opaque(text, tuple(leaves))

    def leaves(self, value: Any, dtypes: Sequence[Any]) -> list[Any]:
        return list(value.leaves)


def take_apart(type_: EntryType, value: Any) -> list[Any]:
    """The leaves of an argument. Raises `UsageError` if it is of another type."""
    if type_.kind == "array":
        return [_checked(type_, value)]
    if isinstance(value, Opaque):
        if value.type_text == type_.text:
            return list(value.leaves)
    elif type_.kind == "tuple" and isinstance(value, tuple):
        if len(value) == len(type_.parts):
            pairs = zip(type_.parts, value, strict=True)
            return [leaf for part, item in pairs for leaf in take_apart(part, item)]
    elif (
        type_.kind == "record"
        and isinstance(value, dict)
        and value.keys() == {part.name for part in type_.parts}
    ):
        parts = type_.parts
        return [leaf for p in parts for leaf in take_apart(p, value[p.name])]
    raise UsageError(
        f"parameter {type_.name}: a value of type {type_.text} is expected, "
        f"got {value!r}"
    )


def put_together(type_: EntryType, leaves: Iterator[Any]) -> Any:
    """A result from its leaves."""
    if type_.kind == "array":
        return next(leaves)
    if type_.kind == "tuple":
        return tuple(put_together(part, leaves) for part in type_.parts)
    if type_.kind == "record":
        return {part.name: put_together(part, leaves) for part in type_.parts}
    return Opaque(type_.text, tuple(next(leaves) for _ in range(type_.leaves)))


def _is_python(value: Any) -> bool:
    """Whether it is a number of Python, or a list or tuple."""
    import numpy as np

    if isinstance(value, np.generic):
        return False
    return isinstance(value, (bool, int, float, list, tuple))


def _checked(type_: EntryType, value: Any) -> Any:
    import numpy as np

    from minifut.values.types import DTYPES, element_name

    expected = value_type_of_text(type_.text)
    assert expected is not None
    dtype = DTYPES[expected.element]
    try:
        array = np.asarray(value)
    except ValueError:
        raise UsageError(
            f"parameter {type_.name}: a regular array ({expected}) is expected"
        ) from None
    came = element_name(array.dtype) or str(array.dtype)
    if array.ndim == expected.rank and _is_python(value) and came != expected.element:
        # Python's numbers have no width: they may be of any type that loses nothing.
        kinds = {"i": "iu", "u": "iu", "f": "iuf", "b": "b"}[dtype.kind]
        if array.dtype.kind in kinds or (array.size == 0 and expected.rank > 0):
            with np.errstate(over="ignore"):
                converted = array.astype(dtype)
            if dtype.kind == "f" or np.array_equal(converted, array):
                return converted[()] if expected.rank == 0 else converted
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            raise UsageError(
                f"parameter {type_.name}: {expected} is expected (from {low} to "
                f"{high}), got {value!r}"
            )
    if array.ndim != expected.rank or came != expected.element:
        raise UsageError(
            f"parameter {type_.name}: {expected} is expected, got {'[]' * array.ndim}"
            f"{came}"
        )
    return value
