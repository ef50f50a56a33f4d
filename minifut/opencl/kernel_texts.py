"""The texts that the driver compiles: a kernel with the functions and helpers it needs.

Each function is printed once, however many kernels call it, so that a module can hold
it once.
"""

from __future__ import annotations

from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.opencl.print_c import CPrinter

DOUBLES = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
LONG_ATOMICS = (
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
)


class Texts:
    """Texts of functions, each printed once, with the helpers that they need."""

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        self.helpers: dict[str, dict[str, None]] = {}

    def add(self, function: kc.DeviceFunction) -> None:
        """Print a function, unless that is done."""
        if function.name not in self.functions:
            printer = CPrinter(function.callees)
            self.functions[function.name] = printer.function(function)
            self.helpers[function.name] = printer.helpers

    def of_kernel(self, kernel: kc.Kernel) -> tuple[str, str]:
        """What precedes the functions that a kernel calls, and the kernel."""
        printer = CPrinter(kernel.functions)
        text = printer.kernel(kernel)
        whole = text
        for function in kernel.functions:
            self.add(function)
            printer.helpers.update(self.helpers[function.name])
            whole += self.functions[function.name]
        helpers = printer.helper_texts()
        whole += helpers
        head = DOUBLES if "double" in whole else ""
        if "atom_" in whole:
            head += LONG_ATOMICS
        return head + helpers, text


def parameter_types(kernel: kc.Kernel) -> tuple[str, ...]:
    """The types of the parameters after `failure`, as the runtime names them."""
    return tuple(_runtime_type(p) for p in kernel.parameters)


def _runtime_type(parameter: kc.Parameter) -> str:
    match parameter:
        case kc.MemoryParameter():
            return "buffer"
        case kc.LocalParameter():
            return "local"
        case kc.ScalarParameter(_, type_):
            return scalar_argument(type_)


def scalar_argument(type_: ScalarType) -> str:
    """How a scalar is passed: f16 is passed as f32."""
    return "f32" if type_.name == "f16" else type_.name
