"""Calls ahead of time, so that no kernel is built while a user waits.

    prog.warm_up(n=100_000, d=16, rounds=3)

Kernels are built when a run first launches them, and which of a program's versions run
depends on the sizes. So each entry point whose sizes are all given is run once, on
arrays of zeros. Scalars may be sizes inside, or numbers of iterations: they are given
by the names of their parameters, and are one otherwise. Where such a one is a size of a
result, a warning says so: with another size, another version may run, whose kernels are
not built. A failure on these values says nothing of others.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import ProgramError, UsageError
from minifut.inspection import meant
from minifut.suggestions import unknown
from minifut.values.types import DTYPES

if TYPE_CHECKING:
    from minifut.program import EntryPoint, Program
    from minifut.signature import Parameter


def warm_up(
    program: Program, sizes: Mapping[str, Any], entry: str | EntryPoint | None = None
) -> tuple[str, ...]:
    """Run what can be run with these sizes, and scalars by the names of parameters; the
    names of those entry points. Raises `UsageError` as `Program.warm_up` says."""
    every = list(program.entries.values())
    chosen = every if entry is None else [meant(program, entry)]
    known = {size for point in chosen for size in sizes_of(point)}
    names = known.union(*(_scalars_of(point) for point in chosen))
    for name, size in sizes.items():
        if name not in names:
            raise UsageError(unknown("size or scalar parameter", name, names))
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if name in known and not (whole and size >= 0):
            raise UsageError(f"size {name} must be an integer from 0, not {size!r}")
    ready = [point for point in chosen if can_be_made(point, sizes)]
    if chosen and not ready:
        raise UsageError("; ".join(_why_not(point, sizes) for point in chosen))
    for point in ready:
        _warn_of_guessed_sizes(point, sizes)
        try:
            point(*[_value(parameter, sizes) for parameter in point.parameters])
        except ProgramError:
            continue
    return tuple(point.name for point in ready)


def sizes_of(point: EntryPoint) -> set[str]:
    """The names of sizes in the types of the parameters."""
    return {
        size
        for parameter in point.parameters
        for size in parameter.shape or ()
        if isinstance(size, str)
    }


def _scalars_of(point: EntryPoint) -> set[str]:
    """The names of the parameters that are scalars."""
    return {parameter.name for parameter in point.parameters if parameter.shape == ()}


def _why_not(point: EntryPoint, sizes: Mapping[str, Any]) -> str:
    missing = ", ".join(sorted(sizes_of(point) - sizes.keys()))
    why = f"give the sizes {missing}" if missing else "call it with arguments"
    return f"{point.name} cannot be run ahead of time: {why}"


def _warn_of_guessed_sizes(point: EntryPoint, given: Mapping[str, Any]) -> None:
    of_results = {size for result in point.results for size in result.shape or ()}
    guessed = sorted((_scalars_of(point) & of_results) - given.keys())
    if guessed:
        logging.getLogger("minifut").warning(
            "warm_up runs %s with %s, which %s of its result: calls with other sizes "
            "may need further kernels; give warm_up(%s)",
            point.name,
            " and ".join(f"{name} = 1" for name in guessed),
            "is a size" if len(guessed) == 1 else "are sizes",
            ", ".join([*given, *(f"{name}=.." for name in guessed)]),
        )


def can_be_made(point: EntryPoint, sizes: Mapping[str, Any]) -> bool:
    """Whether the sizes say enough of each parameter."""
    return sizes_of(point) <= sizes.keys() and all(
        parameter.shape is not None and None not in parameter.shape
        for parameter in point.parameters
    )


def _value(parameter: Parameter, sizes: Mapping[str, Any]) -> Any:
    type_ = parameter.value_type
    assert type_ is not None
    assert parameter.shape is not None
    dtype = DTYPES[type_.element]
    if not type_.rank:
        return sizes.get(parameter.name, dtype.type(1))
    shape = [sizes[n] if isinstance(n, str) else int(n or 0) for n in parameter.shape]
    try:
        return np.zeros(shape, dtype)
    except (ValueError, MemoryError):  # more than can be addressed, or than there is
        text = f"{parameter.name}: {'x'.join(map(str, shape))} {dtype}"
        raise MemoryError(f"there is no memory for {text}") from None
