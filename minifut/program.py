"""A program ready to run, the same for every backend: entry points that can be called.

    prog = minifut.compile("matmul.fut")
    prog.main(a, b)                      # NumPy in, NumPy out
    prog.entries["main"].parameters      # names and types

Arrays are NumPy (or pyopencl) arrays, scalars NumPy scalars; several results make a
tuple. A tuple of Futhark is a Python tuple, a record a dict, anything else an object
that can only be passed on to other entry points.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from minifut.errors import UsageError
from minifut.suggestions import nearest_or_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minifut.tuning.parameters import Tuning
    from minifut.values.types import ValueType


class Described(Protocol):
    """What backends say about a parameter or result."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def unique(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or a result of an entry point."""

    name: str
    type_text: str
    kind: str
    """"array" (scalars included), "tuple", "record" or "opaque" """
    unique: bool

    @property
    def value_type(self) -> ValueType | None:
        """The type of its values, None if it is not an array or a scalar."""
        return value_type_of_text(self.type_text) if self.kind == "array" else None


_ARRAY_TYPE = re.compile(r"\*?((?:\[\])*)([iuf][0-9]+|bool)\Z")


def value_type_of_text(text: str) -> ValueType | None:
    """Read `[][]f32`."""
    from minifut.values.types import ValueType

    found = _ARRAY_TYPE.match(text)
    return None if found is None else ValueType(found[2], len(found[1]) // 2)


class OpaqueValues(Protocol):
    """Makes values of opaque types from their arrays and scalars, and the reverse."""

    def make(self, text: str, leaves: Sequence[Any]) -> Any: ...
    def leaves(self, value: Any, dtypes: Sequence[Any]) -> list[Any]: ...


class Timed(Protocol):
    """An entry point with its arguments in place, to be run again and again."""

    def __call__(self) -> float:
        """One run; its seconds without reading and transferring arguments."""

    def results(self) -> tuple[Any, ...]:
        """What the latest run gave."""

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays that go in and, in the latest run, came out."""

    @property
    def peak(self) -> int:
        """Bytes of device memory that were in use at most."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """An entry point: call it. `prepare` is what the backend times, if it has one."""

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    function: Callable[..., Any]
    prepare: Callable[[tuple[Any, ...]], Timed] | None = None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run it; with `device=True`, on OpenCL, the results are pyopencl arrays.

        Raises `UsageError` for wrong arguments, `ProgramError` when the program fails,
        `MemoryError` when the device's memory does not suffice.
        """
        if len(arguments) != len(self.parameters):
            raise UsageError(
                f"{self.name}: {len(self.parameters)} arguments are expected"
                f"{self._signature()}, {len(arguments)} were given"
            )
        return self.function(*arguments, **options)

    def call(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run it; the results as a tuple, however many there are."""
        results = self(*arguments)
        return results if len(self.results) != 1 else (results,)

    def _signature(self) -> str:
        if not self.parameters:
            return ""
        shown = ", ".join(f"{p.name}: {p.type_text}" for p in self.parameters)
        return f" ({shown})"


class Program:
    """Entry points by name, also as attributes."""

    def __init__(
        self,
        entries: Iterable[EntryPoint],
        description: str,
        tuning: Tuning | None = None,
        opaques: OpaqueValues | None = None,
    ) -> None:
        from minifut.tuning.parameters import Tuning

        self.opaques = opaques

        self.entries: dict[str, EntryPoint] = {e.name: e for e in entries}
        self.description = description
        if tuning is None:  # one without parameters is empty, and can still watch
            tuning = Tuning((), "cpu", lambda values: None, {})
        self.tuning = tuning

    def __getattr__(self, name: str) -> EntryPoint:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            found: EntryPoint = entries[name]
            return found
        raise AttributeError(unknown("entry point", name, entries))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.entries]

    def __repr__(self) -> str:
        return f"<minifut program on {self.description}: {', '.join(self.entries)}>"

    def entry(self, name: str) -> EntryPoint:
        """The entry point of a name. Raises `UsageError` that suggests another."""
        if name not in self.entries:
            raise UsageError(unknown("entry point", name, self.entries))
        return self.entries[name]


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that does not exist, with the nearest one that does."""
    return f"there is no {what} '{name}'; {nearest_or_all(name, known)}"


def describe(parts: Iterable[Described]) -> tuple[Parameter, ...]:
    """Parameters or results from what a backend says about them."""
    return tuple(Parameter(p.name, p.text, p.kind, p.unique) for p in parts)


def check_names(given: Mapping[str, int], known: Iterable[str]) -> None:
    """Refuse tuning parameters that the program does not have."""
    names = set(known)
    for name in given:
        if name not in names:
            raise UsageError(unknown("parameter", name, names))
