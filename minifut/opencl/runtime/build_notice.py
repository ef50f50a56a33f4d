"""Word of kernels that are built for longer than a second: in the log, and as a line
that counts in a terminal or notebook.

    INFO minifut: building 3 kernels of kmeans
    minifut: building kernel 3 of kmeans, 4 s

Kernels are built when a run first launches them, and drivers compile some of them as
late as at their launch. So the time is taken from the first build of a run to the end
of that run, and the line comes while a user wonders what is slow.
"""

from __future__ import annotations

import logging
import sys
from threading import Event, Thread
from time import perf_counter

from minifut.errors import counted

NOTICE_AFTER = 1.0
"""seconds of building before it is worth a line"""
TICK = 0.5
"""seconds until the line is written again"""


class BuildNotice:
    """Counts the builds of one run; runs take turns on a device."""

    is_shown = True
    """whether to write the line; not while another progress bar is there"""

    def __init__(self) -> None:
        self.count = 0
        self._program = ""
        self._over: Event | None = None
        self._thread: Thread | None = None

    def begin(self, program: str) -> None:
        """The run starts to build another kernel of this program."""
        self.count += 1
        # a program from a string has no name, only a mark in messages: `<text>`
        self._program = "a program" if program.startswith("<") else program
        if self._over is None:
            self._over = Event()
            self._thread = Thread(
                target=self._report_after_delay, args=(self._over,), daemon=True
            )
            self._thread.start()

    def end(self) -> None:
        """The run is over, or all that it built has been used."""
        self.count = 0
        if self._over is not None and self._thread is not None:
            self._over.set()
            self._thread.join()  # which removes the line before anything else is shown
            self._over = self._thread = None

    def _report_after_delay(self, over: Event) -> None:
        begun = perf_counter()
        if over.wait(NOTICE_AFTER):
            return
        logging.getLogger("minifut").info(
            "building %s of %s", counted(max(1, self.count), "kernel"), self._program
        )
        stream = sys.stderr
        if not self.is_shown or not is_interactive(stream):
            return
        width = 0
        while not over.wait(TICK):
            seconds = perf_counter() - begun
            line = f"building kernel {self.count} of {self._program}, {seconds:.0f} s"
            width = max(width, len(line))
            stream.write(f"\rminifut: {line.ljust(width)}")
            stream.flush()
        if width:
            stream.write(f"\r{' ' * (width + len('minifut: '))}\r")
            stream.flush()


def is_interactive(stream: object) -> bool:
    """Whether someone sees the stream now: a terminal, or a notebook."""
    if "ipykernel" in sys.modules:
        return type(stream).__module__.startswith("ipykernel")
    return bool(getattr(stream, "isatty", bool)())
