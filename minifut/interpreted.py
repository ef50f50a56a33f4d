"""The interpreter as a backend: a core program whose entry points run on NumPy.

Arguments are checked here as the OpenCL runtime checks them, so that both backends
give the same error for a wrong one; tuples, records and opaque values are taken apart
into the core program's leaves and put together again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minifut.errors import ArgumentError, Source, UsageError
from minifut.ir.core import Param
from minifut.ir.core import Program as CoreProgram
from minifut.ir.entries import Entry, EntryType
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType, element_of, shape_of
from minifut.names import Name
from minifut.program import EntryPoint, Program
from minifut.recipe import Compile
from minifut.signature import describe, value_type_of_text
from minifut.values.argument_sizes import KnownSizes, check_sizes
from minifut.values.foreign import NoView, numpy_view
from minifut.values.sized_text import ParameterShape
from minifut.values.structured import close_value
from minifut.values.structured_arguments import Blank, Leaves, WrongValue, open_value
from minifut.values.types import DTYPES, element_name


@dataclass(frozen=True, slots=True, eq=False)
class OpaqueValue:
    """A value that only its program understands."""

    type_text: str
    leaves: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"<a value of type {self.type_text}>"


def interpreted_program(
    program: CoreProgram,
    parameters: Mapping[str, int] | None = None,
    steps: int | None = None,
    documentation: Mapping[str, str] | None = None,
    source: Source | None = None,
    compile: Compile | None = None,
) -> Program:
    """The program with the interpreter behind its entry points; `steps` as there,
    `documentation` the comments above entry points."""
    from minifut.ir.interpret import Interpreter
    from minifut.ir.printer import show
    from minifut.stages import without_derivatives

    program = without_derivatives(program)
    interpreter = Interpreter(program, parameters, steps=steps)

    def entry_point(entry: Entry) -> EntryPoint:
        def function(*arguments: Any, device: bool = False) -> Any:
            if device:
                text = "the interpreter has no device to leave results on"
                raise UsageError(f"{entry.name}: {text}")
            opened: Leaves = []
            try:
                for parameter, given in zip(entry.parameters, arguments, strict=True):
                    opened += take_apart(parameter, given)
                leaves = [leaf for leaf, _ in opened]
                if any(parameter.kind != "array" for parameter in entry.parameters):
                    leaves = _fitting(sized, leaves)
            except (WrongValue, ArgumentError) as error:
                raise ArgumentError(f"{entry.name}: {error}") from None
            _check_sizes(entry.name, sized, leaves, [path for _, path in opened])
            results = iter(interpreter.run(entry.name, leaves))
            values = tuple(
                close_value(r, [next(results) for _ in range(r.leaves)], _close_opaque)
                for r in entry.results
            )
            return values[0] if len(values) == 1 else values

        called = functions[entry.function]
        sized = called.parameters[entry.sizes :]
        sizes = [parameter.name for parameter in called.parameters[: entry.sizes]]
        known = entry.scalars(called.parameters) | {size: size.base for size in sizes}
        outside = called.results[
            len(called.results) - sum(r.leaves for r in entry.results) :
        ]
        return EntryPoint(
            entry.name,
            describe(entry.parameters, shapes(sized, known)),
            describe(entry.results, shapes(outside, known)),
            function,
            documentation=(documentation or {}).get(entry.name, ""),
        )

    functions = {function.name: function for function in program.functions}
    entries = [entry_point(e) for e in program.entries]
    recipe = InterpretedProgram(
        show(program),
        tuple((parameters or {}).items()),
        steps,
        _items(documentation),
        source,
        compile,
    )
    return Program(entries, "the interpreter", opaques=Opaques(), recipe=recipe)


def _items(documentation: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple((documentation or {}).items())


@dataclass(frozen=True, slots=True)
class InterpretedProgram:
    """What an interpreted program is made of again in another process."""

    backend: ClassVar[str] = "interpreter"
    device: ClassVar[None] = None

    text: str
    """the core program as printed"""
    parameters: tuple[tuple[str, int], ...]
    steps: int | None
    documentation: tuple[tuple[str, str], ...]
    source: Source | None = None
    compile: Compile | None = None
    derivative: ClassVar[None] = None

    def load(self) -> Program:
        """The program once more."""
        from minifut.ir.parser import parse

        program = parse(self.text, "program")
        known, about = dict(self.parameters), dict(self.documentation)
        return interpreted_program(
            program, known, self.steps, about, self.source, self.compile
        )


def shapes(
    leaves: Sequence[Param], known: Mapping[Name, str]
) -> list[ParameterShape | None]:
    """The dimensions of leaves, by the names of those that are `known`."""
    return [
        None
        if isinstance(leaf.type, ScalarType)
        else tuple(_dimension(size, known) for size in shape_of(leaf.type))
        for leaf in leaves
    ]


def _dimension(size: Size, known: Mapping[Name, str]) -> int | str | None:
    name = size.as_name
    if name is not None:
        return known.get(name)
    return size.as_constant


class Opaques:
    """Opaque values from their leaves and back; see `minifut.program`."""

    def make(self, text: str, leaves: Sequence[Any]) -> OpaqueValue:
        return OpaqueValue(text, tuple(leaves))

    def leaves(self, value: Any) -> list[Any]:
        return list(value.leaves)


def take_apart(type_: EntryType, value: Any) -> Leaves:
    """The leaves of an argument, each with its place. Raises `ArgumentError` if it is
    of another type."""
    if type_.kind == "array":
        return [(_checked(type_, value), type_.name)]
    return open_value(type_, value, type_.name, _open_opaque)


def _check_sizes(
    entry: str, parameters: Sequence[Param], leaves: Sequence[Any], paths: Sequence[str]
) -> None:
    """Refuse arrays whose shapes do not agree."""
    known: KnownSizes = {}
    for parameter, leaf, path in zip(parameters, leaves, paths, strict=True):
        wanted = [
            s.as_constant if s.as_constant is not None else s.as_name
            for s in shape_of(parameter.type)
        ]
        names = {s: s.base for s in wanted if isinstance(s, Name)}
        check_sizes(entry, path, wanted, np.shape(leaf), known, names)


def _open_opaque(type_: EntryType, value: Any, path: str) -> Leaves:
    if not isinstance(value, OpaqueValue) or value.type_text != type_.text:
        expected = f"a value of type {type_.text} that the interpreter made"
        raise WrongValue(path, expected, value)
    return [(leaf, path) for leaf in value.leaves]


def _close_opaque(type_: EntryType, leaves: Sequence[Any]) -> OpaqueValue:
    return OpaqueValue(type_.text, tuple(leaves))


def _fitting(parameters: Sequence[Param], leaves: Sequence[Any]) -> list[Any]:
    """Leaves of structured values in the form of the core's parameters."""
    sizes: dict[Name, int] = {}
    made: list[Any] = []
    for parameter, leaf in zip(parameters, leaves, strict=True):
        shape = shape_of(parameter.type)
        if not isinstance(leaf, Blank):
            text = "[]" * len(shape) + str(element_of(parameter.type))
            leaf = _checked(EntryType(parameter.name.base, text, "array", 1), leaf)
            pairs = zip(shape, np.shape(leaf), strict=True)
            sizes.update({s.as_name: n for s, n in pairs if s.as_name is not None})
        made.append(leaf)
    for place, (parameter, leaf) in enumerate(zip(parameters, made, strict=True)):
        if isinstance(leaf, Blank):
            wanted = [
                s.as_constant if s.as_constant is not None else s.as_name
                for s in shape_of(parameter.type)
            ]
            dtype = DTYPES[element_of(parameter.type).name]
            made[place] = np.zeros(leaf.shape(wanted, sizes.get), dtype)[()]
    return made


def _is_python(value: Any) -> bool:
    """Whether it is a number of Python, or a sequence of them."""
    if isinstance(value, np.generic):
        return False
    return isinstance(value, (bool, int, float, list, tuple, range))


def _checked(type_: EntryType, value: Any) -> Any:
    expected = value_type_of_text(type_.text)
    assert expected is not None
    dtype = DTYPES[expected.element]
    try:
        array = np.asarray(value) if _is_python(value) else numpy_view(value)
    except NoView as reason:
        message = f"parameter {type_.name}: {expected} is expected; {reason}"
        raise ArgumentError(message) from None
    except ValueError:
        raise ArgumentError(
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
            raise ArgumentError(
                f"parameter {type_.name}: {expected} is expected (from {low} to "
                f"{high}), got {value!r}"
            )
    if array.ndim != expected.rank or came != expected.element:
        raise ArgumentError(
            f"parameter {type_.name}: {expected} is expected, got {'[]' * array.ndim}"
            f"{came}"
        )
    return array[()]
