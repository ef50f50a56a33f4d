"""What `auto output` stands for: the results of a run that shares little with the one
that is judged.

The interpreter does it, as long as it comes to an end within a number of steps; a run
that takes more is repeated as a single sequential kernel (`minifut.sequential`). Where
there is no such kernel, since the program recurses or no device suits, the interpreter
goes on without a limit. Results that took long are kept in minifut's cache, under the
program's core, the input, and the files that minifut is made of: what made a result is
part of its name, so a kept one is never older than the code that would make it anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minifut.cache import cache_folder, load_bytes, store_bytes
from minifut.errors import UsageError
from minifut.ir.core import Program as CoreProgram
from minifut.ir.interpret.steps import TooManySteps
from minifut.program import EntryPoint, Program
from minifut.testing.blocks import RunCase, ScriptValues, ValuesFile
from minifut.testing.judge import announced_bytes

STEPS = 400_000
"""of the interpreter, which does 100,000 to 500,000 in a second"""
LARGEST_INTERPRETED = 64 << 20
"""bytes of input; more is given to the sequential kernel at once"""
LONG = 0.5
"""seconds; results that took longer are kept"""
LARGEST_KEPT, LARGEST_FOLDER = 128 << 20, 1 << 30
"""bytes of one kept result, and of all of them"""
KIND = "expected"

ArgumentFunction = Callable[["Program", "EntryPoint"], list[Any]]
"""the arguments of a case, made with the entry points of a program"""


class Oracle:
    """Expected results for one program.

    `interpreted(steps)` makes the program that interprets, `sequential()` the other
    one, which raises `UsageError` if it cannot be made; `sequential` None: there is
    none, and what takes too many steps has no expected results. `parameters` are
    those that both were made with.
    """

    def __init__(
        self,
        core: CoreProgram | None,
        interpreted: Callable[[int | None], Program],
        sequential: Callable[[], Program] | None,
        parameters: Mapping[str, int] | None = None,
    ) -> None:
        self.core = core
        self._parameters = str(sorted((parameters or {}).items()))
        self._interpreted = interpreted
        self._sequential = sequential
        self._limited: Program | None = None
        self._unlimited: Program | None = None

    def expected(
        self, name: str, case: RunCase, folder: Path, arguments: ArgumentFunction
    ) -> list[Any] | None:
        """The results of an entry point for a case, None if it has none."""
        key = self._key(name, case, folder)
        kept = None if key is None else load_bytes(KIND, key)
        if kept is not None:
            from minifut.values.reader import read_values

            return read_values(kept, "a kept result")
        start = time.perf_counter()
        results = self._computed(name, arguments, announced_bytes(case.input))
        took_long = time.perf_counter() - start > LONG
        if results is not None and key is not None and took_long:
            _keep(key, results)
        return results

    def _computed(
        self, name: str, arguments: ArgumentFunction, announced: int
    ) -> list[Any] | None:
        if self._limited is None:
            self._limited = self._interpreted(STEPS)
        entry = self._limited.entry(name)
        with contextlib.suppress(TooManySteps):
            if announced > LARGEST_INTERPRETED and self._sequential is not None:
                raise TooManySteps
            given = arguments(self._limited, entry)
            nbytes = sum(getattr(value, "nbytes", 0) for value in given)
            if nbytes <= LARGEST_INTERPRETED or self._sequential is None:
                return unpacked(entry.call(given))
        if self._sequential is None:
            return None
        if self._unlimited is None:
            try:
                self._unlimited = self._sequential()
            except UsageError:
                self._unlimited = self._interpreted(None)
        entry = self._unlimited.entry(name)
        return unpacked(entry.call(arguments(self._unlimited, entry)))

    def _key(self, name: str, case: RunCase, folder: Path) -> str | None:
        """What the results depend on; None if that is unknown."""
        if self.core is None:
            return None
        files: list[str] = []
        match case.input:
            case ValuesFile(path) | ScriptValues(path, True):
                with contextlib.suppress(OSError):
                    files.append(_stamp(folder / path))
        if isinstance(case.input, ScriptValues) and (files or "$" in case.input.text):
            return None
        from minifut.ir.printer import show

        core = hashlib.sha256(show(self.core, renumber=False).encode()).hexdigest()
        parts = [minifut_stamp(), core, self._parameters, name, repr(case.input)]
        return "\n".join([*parts, *files])


def unpacked(results: Sequence[Any]) -> list[Any]:
    """The results, those of a single tuple one by one."""
    if len(results) == 1 and isinstance(results[0], tuple):
        return list(results[0])
    return list(results)


def _keep(key: str, results: Sequence[Any]) -> None:
    from minifut.values.binary import write_binary

    if not all(isinstance(value, np.ndarray | np.generic) for value in results):
        return
    if sum(value.nbytes for value in results) > LARGEST_KEPT:
        return
    store_bytes(KIND, key, b"".join(write_binary(value) for value in results))
    _forget_oldest()


def _forget_oldest() -> None:
    """Keep the folder small."""
    with contextlib.suppress(OSError):
        entries = [(p, p.stat()) for p in (cache_folder() / KIND).iterdir()]
        total = sum(status.st_size for _, status in entries)
        for path, status in sorted(entries, key=lambda entry: entry[1].st_mtime):
            if total <= LARGEST_FOLDER:
                break
            path.unlink()
            total -= status.st_size


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{path.name} {status.st_size} {status.st_mtime_ns}"


@cache
def minifut_stamp() -> str:
    """Distinguishes this minifut from any other: the files it is made of."""
    package = Path(__file__).resolve().parent.parent
    stamps = (_stamp(p) for p in sorted(package.rglob("*.py")) if p.is_file())
    return hashlib.sha256("\n".join(stamps).encode()).hexdigest()
