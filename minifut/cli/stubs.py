"""Types of entry points for type checkers, as a stub file beside a generated module.

    entry dot [n] (xs: [n]f32) (k: i64): f32
    -->
    class Loaded:
        def dot(
            self, xs: NDArray[np.float32] | DeviceArray, k: int | np.int64,
            *, device: bool = ...
        ) -> np.float32: ...

Results that stay on the device are typed as arrays, as what `np.asarray` makes of them.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence

from minifut.ir.core import Program
from minifut.ir.entries import Entry, EntryType

HEADER = '''\
# Types of a program compiled by minifut.
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from minifut.values.structured import StructArray, Variant
from numpy.typing import NDArray

class DeviceArray(Protocol):
    """An array in the device's memory."""

    def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> np.ndarray: ...
    def get(self) -> np.ndarray: ...
'''
FOOTER = """\
class Generated:
    def load(
        self,
        device: str | None = ...,
        parameters: Mapping[str, int] | None = ...,
        max_memory: int | None = ...,
    ) -> Loaded: ...

program: Generated
"""
PYTHON = {"i": "int", "u": "int", "f": "float", "b": "bool"}
"""Python's own type for each kind of number"""


def stub_text(program: Program, documentation: Mapping[str, str]) -> str:
    """The stub file of a program's generated module."""
    methods = [
        line
        for entry in program.entries
        if entry.name.isidentifier() and not keyword.iskeyword(entry.name)
        for line in _method(entry, documentation.get(entry.name, ""))
    ]
    body = methods or ["    ..."]
    loaded = "\n".join(["class Loaded:", *body])
    return f"{HEADER}\n{loaded}\n\n{FOOTER}"


def _method(entry: Entry, documentation: str) -> Iterator[str]:
    names = [p.name for p in entry.parameters]
    by_name = len(set(names)) == len(names) and all(
        name.isidentifier() and not keyword.iskeyword(name) for name in names
    )
    if not by_name:
        names = [f"__argument_{number}" for number in range(len(names))]
    given = [
        f"{name}: {_argument(p)}"
        for name, p in zip(names, entry.parameters, strict=True)
    ]
    yield f"    def {entry.name}("
    yield from (f"        {line}," for line in ("self", *given))
    yield "        *,"
    yield "        device: bool = ...,"
    returned = _several([_result(r) for r in entry.results])
    if documentation:
        yield f"    ) -> {returned}:"
        yield f"        {documentation!r}"
    else:
        yield f"    ) -> {returned}: ..."


def _several(types: Sequence[str]) -> str:
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types) or '()'}]"


def _scalar(element: str) -> tuple[str, str]:
    """Python's type of a scalar type, and NumPy's."""
    kind = element[0]
    if element == "bool":
        return "bool", "np.bool_"
    word = {"i": "int", "u": "uint", "f": "float"}[kind]
    return PYTHON[kind], f"np.{word}{element[1:]}"


def _argument(type_: EntryType) -> str:
    match type_.kind:
        case "tuple":
            return _several([_argument(part) for part in type_.parts])
        case "record":
            return "Mapping[str, Any]"
        case "sum":
            return "Variant"
        case "array":
            python, numpy = _scalar(type_.text.lstrip("*[]"))
            if "[" in type_.text:
                return f"NDArray[{numpy}] | DeviceArray"
            return f"{python} | {numpy}"
    return "Any"


def _result(type_: EntryType) -> str:
    match type_.kind:
        case "tuple":
            return _several([_result(part) for part in type_.parts])
        case "record":
            return "dict[str, Any]"
        case "array_of":
            return "StructArray"
        case "sum":
            return "Variant"
        case "array":
            _, numpy = _scalar(type_.text.lstrip("*[]"))
            return f"NDArray[{numpy}]" if "[" in type_.text else numpy
    return "Any"
