"""The driver: all stages in a row, from a source to a program that can be called.

    Source -- stages --> Python text -- load --> Program

The stages themselves are in `minifut.stages`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minifut import stages
from minifut.host_modules import HostModule, checksum_of, host_module
from minifut.loaded_module import load
from minifut.program import Program

if TYPE_CHECKING:
    from minifut.errors import Source
    from minifut.frontend.check import CheckedProgram
    from minifut.gradients.derivative import Derivative
    from minifut.ir.core import Program as CoreProgram


def compile_program(
    source: Source, options: stages.Options, derivative: Derivative | None = None
) -> Program:
    """All stages; what was generated for the same source before is used again. With a
    derivative, the program has that as its only entry point."""
    from minifut.gradients.kept import Derivatives

    program = _compiled(source, options, derivative)
    if derivative is None:
        program.derivatives = Derivatives(source, options, compile_program)
    return program


def _compiled(
    source: Source, options: stages.Options, derivative: Derivative | None
) -> Program:
    tuned = tuned_values(source.name, options, derivative)
    name = Path(source.name).stem
    if options.backend == "opencl":
        schedule = options.schedule or device_kind(options.device)
        module = host_module(
            source,
            schedule,
            lambda: _made(source, options, schedule, derivative),
            "" if derivative is None else str(derivative),
        )
        return load(
            module.text,
            options.device,
            options.parameters,
            tuned=tuned,
            max_memory=options.max_memory,
            documentation=module.documentation,
            source=source,
            derivative=derivative,
            compile=compile_program,
        )
    checked = stages.check(source)
    program = _core(checked, derivative)
    if options.backend == "interpreter":
        from minifut.interpreted import interpreted_program

        known = {**tuned, **options.parameters}
        about = stages.documentation_of(checked)
        return interpreted_program(program, known, None, about, source, compile_program)
    from minifut.sequential.load import sequential_program

    return sequential_program(program, options, name, tuned)


def _made(
    source: Source,
    options: stages.Options,
    schedule: str,
    derivative: Derivative | None,
) -> HostModule:
    from minifut.opencl.runtime.driver_start import driver_starts

    checked = stages.check(source)
    with driver_starts(options.device, options.max_memory):
        program = stages.to_kernels(_core(checked, derivative))
        text = stages.to_host_module(program, schedule, Path(source.name).stem)
    paths = map(os.path.abspath, checked.imports)
    imports = {path: checksum_of(path) for path in paths}
    return HostModule(text, stages.documentation_of(checked), imports)


def _core(checked: CheckedProgram, derivative: Derivative | None) -> CoreProgram:
    if derivative is None:
        return stages.to_core(checked)
    made: CoreProgram = stages.stage(
        "differentiation",
        lambda: derivative.program(stages.to_core(checked, [derivative.entry])),
    )
    return made


def tuned_values(
    path: str | Path, options: stages.Options, derivative: Derivative | None = None
) -> dict[str, int]:
    """What the program's tuning file says for it or for a derivative, if the options
    want it. A program need not have one; but where one was named that is not there, a
    warning says so."""
    from minifut.gradients.derivative import tuned_part
    from minifut.parameters.file import DEFAULT_EXTENSION, path_beside, tuning_beside

    extension = options.tuning_extension
    if not options.use_tuning:
        return {}
    beside = path_beside(path, extension)
    if extension != DEFAULT_EXTENSION and not beside.is_file():
        note = f"there is no tuning file {beside}, so parameters keep their defaults"
        print(f"minifut: warning: {note}", file=sys.stderr)
    return tuned_part(tuning_beside(path, extension), derivative)


def device_kind(device: str | None) -> str:
    """The schedule that fits the device: its kind, "cpu" or "gpu"."""
    from minifut.opencl.runtime.device_record import kind_of_device

    return kind_of_device(device)
