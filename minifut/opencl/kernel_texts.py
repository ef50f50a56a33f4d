"""The texts that the driver compiles: a kernel with the functions and helpers it needs.

Each function is printed once, however many kernels call it: a module holds it once.
"""

from __future__ import annotations

from minifut.ir.scalar_opencl import helper_text
from minifut.ir.search import contains, nodes_of
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.shuffles import SHUFFLES
from minifut.kernel_passes.barriers import MEETINGS
from minifut.opencl.c_expressions import SIZE_HELPERS
from minifut.opencl.float_atomics import ADDITIONS
from minifut.opencl.masked_accesses import MASKED_ACCESSES
from minifut.opencl.print_c import CPrinter
from minifut.opencl.subgroups import SHUFFLE_TEXT
from minifut.opencl.vector_reciprocal import VECTOR_RECIPROCALS

DOUBLES = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
LONG_ATOMICS = (
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
)
HELPERS = {
    **SIZE_HELPERS,
    **SHUFFLES,
    **ADDITIONS,
    **MASKED_ACCESSES,
    **VECTOR_RECIPROCALS,
}
HELPERS["minifut_shuffle"] = SHUFFLE_TEXT


class Texts:
    """Texts of functions, each printed once, with the helpers that they need."""

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        self.helpers: dict[str, dict[str, None]] = {}

    def add(self, function: kc.DeviceFunction, is_alone: bool) -> None:
        """Print a function, unless that is done."""
        if function.name not in self.functions:
            printer = CPrinter(function.callees, is_alone)
            self.functions[function.name] = printer.function(function)
            self.helpers[function.name] = printer.helpers

    def of_kernel(self, kernel: kc.Kernel) -> tuple[str, str]:
        """What precedes the functions that a kernel calls, and the kernel."""
        is_alone = kernel.group_size == (1,)
        printer = CPrinter(kernel.functions, is_alone)
        text = printer.kernel(kernel)
        whole = text
        for function in kernel.functions:
            self.add(function, is_alone)
            printer.helpers.update(self.helpers[function.name])
            whole += self.functions[function.name]
        helpers = _helper_texts(printer)
        whole += helpers
        head = DOUBLES if "double" in whole else ""
        if "atom_" in whole:
            head += LONG_ATOMICS
        return head + helpers, text


def _helper_texts(printer: CPrinter) -> str:
    sizes = [HELPERS[h] for h in printer.helpers if h in HELPERS]
    text = helper_text([h for h in printer.helpers if h not in HELPERS])
    loose = "".join(
        f"typedef {vector} {name} __attribute__((aligned({element.bytes})));\n"
        for name, (vector, element) in printer.loose_types.items()
    )
    return "".join(sizes) + loose + (f"{text}\n" if text else "")


def is_part(kernel: kc.Kernel) -> bool:
    """Whether a batch may call the kernel: groups are single work-items without local
    memory, and only the kernel itself asks for its index."""
    if kernel.group_size != (1,) or contains(kernel.body, MEETINGS):
        return False
    arrays = nodes_of(
        kc.LocalParameter | kc.DeclareArray, *kernel.parameters, kernel.body
    )
    if any(array.memory.space == "local" for array in arrays):
        return False
    asked = {call.function for call in nodes_of(kc.Call, kernel.body) if _asks(call)}
    bodies = [function.body for function in kernel.functions]
    inside = any(map(_asks, nodes_of(kc.Call, *bodies)))
    return asked <= {"get_global_id"} and not inside


def has_ranges(kernel: kc.Kernel) -> bool:
    """Whether a batch may take groups of a part in any order: none waits for another,
    which they say to each other by atomic updates."""
    bodies = (kernel.body, *[function.body for function in kernel.functions])
    return not any(contains(body, kc.AtomicUpdate) for body in bodies)


def _asks(call: kc.Call) -> bool:
    """Whether that is a question of a work-item about itself."""
    return call.function.startswith("get_")


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
