"""Arguments and results of entry points, checked and converted by what is described.

A message names the parameter, the dimension, what was expected and what was given:

    main: argument xs: expected []f32, got an array of float64; use .astype(np.float32)
    main: argument ys: dimension 1 must be 3 (n, from argument xs), got 4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import ArgumentError, UsageError, counted
from minifut.immutables import immutable
from minifut.opencl.runtime import arrays
from minifut.opencl.runtime.describe import DTYPES, Entry, EntryLeaf, Value
from minifut.opencl.runtime.opaque_values import Opaque, fits, parts_of, shown_parts
from minifut.opencl.runtime.pool import PoolBlock
from minifut.suggestions import nearest_or_all
from minifut.values.argument_sizes import KnownSizes, check_sizes
from minifut.values.foreign import NoView, astype_hint, numpy_view, scalar_of
from minifut.values.structured import close_value
from minifut.values.structured_arguments import Blank, Leaves, WrongValue, open_value

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session

_NO_ARRAYS = (str, int, float, np.generic, Opaque)


class Converter:
    """One entry point's way in and out."""

    def __init__(self, session: Session, program: str, entry: Entry) -> None:
        self.session = session
        self.program = program
        self.entry = entry
        self._plain = [
            p.leaves[0] if p.kind == "array" and len(p.leaves) == 1 else None
            for p in entry.parameters
        ]

    # --- in ---------------------------------------------------------------------------

    def leaves_of(self, arguments: tuple[Any, ...]) -> list[Any]:
        """The core arguments, sizes first."""
        entry = self.entry
        if len(arguments) != len(entry.parameters):
            names = ", ".join(f"{p.name}: {p.text}" for p in entry.parameters)
            raise ArgumentError(
                f"{entry.name} takes {counted(len(entry.parameters), 'argument')} "
                f"({names}), got {len(arguments)}"
            )
        sizes: KnownSizes = {}
        leaves: list[Any] = []
        for parameter, plain, given in zip(
            entry.parameters, self._plain, arguments, strict=True
        ):
            if plain is None:
                self._open(parameter, given, sizes, leaves)
            else:
                leaves.append(
                    self._leaf(parameter, plain, given, parameter.name, sizes)
                )
        if None in self._plain:
            self._fill_blanks(leaves, sizes)
        found = []
        for name in entry.sizes:
            if name not in sizes:
                raise ArgumentError(f"{entry.name}: the size {name} is not determined")
            found.append(sizes[name][0])
        return found + leaves

    def _open(
        self, value: Value, given: Any, sizes: KnownSizes, leaves: list[Any]
    ) -> None:
        """The leaves of a value that is no array of scalars."""

        def opaque(part: Value, inner: Any, path: str) -> Leaves:
            opened = self._open_opaque(part, inner, path, sizes)
            return [(_Opened(leaf), path) for leaf in opened]

        try:
            found = open_value(value, given, value.name, opaque)
        except WrongValue as error:
            self._wrong(error.path, error.given, error.expected, error.why)
        for leaf, (inner, path) in zip(value.leaves, found, strict=True):
            if isinstance(inner, _Opened):
                leaves.append(inner.leaf)
            elif isinstance(inner, Blank):
                leaves.append(_Pending(leaf, inner, path))
            else:
                part = Value(path, _text(leaf), (leaf,), value.unique)
                leaves.append(self._leaf(part, leaf, inner, path, sizes))

    def _fill_blanks(self, leaves: list[Any], sizes: KnownSizes) -> None:
        """Zeros for leaves that nothing examines, now that all sizes are known."""
        for place, pending in enumerate(leaves):
            if not isinstance(pending, _Pending):
                continue
            leaf = pending.leaf
            dtype = DTYPES[leaf.type]
            if leaf.shape is None:
                zero = dtype.type(0)
                leaves[place] = zero if dtype.kind == "f" else zero.item()
                continue
            known = {name: size for name, (size, _) in sizes.items()}
            shape = pending.blank.shape(leaf.shape, known.get)
            self._check_shape(leaf, shape, pending.path, sizes)
            leaves[place] = self.session.upload(np.zeros(shape, dtype))

    def _open_opaque(
        self, value: Value, given: Any, path: str, sizes: KnownSizes
    ) -> list[Any]:
        if not isinstance(given, Opaque) or given.text != value.text:
            self._wrong(path, given, f"an opaque value of type {value.text}")
        if given.program != self.program or not fits(value.leaves, given):
            wanted, came = parts_of(value.leaves), shown_parts(given)
            why = f"has {wanted}, this one {came}"
            why = why if came != wanted else "belongs to another program"
            raise ArgumentError(
                f"{self.entry.name}: argument {path}: a value of type {value.text} "
                f"{why}; give one that this program made"
            )
        leaves = []
        for leaf, inner in zip(value.leaves, given.leaves, strict=True):
            if leaf.shape is None:
                leaves.append(inner)
                continue
            block, shape = inner
            self._check_shape(leaf, shape, path, sizes)
            if isinstance(block, np.ndarray):
                block = arrays.block_of_array(self.session, block, value.unique)
            elif value.unique:
                nbytes = DTYPES[leaf.type].itemsize * int(np.prod(shape, dtype=int))
                copy = self.session.pool.allocate(nbytes)
                self.session.copy(copy, 0, block, 0, nbytes)
                block = copy
            leaves.append(block)
        return leaves

    def _leaf(
        self, value: Value, leaf: EntryLeaf, given: Any, path: str, sizes: KnownSizes
    ) -> Any:
        dtype = DTYPES[leaf.type]
        if leaf.shape is None:
            return self._scalar(value, dtype, given, path)
        if given.__class__ is not np.ndarray:
            if arrays.is_device_array(given):
                self._check_array(value, leaf, given, dtype, path)
                self._check_shape(leaf, given.shape, path, sizes)
                return arrays.block_of_device_array(self.session, given, value.unique)
            array = self._as_array(value, given, dtype, path)
            if array.dtype.newbyteorder("=") != dtype:
                self._check_array(value, leaf, array, dtype, path, given)
            given = array
        if given.dtype != dtype or given.ndim != len(leaf.shape):
            if given.dtype.newbyteorder("=") == dtype:
                given = given.astype(dtype)
            self._check_array(value, leaf, given, dtype, path)
        self._check_shape(leaf, given.shape, path, sizes)
        return arrays.block_of_array(self.session, given, value.unique)

    def _as_array(
        self, value: Value, given: Any, dtype: np.dtype, path: str
    ) -> np.ndarray:
        if not isinstance(given, list | tuple | range):
            if given is None or isinstance(given, _NO_ARRAYS):
                text = "; use text.encode() for bytes" if isinstance(given, str) else ""
                self._wrong(path, given, f"an array ({value.text})", text)
            try:
                return numpy_view(given)
            except NoView as reason:
                expected = f"an array ({value.text})"
                self._wrong(path, given, expected, f": {reason}")
        try:
            array = np.array(given)
        except ValueError:
            hint = (
                "; rows of different lengths must be padded, or given as one flat array"
            )
            self._wrong(path, given, f"a regular array ({value.text})", hint)
        if array.size == 0:
            return array.astype(dtype)
        if not np.can_cast(array.dtype, dtype, "same_kind") or array.dtype.kind == "O":
            self._check_kind(value, array, dtype, path, given)
        with np.errstate(over="ignore"):
            converted = array.astype(dtype)
        if dtype.kind in "iu" and not np.array_equal(converted, array):
            self._wrong(path, given, f"numbers that fit {dtype.name}")
        return converted

    def _check_kind(
        self, value: Value, array: np.ndarray, dtype: np.dtype, path: str, given: Any
    ) -> None:
        if not (array.dtype.kind == "i" and dtype.kind == "u"):
            hint = astype_hint(array.dtype, dtype, given)
            self._wrong(path, array, value.text, hint)

    def _check_array(
        self,
        value: Value,
        leaf: EntryLeaf,
        given: Any,
        dtype: np.dtype,
        path: str,
        viewed: Any = None,
    ) -> None:
        assert leaf.shape is not None
        if given.ndim != len(leaf.shape):
            raise ArgumentError(
                f"{self.entry.name}: argument {path}: expected {value.text} "
                f"({len(leaf.shape)}-d), got an array of shape {given.shape}"
            )
        if given.dtype != dtype:
            hint = astype_hint(given.dtype, dtype, viewed)
            raise ArgumentError(
                f"{self.entry.name}: argument {path}: expected {value.text}, got an "
                f"array of {given.dtype}{hint}"
            )

    def _check_shape(
        self, leaf: EntryLeaf, shape: tuple[int, ...], path: str, sizes: KnownSizes
    ) -> None:
        assert leaf.shape is not None
        check_sizes(self.entry.name, path, leaf.shape, shape, sizes)

    def _scalar(self, value: Value, dtype: np.dtype, given: Any, path: str) -> Any:
        if not isinstance(given, int | float | np.generic):
            given = scalar_of(given)
        kind = dtype.kind
        if kind in "iu":
            if isinstance(given, int | np.integer) and not isinstance(given, bool):
                number = int(given)
                info = np.iinfo(dtype)
                if info.min <= number <= info.max:
                    return number
                self._wrong(path, given, f"from {info.min} to {info.max}")
        elif kind == "f":
            number_like = isinstance(given, float | int | np.integer | np.floating)
            if number_like and not isinstance(given, bool):
                with np.errstate(over="ignore"):
                    return dtype.type(given)
        elif isinstance(given, bool | np.bool_):
            return bool(given)
        self._wrong(path, given, value.text)

    def _wrong(self, path: str, given: Any, expected: str, why: str = "") -> Any:
        raise ArgumentError(
            f"{self.entry.name}: argument {path}: expected {expected}, got "
            f"{describe(given)}{why}"
        )

    # --- out --------------------------------------------------------------------------

    def results_of(self, leaves: tuple[Any, ...], on_device: bool) -> tuple[Any, ...]:
        """What the user gets, its contents there after the next wait."""
        seen: set[int] = set()  # blocks that the user has as arrays from now on
        make = arrays.device_result if on_device else arrays.start_result
        results = []
        at = 0
        for value in self.entry.results:
            count = len(value.leaves)
            results.append(self._close(value, leaves[at : at + count], make, seen))
            at += count
        return tuple(results)

    def _close(
        self,
        value: Value,
        leaves: tuple[Any, ...],
        make: Callable[..., Any],
        seen: set[int],
    ) -> Any:
        def leaf_of(place: int) -> Any:
            leaf, given = value.leaves[place], leaves[place]
            dtype = DTYPES[leaf.type]
            if leaf.shape is None:
                return wrapped(given, dtype)
            block, shape = given
            seen.add(id(block))
            return make(self.session, block, shape, dtype)

        if value.kind == "array":
            return leaf_of(0)
        if value.kind == "opaque":
            return self._close_opaque(value, leaves, seen)
        opaque = _positions_of_opaque(value)
        found = [
            leaves[place] if place in opaque else leaf_of(place)
            for place in range(value.count)
        ]
        return close_value(
            value, found, lambda part, own: self._close_opaque(part, tuple(own), seen)
        )

    def _close_opaque(
        self, value: Value, leaves: tuple[Any, ...], seen: set[int]
    ) -> Opaque:
        kept: list[Any] = []
        for leaf, given in zip(value.leaves, leaves, strict=True):
            if leaf.shape is None:
                kept.append(given)
                continue
            block, shape = given
            if isinstance(block, PoolBlock) and id(block) not in seen:
                block.borrowed = True  # values that nothing can change may share it
            else:
                dtype = DTYPES[leaf.type]
                block = arrays.owned(self.session, block, shape, dtype)
            kept.append((block, shape))
        types = tuple(DTYPES[leaf.type].name for leaf in value.leaves)
        return Opaque(value.text, tuple(kept), self.program, types)


