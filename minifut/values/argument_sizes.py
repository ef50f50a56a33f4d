"""Sizes of arrays among arguments: each that has a name is the same in all of them.

    add: argument ys: dimension 1 must be 3 (n, from argument xs), got 4

The same check, with the same message, for each backend.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from minifut.errors import ArgumentError

KnownSizes = dict[Hashable, tuple[int, str]]
"""a size's value and the argument that gave it"""


def check_sizes(
    entry: str,
    path: str,
    wanted: Sequence[Hashable | int | None],
    shape: Sequence[int],
    known: KnownSizes,
    names: Mapping[Any, str] | None = None,
) -> None:
    """Compare an argument's shape with its dimensions: numbers, sizes, or None where
    any fits. Sizes that it is the first to have become known. `names` are shown for
    sizes that are no text. Raises `ArgumentError`."""
    for dimension, (size, came) in enumerate(zip(wanted, shape, strict=True)):
        if size is None:
            continue
        if isinstance(size, int):
            needed, why = size, ""
        elif size not in known:
            known[size] = came, path
            continue
        else:
            needed, origin = known[size]
            shown = names[size] if names else size
            why = f" ({shown}, from argument {origin})"
        if needed != came:
            raise ArgumentError(
                f"{entry}: argument {path}: dimension {dimension} must be {needed}"
                f"{why}, got {came}"
            )
