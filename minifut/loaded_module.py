"""Programs of generated modules, loaded on a device.

    load(module text, device, parameters)  ->  Program

The device is opened when it is needed first: by a call, or by what asks for it, such
as `prog.tuning`. It is opened at once where it decides whether what the user gave is
right, as values of parameters, or where the program has constants, which may fail.

The text and the options together are the recipe of the program (`minifut.recipe`), so
that an equal program can be loaded in another process without the compiler.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from minifut.deferred_program import DeferredProgram, OnDevice
from minifut.errors import Source
from minifut.generated_module import generated_program
from minifut.gradients.derivative import Derivative
from minifut.immutables import immutable
from minifut.program import EntryPoint, Program
from minifut.recipe import Compile
from minifut.signature import describe
from minifut.suggestions import check_names
from minifut.values.sized_text import ParameterShape


@immutable
class LoadedModule:
    """A generated module of one schedule and what to load it with: a recipe
    (`minifut.recipe`) for programs on OpenCL devices.

    Parameters that the module does not have are refused, or left out if not
    `all_known`; `tuned` are those of a tuning file, where unknown names are warned of.
    """

    backend: ClassVar[str] = "opencl"

    text: str
    device: str | None = None
    parameters: tuple[tuple[str, int], ...] = ()
    all_known: bool = True
    tuned: tuple[tuple[str, int], ...] = ()
    max_memory: int | None = None
    documentation: tuple[tuple[str, str], ...] = ()
    source: Source | None = None
    """what it was generated from, if that is known"""
    derivative: Derivative | None = None
    """of what the source computes, if it is not that itself"""
    compile: Compile | None = None
    """what generated it"""

    def load(self, tuned: Mapping[str, int] | None = None) -> Program:
        """The program. `tuned`: the values of the tuning file as they were read, with
        their lines for messages."""
        generated = generated_program(self.text)
        documentation = dict(self.documentation)
        entries = [
            EntryPoint(
                entry.name,
                describe(entry.parameters, shapes_of(entry.parameters)),
                describe(entry.results, shapes_of(entry.results)),
                _not_loaded,
                documentation=documentation.get(entry.name, ""),
            )
            for entry in generated.entries
        ]
        wanted = self.device or os.environ.get("MINIFUT_DEVICE")  # as it is now
        program = DeferredProgram(
            entries, self, partial(self._on_device, generated, wanted, tuned)
        )
        limits = self.parameters or self.tuned or self.max_memory is not None
        if limits or _has_constants(generated):
            program.on_device()
        return program

    def _on_device(
        self, generated: Any, wanted: str | None, tuned: Mapping[str, int] | None
    ) -> OnDevice:
        from minifut.opencl.runtime.device_record import correct_record
        from minifut.opencl.runtime.opaque_values import DeviceOpaques
        from minifut.parameters.file import located
        from minifut.parameters.tuning import Tunable, Tuning

        chosen, given = self._chosen(generated)
        with located(dict(self.tuned) if tuned is None else tuned, given):
            instance = generated.load(
                device=wanted, parameters=chosen, max_memory=self.max_memory
            )
        correct_record(wanted, instance.session.device.kind)
        tunables = [
            Tunable(p.name, p.kind, p.defaults, p.bounds, p.guards)
            for p in instance.parameters
            if p.kind != "limit"
        ]
        return OnDevice(
            instance.entries,
            instance.timed,
            str(instance.session.device),
            Tuning(
                tunables, instance.kind, instance.set_parameters, chosen, instance.watch
            ),
            DeviceOpaques(instance.session, generated.name),
            instance.to_device,
        )

    def _chosen(self, generated: Any) -> tuple[dict[str, int], dict[str, int]]:
        """All parameters that are set, and those that the user gave."""
        from minifut.parameters.file import fitted, unfitting_text

        known = {p.name for p in generated.parameters}
        parameters = dict(self.parameters)
        if self.all_known:
            check_names(parameters, known)
        chosen, meaningless = fitted(
            dict(self.tuned), generated.parameters, getattr(generated, "schedule", "")
        )
        if meaningless:
            note = unfitting_text(meaningless, known)
            print(f"minifut: warning: {note}", file=sys.stderr)
        given = {n: v for n, v in parameters.items() if n in known}
        return chosen | given, given


def _not_loaded(*arguments: Any) -> Any:
    raise AssertionError("replaced by the program")


def _has_constants(generated: Any) -> bool:
    """Whether loading runs a part of the program."""
    schedules = [getattr(generated, name, generated) for name in ("cpu", "gpu")]
    return any(schedule.constants is not None for schedule in schedules)


def shapes_of(values: Iterable[Any]) -> list[ParameterShape | None]:
    """The dimensions of all leaves of parameters or results."""
    return [leaf.shape for value in values for leaf in value.leaves]


def load(
    module: str,
    device: str | None = None,
    parameters: Mapping[str, int] | None = None,
    all_known: bool = True,
    tuned: Mapping[str, int] | None = None,
    max_memory: int | None = None,
    documentation: Mapping[str, str] | None = None,
    source: Source | None = None,
    derivative: Derivative | None = None,
    compile: Compile | None = None,
) -> Program:
    """The program of a generated module of one schedule, on a device; see
    `LoadedModule`."""
    return LoadedModule(
        module,
        device,
        tuple((parameters or {}).items()),
        all_known,
        tuple((tuned or {}).items()),
        max_memory,
        tuple((documentation or {}).items()),
        source,
        derivative,
        compile,
    ).load(tuned)