def _positions_of_opaque(value: Value) -> frozenset[int]:
    """Which leaves of a value belong to opaque parts."""
    if value.kind == "opaque":
        return frozenset(range(value.count))
    found: set[int] = set()
    at = 0
    for part in value.parts:
        inner = _positions_of_opaque(part)
        if value.kind == "sum":
            found |= {part.slots[place] for place in inner}
        else:
            found |= {at + place for place in inner}
            at += part.count
    return frozenset(found)


def _text(leaf: EntryLeaf) -> str:
    return "[]" * len(leaf.shape or ()) + leaf.type


@immutable
class _Pending:
    """A leaf to be filled with zeros."""

    leaf: EntryLeaf
    blank: Blank
    path: str


@immutable
class _Opened:
    """A leaf that is ready for the program."""

    leaf: Any


def wrapped(value: Any, dtype: np.dtype) -> Any:
    """A host scalar as a NumPy scalar of its type; integers wrap."""
    if dtype.kind in "iu" and isinstance(value, int):
        bits = 8 * dtype.itemsize
        value &= (1 << bits) - 1
        if dtype.kind == "i" and value >> (bits - 1):
            value -= 1 << bits
    return dtype.type(value)


def describe(given: Any) -> str:
    """What was given, in a few words."""
    if isinstance(given, np.ndarray):
        return f"an array of {given.dtype} of shape {given.shape}"
    if isinstance(given, np.generic):
        return f"{given!r}"
    if given is None or isinstance(given, bool | int | float):
        return f"{given!r}"
    text, kind = repr(given), type(given).__name__
    if len(text) > 40:
        return kind
    return text if text.startswith(kind) else f"{kind} {text}"


def unknown_entry(name: str, known: list[str]) -> UsageError:
    """The error for an entry point that does not exist, with the nearest one."""
    return UsageError(f"no entry point '{name}'; {nearest_or_all(name, known)}")
