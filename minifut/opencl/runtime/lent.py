"""Results of recorded calls as arrays of the device: memory of recordings, lent.

    e = f(d, device=True)        the recording's own result, without a copy
    e = f(e, device=True)        that of a second recording, as the first has a user
    e = f(e, device=True)        the first again: nothing refers to it any more

A call on arrays of NumPy gives a new array. One that leaves its results on the device
has an object more to make and to forget, which is to cost no more than that: so there
are two recordings whose results are lent as they are, each with its array. Reference
counts say whether a user has one; if both are in use, the results are copied.

Nobody but the recording writes to what it lends: an array of the device whose user
enqueues commands has memory of its own from then on (`minifut_complete`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any

from minifut.opencl.runtime.arrays import NEW_OBJECT, shared_result
from minifut.opencl.runtime.pool import PoolBlock
from minifut.opencl.runtime.recorded import lines_of

if TYPE_CHECKING:
    from minifut.opencl.runtime.queue import Session
    from minifut.opencl.runtime.recorded import Recording, Replay

LENDERS = 2
"""recordings of a call that lend: a loop has a result while it makes the next one"""
PATIENCE = 32
"""copies until others take the place of recordings whose results stay in use: in that
time some are made; then twice as many"""


def lending(
    session: Session,
    make: Callable[[], Recording],
    replay: Replay,
    keep: Callable[[Replay], None],
    patience: int = PATIENCE,
) -> Replay:
    """The recorded call as one whose results stay on the device. `make` records it once
    more, `replay` gives results of NumPy, `keep` is called with what takes the place
    of what this gives."""
    recording = make()
    if not recording.places:
        return replay
    kind = session.device_array
    copying = _copying(kind, replay, len(recording.given), recording.places)
    if not _counts_references() or not _may_lend(recording):
        return copying
    left = patience

    def busy(*arrays: Any) -> tuple[Any, ...] | None:
        nonlocal left
        left -= 1
        if not left:
            keep(lending(session, make, replay, keep, 2 * patience))
        return copying(*arrays)

    last: Replay = busy
    for number in range(LENDERS):
        last = _lender(session, make() if number else recording, last)
    return last


def _counts_references() -> bool:
    """Whether the count of an object's references is exact."""
    has_lock: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return hasattr(sys, "getrefcount") and has_lock()


def _may_lend(recording: Recording) -> bool:
    """Whether each result has a block of its own."""
    blocks = [recording.results[place].block for place in recording.places]
    own = all(isinstance(b, PoolBlock) and not b.borrowed for b in blocks)
    return own and len(set(map(id, blocks))) == len(blocks)


def _copying(kind: Any, replay: Replay, arrays: int, places: Sequence[int]) -> Replay:
    names = {"kind": kind, "new": NEW_OBJECT, "replay": replay}
    exec(_copying_code(arrays, tuple(places)), names)
    found: Replay = names.pop("copying")
    return found


def _lender(session: Session, recording: Recording, busy: Replay) -> Replay:
    """The call that lends the results of its recording, or else is left to `busy`."""
    names = recording.names(session)
    names |= {"busy": busy, "getrefcount": sys.getrefcount}
    for place in recording.places:
        result = recording.results[place]
        assert result.block is not None
        form = result.view.shape, result.view.dtype
        view = shared_result(session, result.block, *form)
        names[f"out_{place}"] = view
        names[f"over_{place}"] = over = NEW_OBJECT(session.device_array)
        over.minifut_view = view
        del view, over
    places = tuple(recording.places)
    forms = tuple(result.form for result in recording.results)
    arrays = len(recording.given)
    exec(_lending_code(arrays, forms, places), names)
    names |= zip(
        (f"count_{number}" for number in range(2 * len(places))),
        names.pop("counts")(),
        strict=True,
    )
    found: Replay = names.pop("lending")  # no cycle
    return found


@cache
def _copying_code(arrays: int, places: tuple[int, ...]) -> CodeType:
    given = ", ".join(f"array_{number}" for number in range(arrays))
    lines = [
        f"def copying({given}):",
        f"    results = replay({given})",
        "    if results is None:",
        "        return None",
        "    results = list(results)",
    ]
    for place in places:
        lines += [
            "    over = new(kind)",
            f"    over.minifut_view = results[{place}]",
            f"    results[{place}] = over",
        ]
    lines.append("    return tuple(results)")
    return compile("\n".join(lines), "<recorded call>", "exec")


@cache
def _lending_code(
    arrays: int, forms: tuple[str, ...], places: tuple[int, ...]
) -> CodeType:
    given = ", ".join(f"array_{number}" for number in range(arrays))
    counts = [f"getrefcount({n}_{place})" for place in places for n in ("over", "out")]
    in_use = [f"{count} != count_{number}" for number, count in enumerate(counts)]
    results = (
        f"over_{place}" if place in places else form.format(place)
        for place, form in enumerate(forms)
    )
    lines = [
        "def counts():",
        f"    return ({', '.join(counts)}, )",
        f"def lending({given}):",
        f"    if {' or '.join(in_use)}:",
        f"        return busy({given})",
        *lines_of(arrays, forms),
        f"    return ({''.join(f'{result}, ' for result in results)})",
    ]
    return compile("\n".join(lines), "<recorded call>", "exec")
