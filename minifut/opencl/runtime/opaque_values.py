"""Opaque values from arrays and back, for what makes, shows or stores such values.

values.make("[](i32, bool)", [numbers, truths])      what an entry point takes
values.leaves(value)                                 the arrays behind a result
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifut.immutables import immutable
from minifut.opencl.runtime.describe import DTYPES, EntryLeaf
from minifut.opencl.runtime.queue import Session
from minifut.values.types import element_name


@immutable
class Opaque:
    """A value whose structure only its program defines; it can be given back to
    that, also after it was pickled."""

    text: str
    leaves: tuple[Any, ...]
    """scalars, and of each array its block and its shape; where the value was
    pickled, an array of NumPy is in the place of the block"""
    program: str
    types: tuple[str, ...]
    """NumPy's types of the leaves' elements"""

    def __repr__(self) -> str:
        return f"<opaque {self.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        found = (
            (copied, copied.shape) if isinstance(kept, tuple) else kept
            for kept, copied in zip(self.leaves, self.arrays(), strict=True)
        )
        return Opaque, (self.text, tuple(found), self.program, self.types)

    def arrays(self) -> list[Any]:
        """Copies of the leaves for the host."""
        found: list[Any] = []
        for dtype, kept in zip(self.types, self.leaves, strict=True):
            if not isinstance(kept, tuple):
                found.append(np.dtype(dtype).type(kept))
                continue
            block, shape = kept
            if isinstance(block, np.ndarray):
                found.append(block.copy())
                continue
            array = np.empty(shape, dtype)
            session = block.pool.session
            with session.lock:
                session.fetch(block, array)
            found.append(array)
        return found


def parts_of(leaves: tuple[EntryLeaf, ...]) -> str:
    """What a value with these leaves consists of: `i64, []f32`."""
    return ", ".join("[]" * len(leaf.shape or ()) + leaf.type for leaf in leaves)


def shown_parts(given: Opaque) -> str:
    """What a value consists of."""
    ranks = (len(kept[1]) if isinstance(kept, tuple) else 0 for kept in given.leaves)
    names = (element_name(np.dtype(type_)) or type_ for type_ in given.types)
    return ", ".join("[]" * rank + n for rank, n in zip(ranks, names, strict=True))


def fits(leaves: tuple[EntryLeaf, ...], given: Opaque) -> bool:
    """Whether these may be the insides of an opaque value: a program of the same name
    may know another type by this text."""
    if given.types != tuple(DTYPES[leaf.type].name for leaf in leaves):
        return False
    for leaf, inner in zip(leaves, given.leaves, strict=True):
        if isinstance(inner, tuple) != (leaf.shape is not None):
            return False
        if leaf.shape is not None:
            block, shape = inner
            needed = DTYPES[leaf.type].itemsize * int(np.prod(shape, dtype=np.int64))
            if len(shape) != len(leaf.shape) or block.nbytes < needed:
                return False
    return True


class DeviceOpaques:
    """The opaque values of one loaded program."""

    def __init__(self, session: Session, program: str) -> None:
        self._session = session
        self._program = program

    def make(self, text: str, leaves: Sequence[Any]) -> Opaque:
        """A value of the type with these leaves: arrays, or scalars."""
        kept: list[Any] = []
        for leaf in leaves:
            if np.ndim(leaf):
                block = self._session.upload(np.ascontiguousarray(leaf))
                kept.append((block, tuple(leaf.shape)))
            else:
                kept.append(np.asarray(leaf).item())
        types = tuple(str(np.asarray(leaf).dtype) for leaf in leaves)
        return Opaque(text, tuple(kept), self._program, types)

    def leaves(self, value: Any) -> list[Any]:
        """Copies of the value's leaves."""
        found: list[Any] = value.arrays()
        return found
