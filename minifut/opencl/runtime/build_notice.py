"""A line in the log while kernels are built for longer than a second.

    INFO minifut: building 3 kernels of kmeans

Kernels are built when a run first launches them, and drivers compile some of them as
late as at their launch. So the time is taken from the first build of a run to the end
of that run, and the line comes while a user wonders what is slow.
"""

from __future__ import annotations

import logging
from threading import Timer

from minifut.errors import counted

PATIENCE = 1.0
"""seconds of building before it is worth a line"""


class BuildNotice:
    """Counts the builds of one run; runs take turns on a device."""

    def __init__(self) -> None:
        self.count = 0
        self._program = ""
        self._timer: Timer | None = None

    def begin(self, program: str) -> None:
        """The run starts to build another kernel of this program."""
        self.count += 1
        self._program = program
        if self._timer is None:
            self._timer = Timer(PATIENCE, self._log)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """The run is over, or all that it built has been used."""
        self.count = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _log(self) -> None:
        logging.getLogger("minifut").info(
            "building %s of %s", counted(max(1, self.count), "kernel"), self._program
        )
