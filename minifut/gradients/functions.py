"""Entry points as functions of other libraries: what these have in common.

minifut.torch.function(prog.loss)      minifut.jax.function(prog.loss)
as_entry(prog.loss, "torch")           the entry point, or an error that says so
arguments_of(entry, (w,), {"k": 2})    its arguments in order, without options
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.errors import ArgumentError, UsageError
from minifut.program import EntryPoint, Program


def as_entry(given: Any, library: str) -> EntryPoint:
    """The entry point that was given. Raises `UsageError` for anything else."""
    if isinstance(given, EntryPoint):
        return given
    what = f"{given!r:.60}"
    if isinstance(given, Program):
        known = ", ".join(f"prog.{name}" for name in given.entries)
        what = f"a program; give one of its entry points: {known}"
    raise UsageError(f"minifut.{library}.function takes an entry point, got {what}")


def arguments_of(
    entry: EntryPoint, arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The arguments in the order of the parameters. Raises `ArgumentError` if they do
    not fit them, or are options."""
    given, options = entry.bound(arguments, dict(named))
    if options:
        raise ArgumentError(
            f"{entry.name}: {', '.join(options)} is an option of calls with arrays of "
            "NumPy or the device only; leave it out"
        )
    return given
