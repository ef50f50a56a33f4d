"""Programs whose device is opened when it is first needed.

    prog = minifut.compile(..)         # from the cache: no driver is loaded
    prog.main(xs)                      # opens the device; later calls are as direct as
    prog.main(xs)                      # those of a program that was loaded at once
    prog.tuning                        # so does what depends on the device

Drivers take longer to load than all else that a compilation does whose result is kept.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from minifut.immutables import immutable
from minifut.program import LOADED, EntryPoint, Program

if TYPE_CHECKING:
    from minifut.backend import OpaqueValues, Timed
    from minifut.parameters.tuning import Tuning
    from minifut.recipe import Recipe


@immutable
class OnDevice:
    """What the device adds to a program."""

    functions: Mapping[str, Callable[..., Any]]
    """a call for each entry point"""
    prepare: Callable[[str, tuple[Any, ...]], Timed]
    description: str
    tuning: Tuning
    opaques: OpaqueValues
    upload: Callable[[Any], Any]


_loading = threading.RLock()


def _lock_again() -> None:
    """A thread that held the lock is not there in a process that was forked."""
    global _loading
    _loading = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock_again)


class DeferredProgram(Program):
    """Entry points by name, also as attributes; iteration gives the names.

    The device is opened at the first call; if that fails, at the next one again.
    """

    def __init__(
        self,
        entries: Iterable[EntryPoint],
        recipe: Recipe,
        load: Callable[[], OnDevice],
    ) -> None:
        self._load: Callable[[], OnDevice] | None = load
        self._functions: Mapping[str, Callable[..., Any]] = {}
        self.recipe = recipe
        self.derivatives = None
        self._add(entries)
        for name, entry in self.entries.items():
            entry.install(partial(self._call, name), partial(self._prepare, name))

    def __getattr__(self, name: str) -> Any:
        if name in LOADED and self.__dict__.get("_load") is not None:
            self.on_device()
            return self.__dict__[name]
        return super().__getattr__(name)

    def on_device(self) -> None:
        """Load it if that was not done."""
        with _loading:
            if self._load is None:
                return
            found = self._load()
            self.description, self.tuning = found.description, found.tuning
            self.opaques, self._upload = found.opaques, found.upload
            self._functions = found.functions
            for name, entry in self.entries.items():
                entry.install(found.functions[name], partial(found.prepare, name))
            self._load = None

    def _call(self, name: str, /, *arguments: Any, **named: Any) -> Any:
        self.on_device()
        return self._functions[name](*arguments, **named)

    def _prepare(self, name: str, arguments: tuple[Any, ...]) -> Timed:
        self.on_device()
        prepare = self.entries[name].prepare
        assert prepare is not None
        return prepare(arguments)


# Messages that say what is there instead of an entry point name its class: for users
# there is one.
DeferredProgram.__name__ = DeferredProgram.__qualname__ = Program.__name__
