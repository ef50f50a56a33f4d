"""The texts of both schedules, the second by a copy of this process at the same time.

    this process   |-- lower --|-- print --| names of functions --> .. text -->|
    a copy         |-- lower --|-- print kernels --|-- print host functions --|

The second's functions need names that the first leaves, so that the copy waits for them
before it prints its own.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence

from minifut.opencl.module import PartText
from minifut.process_copies import count, done_by_copies

Make = Callable[[Callable[[], Sequence[str]]], PartText]
"""what lowers and prints a program, of names that are used already"""


def both(first: Make, second: Make) -> list[PartText]:
    """The two texts."""
    if sys.platform != "linux" or count() == 1:
        made = first(list)
        return [made, second(lambda: made.defined)]
    read, write = os.pipe()
    out = os.memfd_create("text")
    with open(read) as names, open(write, "w") as given, open(out, "w+b") as text:

        def job() -> None:
            given.close()
            made = second(lambda: names.read().split())
            marshal.dump((made.schedule, made.opening, made.body, made.called), text)
            text.flush()

        with done_by_copies([job], only_thread):
            names.close()
            made = first(list)
            with contextlib.suppress(BrokenPipeError):
                given.write(" ".join(made.defined))
                given.close()
        text.seek(0)
        try:
            return [made, PartText(*marshal.load(text))]
        except (EOFError, ValueError, TypeError):  # the copy has not done it
            return [made, second(lambda: made.defined)]


@contextlib.contextmanager
def only_thread() -> Iterator[bool]:
    """Whether this is the only thread."""
    yield threading.active_count() == 1
