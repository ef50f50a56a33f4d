"""A program loaded on a device: kernels for it, entry points that can be called.

What a generated module says of a program is read without this (`program.py`), which
imports all that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import ArgumentError
from minifut.opencl.runtime.arrays import to_device
from minifut.opencl.runtime.describe import Entry, Kernel
from minifut.opencl.runtime.direct import direct_call
from minifut.opencl.runtime.entry import Converter, unknown_entry
from minifut.opencl.runtime.failures import FAILURE_TEXT
from minifut.opencl.runtime.kernels import Launcher
from minifut.opencl.runtime.loaded_entry import NOT_PICKLED, LoadedEntry
from minifut.opencl.runtime.parameters import (
    LOCAL_MEMORY,
    SUBGROUP,
    changed_parameters,
    on_device,
    parameter_values,
)
from minifut.opencl.runtime.pool import PoolBlock
from minifut.opencl.runtime.queue import Session
from minifut.opencl.runtime.run import Run
from minifut.opencl.runtime.timed import TimedCall
from minifut.opencl.runtime.watch import (
    Observation,
    watch_reads,
    watched_launchers,
    watched_values,
)
from minifut.values.sized_text import signature_text

if TYPE_CHECKING:
    from minifut.opencl.runtime.batch import Batch
    from minifut.opencl.runtime.program import Program


class Instance:
    """A loaded program: each entry point is a method of its name."""

    def __init__(
        self, program: Program, session: Session, parameters: Mapping[str, int]
    ) -> None:
        self.program = program
        self.session = session
        self.queue = session.commands  # others may run: it must not launch for them
        self.parameters = tuple(
            on_device(p, session.device) for p in program.parameters
        )
        self._wanted: dict[str, int] = {}
        self._seen: Observation | None = None
        self._launchers: dict[tuple[int, ...], Launcher] = {}
        self._batches: dict[tuple[str, str], Batch] = {}
        values = self._values(parameters)
        self.run = Run(session, (), values, program.failures, program.places)
        self._install(values)
        self._set(parameters)
        if program.constants is not None:
            self._evaluate_constants(program.constants)
        self.entries: dict[str, Callable[..., Any]] = {
            entry.name: _callable(self.run, session, program.name, entry)
            for entry in program.entries
        }
        """calls with arguments in order"""
        self._points = {
            entry.name: LoadedEntry(entry, self.entries[entry.name])
            for entry in program.entries
        }

    def __getattr__(self, name: str) -> LoadedEntry:
        if name.startswith("_") or "_points" not in self.__dict__:
            raise AttributeError(name)
        if name in self._points:
            return self._points[name]
        raise AttributeError(str(unknown_entry(name, list(self.entries))))

    def entry(self, name: str) -> LoadedEntry:
        """The entry point of that name; UsageError if there is none."""
        if name not in self._points:
            raise unknown_entry(name, list(self.entries))
        return self._points[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._points})

    def __repr__(self) -> str:
        names = ", ".join(self._points)
        return f"<minifut program on {self.session.device}: {names}>"

    def __reduce__(self) -> Any:
        raise TypeError(NOT_PICKLED)

    def to_device(self, array: np.ndarray) -> Any:
        """An array with the same elements in the device's memory."""
        with self.session.lock:
            self.session.recover()
            return to_device(self.session, array)

    def set_parameters(self, parameters: Mapping[str, int]) -> None:
        """Change tunable numbers; only kernels whose text uses a changed one are
        built again. A run of another thread ends before."""
        program = self.program
        with self.session.lock:
            wanted = {**self._wanted, **parameters}
            values = self._values(wanted)
            old = self.run.parameters
            changed = {
                i for i, (a, b) in enumerate(zip(old, values, strict=True)) if a != b
            }
            self._install(values)
            self._set(wanted)
            kinds = {program.parameters[index].kind for index in changed}
            if "choice" in kinds and program.constants is not None:
                self._evaluate_constants(program.constants)

    def watch(self, seen: Observation | None) -> None:
        """From now on note comparisons and launches there (None: nowhere)."""
        with self.session.lock:
            self._seen = seen
            self._install(self._values(self._wanted))

    def _install(self, values: list[int]) -> None:
        """Run with these parameters, and the kernels that are made for them."""
        for recordings in self.run.recordings:
            recordings.clear()
        launchers = tuple(
            self._launcher(number, kernel, values)
            for number, kernel in enumerate(self.program.kernels)
        )
        seen = self._seen
        watch_reads(self.run, seen)
        if seen is None:
            self.run.parameters, self.run.kernels = values, launchers
        else:
            table = self.program.parameters
            self.run.parameters = watched_values(table, values, seen)
            self.run.kernels = watched_launchers(table, values, launchers, seen)

    def timed(self, name: str, arguments: tuple[Any, ...]) -> TimedCall:
        """The entry point with these arguments, ready to be run and timed."""
        for entry in self.program.entries:
            if entry.name == name:
                run, program = self.run, self.program.name
                return TimedCall(run, self.session, program, entry, arguments)
        raise unknown_entry(name, list(self.entries))

    def _values(self, wanted: Mapping[str, int]) -> list[int]:
        device = self.session.device
        limits = {LOCAL_MEMORY: device.local_memory, SUBGROUP: device.subgroup}
        return parameter_values(self.parameters, self.kind, wanted, limits)

    @property
    def kind(self) -> str:
        """Defaults suit the shape of the kernels, on whatever device they run."""
        schedule = self.program.schedule
        return schedule if schedule in ("cpu", "gpu") else self.session.device.kind

    def _set(self, wanted: Mapping[str, int]) -> None:
        self._wanted = dict(wanted)
        self.run.changed = changed_parameters(self.parameters, self.kind, wanted)

    def _launcher(self, number: int, kernel: Kernel, values: list[int]) -> Launcher:
        """The kernel for these values; one made for the same values before is kept."""
        key = (number, *(values[index] for _, index in kernel.macros))
        if key not in self._launchers:
            constants = {macro: values[index] for macro, index in kernel.macros}
            prelude = FAILURE_TEXT + self.program.prelude
            options = " ".join(self.program.options)
            launcher = Launcher(
                self.session,
                kernel,
                prelude,
                options,
                constants,
                program=self.program.name,
                batches=self._batches,
            )
            self._launchers[key] = launcher
        return self._launchers[key]

    def _evaluate_constants(self, constants: Callable[[Run], tuple[Any, ...]]) -> None:
        with self.session.lock:
            self.session.recover()
            try:
                with self.run.deep():
                    values = constants(self.run)
                self.run.check()
            except BaseException as error:
                raise self.session.failure_of(error) from None
            finally:
                self.session.builds.end()
        for value in values:
            block = value[0] if isinstance(value, tuple) else value
            if isinstance(block, PoolBlock):
                block.borrowed = True
        self.run.constants = values


def _callable(
    run: Run, session: Session, program: str, entry: Entry
) -> Callable[..., Any]:
    converter = Converter(session, program, entry)
    leaves_of, results_of = converter.leaves_of, converter.results_of
    function, single, name = entry.function, len(entry.results) == 1, entry.name

    def general(arguments: tuple[Any, ...], device: bool) -> Any:
        if device.__class__ is not bool:
            text = "device=True leaves results on the device, got"
            raise ArgumentError(f"{name}: {text} {device!r}")
        with session.lock:
            session.recover(name)
            leaves: list[Any] = []
            results: tuple[Any, ...] = ()
            try:
                leaves = leaves_of(arguments)
                outcome = function(run, *leaves)
                results = results_of(outcome, device)
                run.check()
            except BaseException as error:
                raise session.failure_of(error, arguments, leaves, results) from None
            finally:
                if session.builds.count:
                    session.builds.end()
        return results[0] if single else results

    def call(*arguments: Any, device: bool = False) -> Any:
        return general(arguments, device)

    call = direct_call(run, session, entry, general) or call
    call.__name__ = call.__qualname__ = entry.name
    shown = signature_text(name, entry.parameters, entry.results)
    call.__doc__ = f"entry {shown}"
    return call
