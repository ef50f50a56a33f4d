"""What a backend gives a program: calls, timed runs, values of opaque types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Protocol

NO_ENTRIES = "no entry points, which begin with `entry`, not `def`"
"""what a program without them shows"""


class OpaqueValues(Protocol):
    """Makes values of opaque types from their arrays and scalars, and the reverse."""

    def make(self, text: str, leaves: Sequence[Any]) -> Any: ...
    def leaves(self, value: Any) -> list[Any]: ...


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


def with_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """It with `device=True`. Of a plain function, the same code with another default: a
    keyword argument takes a call 0.2 us to pass on."""
    defaults = getattr(function, "__kwdefaults__", None) or {}
    if not isinstance(function, FunctionType) or "device" not in defaults:
        return partial(function, device=True)
    same = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    same.__kwdefaults__ = {**defaults, "device": True}
    return same
