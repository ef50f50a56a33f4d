"""A whole program of kernel code: what lowering makes, passes change and printers read.

Kernels, the host functions that launch them by name, and what both refer to by number:
failures, places of calls.
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.entries import Entry
from minifut.ir.kernels import Parameter
from minifut.ir.node import node
from minifut.kernel_ir import nodes as kc
from minifut.names import Name


@node
class EntryCode:
    """An entry point with its core function, of which only parameters and results
    matter."""

    entry: Entry
    function: core.Function


@node
class KernelProgram:
    """A program under one schedule. `constants` is a host function whose results are
    the values that functions see under the names `constant_names`; `places` are the
    calls that backtraces name, and `on_host` says what runs point by point on the host:
    where, what and why. `one_thread` says what one work-item of a GPU does alone."""

    schedule: str
    kernels: tuple[kc.Kernel, ...]
    functions: tuple[kc.HostFunction, ...]
    entries: tuple[EntryCode, ...]
    failures: tuple[kc.Failure, ...]
    parameters: tuple[Parameter, ...]
    constants: kc.HostFunction | None = None
    constant_names: tuple[Name, ...] = ()
    places: tuple[str, ...] = ()
    on_host: tuple[str, ...] = ()
    one_thread: tuple[str, ...] = ()

    @property
    def device_functions(self) -> tuple[kc.DeviceFunction, ...]:
        """The functions that kernels call, callees first."""
        return tuple(dict.fromkeys(f for k in self.kernels for f in k.functions))
