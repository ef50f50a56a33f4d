"""Failures on the device: one cell that kernels write and the host reads.

The cell is 16 longs: an int that is 0 or the number of the failure, then up to 8 values
for its message, then ints: how many calls led there, and the numbers of their places,
innermost first. The first work-item to fail wins by compare-and-swap and leaves; later
kernels read the number and return at once. The host reads it when it waits anyway,
finds message and place by the number, clears the cell, and goes on.

Behind it, in a cache line of its own, is how many groups of the launch that runs have
come to its end: the last one to arrive is detected there, and resets it to 0. Groups
that left because of a failure do not come, but then the host clears all. In the next
line is how many groups the workers of the launch have taken beyond the first of each;
in the end each takes one that does not exist, and the last to do so makes it 0 again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifut.errors import ProgramError
from minifut.opencl.runtime.describe import DTYPES, Failure, Hole

CELL_LONGS = 32
ARRIVED, TAKEN = 16, 24
"""the longs of the cell that count groups that came, and that were taken"""
INTERRUPTED = 0x7FFFFFFF
"""the number that makes kernels return at once without being a failure"""


def _fail_function(count: int) -> str:
    names = [chr(ord("a") + i) for i in range(count)]
    parameters = "".join(f", long {name}" for name in names)
    stores = "".join(f" v[{i}] = {name};" for i, name in enumerate(names))
    pointer = "global long *v = (global long *)failure + 1;" if count else ""
    return (
        f"static int minifut_fail{count}"
        f"(global int *failure, int number{parameters}) {{\n"
        "  if (atomic_cmpxchg((volatile global int *)failure, 0, number)) return 1;\n"
        f"  {pointer}{stores} return 2;\n}}\n"
    )


TRAIL = 9
"""the long of the cell where the calls begin"""
LONGEST_TRAIL = 2 * (ARRIVED - TRAIL) - 1

_CALLED_FUNCTION = f"""\
static int minifut_called(global int *failure, int left, int place) {{
  global int *trail = failure + {2 * TRAIL};
  if (left == 2 && trail[0] < {LONGEST_TRAIL}) trail[++trail[0]] = place;
  return left;
}}
"""

_IS_LAST_GROUP = f"""\
static int minifut_is_last_group(global int *failure, long groups) {{
  volatile global int *arrived = failure + {2 * ARRIVED};
  if (atomic_inc(arrived) != groups - 1) return 0;
  atomic_xchg(arrived, 0);
  return 1;
}}
"""

_FETCH_WORK = f"""\
static long minifut_fetch_work(global int *failure, long groups, long workers) {{
  volatile global int *taken = failure + {2 * TAKEN};
  int number = atomic_inc(taken);
  if (number == groups - 1) atomic_xchg(taken, 0);
  return workers + number;
}}
"""

FAILURE_TEXT = "".join(
    (*map(_fail_function, range(9)), _CALLED_FUNCTION, _IS_LAST_GROUP, _FETCH_WORK)
)
"""OpenCL C: `minifut_fail<k>(failure, number, a, ..)` records a failure with k longs,
and gives 2, or 1 if there was one before. `minifut_is_last_group(failure, groups)` says
whether all other groups came there before; `minifut_fetch_work(failure, groups,
workers)` gives a group that no other worker has. `minifut_called(failure, left, place)`
notes the place of a call that was `left` with such a number, and gives that back."""


def decode(bits: int, type_: str) -> Any:
    """The value that a long of the cell stands for."""
    dtype = DTYPES[type_]
    match dtype.kind:
        case "f":
            return dtype.type(np.int64(bits).view(np.float64))
        case "b":
            return bool(bits)
        case "u":
            return bits & ((1 << (8 * dtype.itemsize)) - 1)
        case _:
            return bits


def show(value: Any) -> str:
    """A value as messages show it: a Futhark literal without its suffix."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.floating):
        return np.format_float_positional(value, unique=True, trim="0")
    return str(value)


def failure_error(failure: Failure, values: Sequence[Any]) -> ProgramError:
    """The error for a failure whose message holes have these values."""
    left = iter(values)
    parts = [show(next(left)) if isinstance(p, Hole) else p for p in failure.message]
    return ProgramError("".join(parts), failure.backtrace)


def device_error(
    failures: Sequence[Failure], cell: np.ndarray, places: Sequence[str] = ()
) -> ProgramError:
    """The error that the cell holds; `places` are those of calls, numbered from 1."""
    number = int(cell.view(np.int32)[0])
    if not 0 < number <= len(failures):
        return ProgramError(f"the device recorded an unknown failure ({number})")
    failure = failures[number - 1]
    holes = [part.type for part in failure.message if isinstance(part, Hole)]
    values = [decode(int(bits), t) for bits, t in zip(cell[1:], holes, strict=False)]
    error = failure_error(failure, values)
    count, *calls = cell[TRAIL:].view(np.int32).tolist()
    trail = [places[call - 1] for call in calls[:count] if call <= len(places)]
    return ProgramError(error.message, (*error.backtrace, *filter(None, trail)))
