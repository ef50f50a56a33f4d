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
from minifut.opencl.runtime.build_processes import compiled_by_copies
from minifut.opencl.runtime.builtin_declarations import compile_program
from minifut.opencl.runtime.driver_binaries import serves_both
from minifut.opencl.runtime.sections import Section, together
from minifut.opencl.runtime.trial_launches import Trial, compile_by_launches
from minifut.process_copies import count

if TYPE_CHECKING:
    from minifut.opencl.runtime.kernels import Launcher
    from minifut.opencl.runtime.queue import Session

SHORT = 4000
"""characters of kernels: to share more than these gains time"""


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
        _build_programs(members)


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

    def compile_for_both(self) -> None:
        """Compile for what serves both devices."""
        session = self.members[0].launcher.session
        trials = [member.trial for member in self.members]
        compile_by_launches(session, *self.source(), trials)

    def build(self) -> None:
        """Build for each device that is needed."""
        text, options = self.source()
        trials = [member.trial for member in self.members]
        programs: dict[int, Any] = {}
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


def _build_programs(members: Sequence[Unbuilt]) -> None:
    """Build kernels as one program, or as several that are compiled at once."""
    session = members[0].launcher.session
    for member in members:
        session.builds.begin(member.launcher.program)
    parts = [members]
    if serves_both(session.device):
        parts = divided(members, count())
    if len(parts) > 1 and not session.comes_to_rest():
        parts = [members]
    first, *others = [UnbuiltProgram(tuple(part)) for part in parts]
    with compiled_by_copies([other.compile_for_both for other in others]):
        first.build()
    for other in others:
        other.build()


def divided(members: Sequence[Unbuilt], most: int) -> list[Sequence[Unbuilt]]:
    """At most so many parts, the texts of which are about as long, the longest first.
    None is short."""
    longest = sorted(members, key=lambda m: -len(m.section.text))
    count = sum(len(member.section.text) for member in members) // SHORT
    for number in range(min(most, count, len(members)), 1, -1):
        parts: list[list[Unbuilt]] = [[] for _ in range(number)]
        lengths = [0] * number
        for member in longest:
            place = lengths.index(min(lengths))
            parts[place].append(member)
            lengths[place] += len(member.section.text)
        if min(lengths) >= SHORT:
            return [parts[i] for i in sorted(range(number), key=lambda i: -lengths[i])]
    return [members]


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
