"""What kernels and host functions refer to by number or by name.

Failures are numbered from 1, equal ones once, and so are the places of calls; names of
kernels are words of OpenCL C that nothing else has.
"""

from __future__ import annotations

from minifut.errors import Location
from minifut.ir.core import Atom
from minifut.ir.opencl_words import is_opencl_word
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc


class FailureTable:
    """The failures of a program, and the places where it calls functions."""

    def __init__(self) -> None:
        self._failures: dict[kc.Failure, int] = {}
        self._places: dict[str, int] = {}

    @property
    def failures(self) -> tuple[kc.Failure, ...]:
        return tuple(self._failures)

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(self._places)

    def number(
        self,
        message: tuple[str | Atom, ...],
        types: tuple[ScalarType, ...],
        backtrace: tuple[str, ...],
    ) -> int:
        """The number of a failure whose atoms have these types."""
        holes = iter(types)
        parts = tuple(p if isinstance(p, str) else next(holes) for p in message)
        failure = kc.Failure(parts, backtrace)
        return self._failures.setdefault(failure, len(self._failures) + 1)

    def place(self, location: Location | None) -> int:
        """The number of a place that calls a function of the device."""
        text = "" if location is None else str(location)
        return self._places.setdefault(text, len(self._places) + 1)


class KernelNames:
    """The names of a program's kernels."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """A name that no other kernel has."""
        text = "".join(c if c.isascii() and c.isalnum() else "_" for c in base)
        text += "_" * is_opencl_word(text)
        number = self._numbers.get(text, 0)
        self._numbers[text] = number + 1
        return f"{text}_{number + 1}" if number else text
