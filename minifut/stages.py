"""The stages of compilation, one function each.

    Source -- check --> CheckedProgram -- to_core --> core (Soacs)
           -- to_kernels --> core (Kernels) -- to_schedule --> core (for one schedule)
           -- to_kernel_code --> kernel code -- to_host_module --> Python text

Every stage imports what it needs when it is called, so that `check` pays for the front
end only; while it runs, since modules are long-lived objects as well.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from minifut import collector, errors, files
from minifut.immutables import immutable
from minifut.suggestions import unknown

if TYPE_CHECKING:
    from minifut.frontend.check import CheckedProgram
    from minifut.ir.core import Program as CoreProgram
    from minifut.kernel_ir.program import KernelProgram
    from minifut.opencl.module import PartText
    from minifut.passes.pipeline import PipelineOptions

T = TypeVar("T")

SCHEDULES = ("cpu", "gpu")
BACKENDS = ("opencl", "interpreter", "sequential")
DEEPEST = 100_000
"""Python frames of a stage"""


@immutable
class Options:
    """What to compile for.

    `schedule` and `device` None: chosen by what is there. `parameters` sets tuning
    parameters by name; `use_tuning` takes what the program's tuning file sets besides,
    which is the program's path with `.tuning_extension` added. `max_memory` limits the
    bytes of device memory.
    """

    backend: str = "opencl"
    schedule: str | None = None
    device: str | None = None
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    use_tuning: bool = True
    tuning_extension: str = "tuning"
    max_memory: int | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise errors.UsageError(unknown("backend", self.backend, BACKENDS))
        if self.schedule is not None and self.schedule not in SCHEDULES:
            raise errors.UsageError(unknown("schedule", self.schedule, SCHEDULES))
        most = self.max_memory
        if most is not None and (not isinstance(most, int) or most <= 0):
            raise errors.UsageError(
                f"max_memory is a positive number of bytes, not {most!r}"
            )


def read_source(path: Path) -> errors.Source:
    """A program from its file."""
    try:
        text = files.read_text(path)
    except OSError as error:
        raise errors.UsageError(
            f"{path}: cannot be read: {errors.reason(error)}"
        ) from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        source = errors.Source(str(path), error.object.decode(errors="replace"))
        place = errors.Location(source, line, column, line, column + 1)
        hint = "save the file as UTF-8"
        raise errors.CompileError(place, "the text is not UTF-8", hint) from None
    return errors.Source(str(path), text)


def check(source: errors.Source) -> CheckedProgram:
    """Parse and check. Raises `CompileError`."""

    def run() -> CheckedProgram:
        from minifut.frontend.check import check_program

        return check_program(source)

    return stage("checking", run)


def documentation_of(checked: CheckedProgram) -> dict[str, str]:
    """The comment above each entry point that has one. The first comment of a file is
    about the file, and about what is below it if that has none of its own."""
    found = {entry.name: entry.doc for entry in checked.entries if entry.doc}
    program = checked.program
    if program.doc and program.declarations:
        first = program.declarations[0]
        for entry in checked.entries:
            if entry is first:
                found.setdefault(entry.name, program.doc)
    return found


def to_core(
    checked: CheckedProgram, entries: Sequence[str] | None = None
) -> CoreProgram:
    """Elaborate to the core: monomorphic, first order, unzipped; all entry points, or
    the named ones."""

    def run() -> CoreProgram:
        from minifut.frontend.elaborate import elaborate_program

        return elaborate_program(checked, None if entries is None else list(entries))

    return stage("elaboration", run)


def without_derivatives(program: CoreProgram) -> CoreProgram:
    """Replace derivatives by what computes them."""
    from minifut.ir.parser import names_after
    from minifut.passes.differentiate.driver import has_derivatives
    from minifut.passes.pipelines import DIFFERENTIATE, run_pipeline

    if not has_derivatives(program):
        return program
    with deep_recursion():
        return run_pipeline(program, names_after(program), steps=(DIFFERENTIATE,))


def to_kernels(
    program: CoreProgram, options: PipelineOptions | None = None
) -> CoreProgram:
    """Run the standard pipeline of passes."""
    with deep_recursion():
        from minifut.ir.parser import names_after
        from minifut.passes.pipelines import run_pipeline

        return run_pipeline(program, names_after(program), options=options)


def to_schedule(
    program: CoreProgram, schedule: str, options: PipelineOptions | None = None
) -> CoreProgram:
    """Run the passes that differ between schedules."""
    from minifut.ir.parser import names_after
    from minifut.passes.pipeline import run_steps
    from minifut.passes.pipelines import FOR_SCHEDULE

    with deep_recursion():
        steps = FOR_SCHEDULE[schedule]
        made: CoreProgram = run_steps(steps, program, names_after(program), options)
        return made


def to_kernel_code(
    program: CoreProgram, schedule: str, options: PipelineOptions | None = None
) -> KernelProgram:
    """Lower a program under a schedule, and run the passes over kernel code."""
    with deep_recursion():
        from minifut.lowering.pipelines import to_kernel_code

        return to_kernel_code(program, schedule, options)


def to_host_module(
    program: CoreProgram,
    schedule: str | None,
    name: str = "program",
    documentation: Mapping[str, str] | None = None,
) -> str:
    """The text of the Python module that runs the program without the compiler, for
    one schedule or (None) for both; `documentation` are comments above entry points."""

    def part(each: str, defined: Callable[[], Sequence[str]] = list) -> PartText:
        from minifut.opencl.module import part_of

        lowered = to_kernel_code(to_schedule(program, each), each)
        return part_of(lowered, name, documentation, defined)

    def text() -> str:
        from minifut.opencl.module import joined

        if schedule is not None:
            return joined([part(schedule)])
        from minifut.opencl.both_schedules import both

        return joined(both(*[partial(part, each) for each in SCHEDULES]))

    return stage("code generation", text)


class _Running:
    """The stages that run, in all threads, and the interpreter's limit before."""

    lock = threading.Lock()
    count = 0
    limit = 0


@contextlib.contextmanager
def deep_recursion() -> Iterator[None]:
    """Passes recurse as deep as programs nest, which is deeper than Python's limit;
    and make many small objects, hardly ever in cycles, so that Python's collector,
    which takes a quarter of the time otherwise, is to look for those rarely."""
    with _Running.lock:
        if not _Running.count:
            _Running.limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_Running.limit, DEEPEST))
        _Running.count += 1
    try:
        with collector.collecting_rarely():
            yield
    finally:
        with _Running.lock:
            _Running.count -= 1
            if not _Running.count:
                sys.setrecursionlimit(_Running.limit)


def stage(name: str, run: Callable[[], T]) -> T:
    """Run a stage; what it did not mean to raise becomes an `InternalError`."""
    try:
        with deep_recursion():
            return run()
    except (errors.MinifutError, MemoryError):
        raise
    except RecursionError:
        raise errors.UsageError(
            "the program has loops or branches that are nested too deeply: write some "
            "of them one after the other"
        ) from None
    except Exception as error:
        import traceback

        frames = "".join(traceback.format_tb(error.__traceback__)[-3:]).rstrip()
        message = f"{type(error).__name__}: {error}"
        raise errors.InternalError(name, message, frames) from error
