"""Parts of programs of kernel code, read back."""

from __future__ import annotations

from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.reader import KernelReader


def read_kernels(text: str) -> tuple[kc.Kernel, ...]:
    """The kernels of a text, with the functions that precede them."""
    reader = KernelReader(text)
    found: list[kc.Kernel] = []
    while reader.kind != "end":
        made = reader.definition(kc.Kernel | kc.DeviceFunction)
        if isinstance(made, kc.Kernel):
            found.append(made)
    return tuple(found)


def read_statements(text: str) -> tuple[kc.Statement, ...]:
    """Statements in order."""
    reader = KernelReader(text)
    found: list[kc.Statement] = []
    while reader.kind != "end":
        found.append(reader.value(kc.Statement))
    return tuple(found)
