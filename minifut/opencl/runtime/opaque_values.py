"""Opaque values from arrays and back, for tests that make or show such values.

values.make("[](i32, bool)", [numbers, truths])      what an entry point takes
values.leaves(value, [np.int32, np.bool_])           the arrays behind a result
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifut.opencl.runtime.entry import Opaque
from minifut.opencl.runtime.queue import Session


class OpaqueValues:
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
        return Opaque(text, tuple(kept), self._program)

    def leaves(self, value: Any, dtypes: Sequence[Any]) -> list[Any]:
        """Copies of the value's leaves, which have these types."""
        found: list[Any] = []
        for dtype, kept in zip(dtypes, value.leaves, strict=True):
            if isinstance(kept, tuple):
                block, shape = kept
                array = np.empty(shape, dtype)
                self._session.fetch(block, 0, array)
                found.append(array)
            else:
                found.append(np.dtype(dtype).type(kept))
        return found
