"""The sequential program, loaded on a device that suits a single work-item."""

from __future__ import annotations

from collections.abc import Mapping

from minifut import errors, loaded_module, stages
from minifut.ir.core import Program as CoreProgram
from minifut.program import Program


def sequential_program(
    program: CoreProgram,
    options: stages.Options,
    name: str = "program",
    tuned: Mapping[str, int] | None = None,
) -> Program:
    """A core program of Soacs behind its entry points, one work-item each.

    Raises `NotSequential` if it cannot be one kernel, `UsageError` if there is no CPU
    among the OpenCL devices.
    """
    from minifut.opencl.module import text_of
    from minifut.sequential.lower import lower_sequential

    program = stages.without_derivatives(program)

    def text() -> str:
        return text_of(lower_sequential(program), name)

    module = stages.stage("sequential lowering", text)
    return loaded_module.load(
        module,
        cpu_device(options.device),
        {**(tuned or {}), **options.parameters},
        all_known=False,
        max_memory=options.max_memory,
    )


def cpu_device(wanted: str | None = None) -> str:
    """The number of the wanted device if it is a CPU, else of the first CPU."""
    from minifut.opencl.runtime.device import list_devices, open_device

    chosen = open_device(wanted)
    if chosen.kind == "cpu":
        return f"#{chosen.number}"
    for device in list_devices():
        if device.kind == "cpu" and not device.is_simulator:
            return f"#{device.number}"
    raise errors.UsageError("no OpenCL device of this machine is a CPU")
