"""Programs are built: loaded if they were built before, else compiled.

    build_together([(launcher, sizes, local), ..])      several kernels as one program
    build(session, handle, text, options, name)         a program

What serves both of PoCL's devices of the processor is compiled once (trial_launches.py,
driver_binaries.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from minifut.debug import debugging, report
from minifut.errors import InternalError, UsageError
from minifut.immutables import immutable
from minifut.opencl.runtime import binaries, driver_cache
from minifut.opencl.runtime.builtin_declarations import compile_program
from minifut.opencl.runtime.driver_binaries import serves_both
from minifut.opencl.runtime.sections import Section, together
from minifut.opencl.runtime.trial_launches import Trial, compile_by_launches

if TYPE_CHECKING:
    from minifut.opencl.runtime.kernels import Launcher
    from minifut.opencl.runtime.queue import Session


def build_together(
    launches: Sequence[tuple[Launcher, tuple[int, ...], tuple[int, ...]]],
) -> None:
    """Build kernels of different names, which are launched with these sizes, those that
    have the same options as one program; what was built before is loaded."""
    groups: dict[tuple[Any, ...], list[Unbuilt]] = {}
    for launcher, sizes, local in launches:
        section, handle = launcher.section(), launcher.handle
        session = launcher.session
        text, options = section.alone()
        key = binaries.key_of(session.device, handle, options, text)
        program = binaries.load_program(session, handle, key)
        if program is not None:
            _report(launcher.kernel.name, text, options)
            launcher.adopt(launcher.kernel_of(program))
            continue
        device = None if serves_both(session.device) else handle.int_ptr
        shared = device, section.prelude, section.options
        trial = Trial(section.name, launcher.kernel.types, sizes, local)
        groups.setdefault(shared, []).append(Unbuilt(key, launcher, section, trial))
    for members in groups.values():
        UnbuiltProgram(tuple(members)).build()


class Unbuilt(NamedTuple):
    """A kernel that is launched first."""

    key: str
    launcher: Launcher
    section: Section
    trial: Trial


@immutable
class UnbuiltProgram:
    """Kernels that become one program."""

    members: tuple[Unbuilt, ...]

    def source(self) -> tuple[str, str]:
        """The text and the options."""
        sections = [member.section for member in self.members]
        if len(sections) == 1:
            return sections[0].alone()
        return sections[0].prelude + together(sections), sections[0].options

    def build(self) -> None:
        """Build for each device that is needed."""
        text, options = self.source()
        trials = [member.trial for member in self.members]
        programs: dict[int, Any] = {}
        for member in self.members:
            member.launcher.session.builds.begin(member.launcher.program)
        for key, launcher, section, _ in self.members:
            session, handle = launcher.session, launcher.handle
            found = programs.get(handle.int_ptr)
            if found is None:
                given = session, handle, text, options, section.name, trials
                found = programs[handle.int_ptr] = build(*given)
            launcher.adopt(launcher.kernel_of(found))
            whole = binaries.key_of(session.device, handle, options, text)
            if key != whole:
                binaries.keep_part(session.device, key, whole)


def build(
    session: Session,
    handle: Any,
    text: str,
    options: str,
    name: str,
    trials: Sequence[Trial] = (),
) -> Any:
    """The program of a text, from the cache if it was built before. Where all its
    kernels are given with sizes to compile them for, it may be compiled once for
    several devices."""
    device = session.device
    _report(name, text, options)
    driver_cache.restore_private_folder()
    if device.platform == "PoCL":
        driver_cache.require_disk_space()
    key = binaries.key_of(device, handle, options, text)
    program = binaries.load_program(session, handle, key)
    if program is None and trials and serves_both(device):
        program = _compiled(
            name, text, partial(compile_by_launches, session, text, options, trials)
        )
        built_for = device.synchronous
        binaries.keep(device, program, key, built_for, (text, options))
        if handle != built_for:
            program = binaries.load_program(session, handle, key)
    if program is None:
        program = _compiled(
            name, text, partial(compile_program, session, handle, text, options)
        )
        binaries.keep(device, program, key, handle)
    return program


def _compiled(name: str, text: str, compile_it: Callable[[], Any]) -> Any:
    """What a function compiles; an error that says what is wrong."""
    import pyopencl as cl

    try:
        return compile_it()
    except cl.Error as error:
        if "bracket nesting level" in str(error):
            raise UsageError(
                "a kernel has loops or branches that are nested too deeply: write some "
                "of them one after the other"
            ) from None
        message = f"kernel {name}: {error}"
        raise InternalError("opencl", message, _numbered(text)) from None


def _report(name: str, text: str, options: str) -> None:
    if debugging("kernels"):
        report(f"// kernel {name}, built with {options}\n{text}")


def _numbered(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(f"{i:4} {line}" for i, line in enumerate(lines, 1))
