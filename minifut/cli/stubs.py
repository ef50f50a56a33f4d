"""Types of entry points for type checkers, as a stub file beside a generated module.

    entry dot [n] (xs: [n]f32) (k: i64): f32
    -->
    class Loaded:
        def to_device(self, array: NDArray[Any]) -> DeviceArray: ...
        ...
        def dot(
            self,
            xs: NDArray[np.float32] | Sequence[float] | DeviceArray,
            k: int | np.int64,
            *, device: bool = ...
        ) -> np.float32: ...

A loaded program has what `opencl.runtime.instance` gives it, and its entry points. One
with arrays among its results has a second type, for `device=True`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence

from minifut.ir.core import Program
from minifut.ir.entries import Entry, EntryType

HEADER = '''\
# Types of a program compiled by minifut.
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, overload

import numpy as np
from _typeshed import DataclassInstance
from minifut.opencl.runtime.opaque_values import Opaque
from minifut.values.structured import StructArray, Variant
from numpy.typing import NDArray

class DeviceArray(Protocol):
    """An array in the device's memory."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> np.ndarray: ...
    def __len__(self) -> int: ...
    def get(self) -> np.ndarray: ...

class Fields(Protocol):
    """Values by the names of fields: a dict, a table."""

    def keys(self) -> Any: ...
    def __getitem__(self, name: Any, /) -> Any: ...
'''
RECORD = "Fields | DataclassInstance | np.void"
LOADED = '''\
class Loaded:
    """The program on a device."""

    @property
    def entries(self) -> Mapping[str, Callable[..., Any]]: ...
    @property
    def kind(self) -> str: ...
    parameters: tuple[Any, ...]
    program: Any
    queue: Any
    run: Any
    session: Any
    def entry(self, name: str) -> Callable[..., Any]: ...
    def set_parameters(self, parameters: Mapping[str, int]) -> None: ...
    def timed(self, name: str, arguments: tuple[Any, ...]) -> Any: ...
    def to_device(self, array: NDArray[Any]) -> DeviceArray: ...
    def watch(self, seen: Any) -> None: ...
'''
FOOTER = """\
class Generated:
    @property
    def entries(self) -> Sequence[Any]: ...
    @property
    def parameters(self) -> Sequence[Any]: ...
    def load(
        self,
        device: str | None = ...,
        parameters: Mapping[str, int] | None = ...,
        max_memory: int | None = ...,
        session: Any = ...,
    ) -> Loaded: ...

program: Generated
"""
PYTHON = {"i": "int", "u": "int", "f": "float", "b": "bool"}
"""Python's own type for each kind of number"""
TAKEN = frozenset(re.findall(r"^    (?:def )?(\w+)[:(]", LOADED, re.MULTILINE))
"""what a loaded program has besides its entry points; one of such a name is what
`entry(name)` gives"""


def stub_text(program: Program, documentation: Mapping[str, str]) -> str:
    """The stub file of a program's generated module."""
    methods = [
        line
        for entry in program.entries
        if entry.name.isidentifier()
        and not keyword.iskeyword(entry.name)
        and entry.name not in TAKEN
        for line in _method(entry, documentation.get(entry.name, ""))
    ]
    return "\n".join([HEADER, LOADED + "\n".join(methods), "", FOOTER])


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
    here = _several([_result(r, "NDArray[{}]") for r in entry.results])
    there = _several([_result(r, "DeviceArray") for r in entry.results])
    forms = [("device: bool = ...", here)]
    if here != there:
        forms = [("device: Literal[False] = ...", here)]
        forms.append(("device: Literal[True]", there))
    for option, returned in forms:
        if len(forms) > 1:
            yield "    @overload"
        yield f"    def {entry.name}("
        yield from (f"        {line}," for line in ("self", *given, "*", option))
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
            return RECORD
        case "sum":
            return "Variant"
        case "array":
            python, numpy = _scalar(type_.text.lstrip("*[]"))
            if rank := type_.text.count("["):
                listed = "Sequence[" * rank + python + "]" * rank
                return f"NDArray[{numpy}] | {listed} | DeviceArray"
            return f"{python} | {numpy}"
        case "array_of":
            return _array_of(type_.parts[0])
    return "Opaque"


def _array_of(element: EntryType) -> str:
    """An array of what is no scalar: an array for each leaf, or a list of elements."""
    rows = f"Sequence[{_argument(element)}]"
    match element.kind:
        case "array_of":
            return f"{_argument(element)} | {rows}"
        case "record":
            return f"Fields | {rows} | NDArray[np.void]"
        case "sum":
            return f"StructArray | {rows} | NDArray[np.object_]"
    arrays = _several(["Any"] * len(element.parts))
    return f"StructArray | {arrays} | {rows} | NDArray[np.void]"


def _result(type_: EntryType, array: str) -> str:
    """The type of a result; `array` is that of an array of the type put into it."""
    match type_.kind:
        case "tuple":
            return _several([_result(part, array) for part in type_.parts])
        case "record":
            return "dict[str, Any]"
        case "array_of":
            return "StructArray"
        case "sum":
            return "Variant"
        case "array":
            _, numpy = _scalar(type_.text.lstrip("*[]"))
            return array.format(numpy) if "[" in type_.text else numpy
    return "Opaque"
