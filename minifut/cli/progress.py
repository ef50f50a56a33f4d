"""A progress bar on a terminal: rich's where it is installed, else a plain one.

    with progress_bar() as show:
        show("main.map_reduce.outer on k=25 n=3", 0.4)

Nothing is shown where standard error is no terminal.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
from collections.abc import Callable, Iterator

Show = Callable[[str, float], None]
"""what is being done (empty: the same as before) and the part of all work that is done
(not a number: the same as before)"""

WIDTH = 24


@contextlib.contextmanager
def progress_bar() -> Iterator[Show]:
    """A bar for the time of the block."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda text, part: None
        return
    from minifut.opencl.runtime.build_notice import BuildNotice

    BuildNotice.is_shown = False
    try:
        with _shown() as show:
            yield show
    finally:
        BuildNotice.is_shown = True


@contextlib.contextmanager
def _shown() -> Iterator[Show]:
    try:
        import rich.progress
    except ImportError:
        with _plain() as show:
            yield show
        return
    columns = (
        rich.progress.BarColumn(WIDTH),
        rich.progress.TaskProgressColumn(),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TextColumn("{task.description}", markup=False),
    )
    console = rich.console.Console(stderr=True)
    with rich.progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def show(text: str, part: float) -> None:
            if text:
                bar.update(task, description=text)
            if not math.isnan(part):
                bar.update(task, completed=part)

        yield show


@contextlib.contextmanager
def _plain() -> Iterator[Show]:
    shown, done = "", 0.0

    def show(text: str, part: float) -> None:
        nonlocal shown, done
        shown = text or shown
        done = done if math.isnan(part) else part
        columns = shutil.get_terminal_size().columns - 1
        line = plain_line(shown, done)[:columns]
        sys.stderr.write("\r" + line.ljust(columns))
        sys.stderr.flush()

    try:
        yield show
    finally:
        columns = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + " " * columns + "\r")
        sys.stderr.flush()


def plain_line(text: str, part: float) -> str:
    """`[######------]  50% text`"""
    full = round(WIDTH * max(0.0, min(1.0, part)))
    return f"[{'#' * full}{'-' * (WIDTH - full)}] {part:4.0%} {text}"
