"""What batches of launches repeat."""

from __future__ import annotations

from typing import Any

import pytest

from minifut.opencl import runtime as rt
from minifut.opencl.runtime import batch
from minifut.opencl.runtime.batch import Batch
from minifut.opencl.runtime.iterations import Repeated


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[Repeated]:
    """What batches repeat, of kernels that are in from their second launch on."""
    if not rt.open_session(None).has_batches:
        pytest.skip("launches do not wait for other threads")
    found: list[Repeated] = []
    start = Batch.start

    def noted(self: Batch, launches: Any, more: Repeated | None = None) -> Any:
        found.extend([] if more is None else [more])
        return start(self, launches, more)

    monkeypatch.setattr(Batch, "start", noted)
    monkeypatch.setattr(batch, "OFTEN", 2)
    monkeypatch.setattr(batch, "SOMETIMES", 1)
    return found
