"""The description of a program in its generated module: plain data, no OpenCL.

Everything is positional and defaults are common, so that printed modules stay short.
Most are named tuples, since the classes are made whenever a program is loaded, and a
dataclass takes half a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from minifut.immutables import immutable
from minifut.values.sized_text import sized_text

DTYPES: dict[str, np.dtype[Any]] = {
    **{
        f"{kind}{bits}": np.dtype(f"{numpy_kind}{bits // 8}")
        for kind, numpy_kind in (("i", "i"), ("u", "u"))
        for bits in (8, 16, 32, 64)
    },
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    "bool": np.dtype(np.bool_),
}
"""NumPy's name for each scalar type"""


class Kernel(NamedTuple):
    """One kernel: its name in `text`, the types of its parameters after `failure`, and
    the number of work-items per group (a tuple in 2-d and 3-d; None: given at launch,
    and known to the text as WORK_ITEMS).

    `text` None: the kernel is in the program's prelude. `macros`: pairs of a
    macro's name and the index of the tunable parameter that is its value, or for those
    in `per_launch` its bound: each launch gives their values to `Launcher.built`.
    `shaped`: the indices of parameters that sizes passed to it are computed from.
    `is_part`: whether a batch may have it as a part, called with its group (batch.py);
    `has_ranges`: whether groups may then be in any order.
    `places`: where the source has what launches it, as `FILE:LINE:COL`.
    """

    name: str
    types: tuple[str, ...]
    text: str | None = None
    local: int | tuple[int, ...] | None = 1
    macros: tuple[tuple[str, int], ...] = ()
    per_launch: tuple[str, ...] = ()
    shaped: tuple[int, ...] = ()
    is_part: bool = False
    places: tuple[str, ...] = ()
    has_ranges: bool = False


class Hole(NamedTuple):
    """A place in a message for a recorded value of a scalar type (`i64`, ..)."""

    type: str


class Failure(NamedTuple):
    """Message of a failure: texts, and holes for recorded values."""

    message: tuple[str | Hole, ...]
    backtrace: tuple[str, ...] = ()


class Parameter(NamedTuple):
    """A tunable number; `defaults` per kind of device ("cpu", "gpu") and
    family of GPUs (`device_family`)."""

    name: str
    kind: str
    defaults: Mapping[str, int]
    bounds: tuple[int, int] | None = None
    guards: str = ""


class EntryLeaf(NamedTuple):
    """A core parameter or result: a scalar (no shape), or an array.

    A dimension is a number that must match, the name of a size parameter of the entry
    point, or None (any).
    """

    type: str
    shape: tuple[int | str | None, ...] | None = None


@immutable
class Value:
    """A parameter or result as the user sees it; see `ir.EntryType`.

    `leaves` are all the leaves that stand for it, those of its `parts` in order or, of
    a sum's, those at their `slots`.
    """

    name: str
    text: str
    leaves: tuple[EntryLeaf, ...]
    unique: bool = False
    kind: str = "array"
    parts: tuple[Value, ...] = ()
    slots: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of leaves."""
        return len(self.leaves)

    @property
    def sized_text(self) -> str:
        """The type with its sizes: `[n]f32`."""
        return sized_text(self, [leaf.shape for leaf in self.leaves])


def leaves_of(values: tuple[Value, ...]) -> tuple[EntryLeaf, ...]:
    """The leaves of several values."""
    return tuple(leaf for value in values for leaf in value.leaves)


HostCallable = Callable[..., tuple[Any, ...]]


class Entry(NamedTuple):
    """An entry point: `function(run, *sizes, *leaves)` gives a tuple of leaves."""

    name: str
    function: HostCallable
    sizes: tuple[str, ...]
    parameters: tuple[Value, ...]
    results: tuple[Value, ...]
