"""A program as generated modules describe it, and one loaded on a device.

instance = program.load(device="pocl", parameters={"main_tile": 32})
ys = instance.main(xs)                       # NumPy arrays in and out
ys = instance.main(xs, device=True)          # pyopencl arrays out

A generated module is read without what runs it, imported with the device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from minifut.immutables import immutable
from minifut.opencl.runtime.describe import Entry, Failure, Kernel, Parameter

if TYPE_CHECKING:
    from minifut.opencl.runtime.instance import Instance
    from minifut.opencl.runtime.queue import Session
    from minifut.opencl.runtime.run import Run


class NotLoaded(ABC):
    """What is loaded first, before entry points are called."""

    __slots__ = ()

    def load(
        self,
        device: str | None = None,
        parameters: Mapping[str, int] | None = None,
        max_memory: int | None = None,
        session: Session | None = None,
    ) -> Instance:
        """The program on a device, in the schedule that fits it, with these values of
        tunable parameters."""
        from minifut.opencl.runtime.sessions import open_session

        if session is None:
            session = open_session(device, max_memory)
        return self._in_session(session, parameters or {})

    @abstractmethod
    def _in_session(self, session: Session, parameters: Mapping[str, int]) -> Instance:
        """The same in a session."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "entries":
            raise AttributeError(name)
        if any(entry.name == name for entry in self.entries):
            raise AttributeError(f"load the program first: program.load().{name}(..)")
        raise AttributeError(f"a program that is to be loaded has no '{name}'")

    def __repr__(self) -> str:
        names = ", ".join(entry.name for entry in self.entries)
        return f"<minifut program that is to be loaded: {names}>"


@immutable
class Program(NotLoaded):
    """Kernels and host functions of one schedule, with what names them."""

    name: str
    schedule: str
    kernels: Sequence[Kernel]
    entries: Sequence[Entry]
    prelude: str = ""
    failures: Sequence[Failure] = ()
    parameters: Sequence[Parameter] = ()
    constants: Callable[[Run], tuple[Any, ...]] | None = None
    options: Sequence[str] = field(default=())
    """options for the OpenCL compiler"""
    places: Sequence[str] = ()
    """where functions of the device are called, for backtraces"""
    one_thread: Sequence[str] = ()
    """what one work-item of a GPU does alone: where, what and how much work"""

    def _in_session(self, session: Session, parameters: Mapping[str, int]) -> Instance:
        """The program in a session, with these values of its parameters."""
        from minifut.opencl.runtime.instance import Instance

        return Instance(self, session, parameters)


@immutable
class Schedules(NotLoaded):
    """One program lowered in both ways; the kind of the device decides on loading."""

    cpu: Program
    gpu: Program

    @property
    def entries(self) -> Sequence[Entry]:
        """The entry points, the same in both."""
        return self.cpu.entries

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The tunable parameters of either."""
        known = {p.name: p for p in (*self.cpu.parameters, *self.gpu.parameters)}
        return tuple(known.values())

    def _in_session(self, session: Session, parameters: Mapping[str, int]) -> Instance:
        """The program in a session, in the schedule that fits its device; parameters of
        the other one have no effect."""
        program = self.gpu if session.device.kind == "gpu" else self.cpu
        known = {p.name for p in self.parameters} - {p.name for p in program.parameters}
        wanted = {n: v for n, v in parameters.items() if n not in known}
        return program._in_session(session, wanted)
