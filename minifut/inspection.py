"""What a program consists of: its kernels, its versions, and the rules that made them.

    print(prog.explain())             rules that made each kernel or declined
    prog.kernels["main_reduced"]      OpenCL C, and where its source lines are
    for version in prog.versions("main"):
        prog.tuning.update(version.settings)      force it; then call and compare

`kernels` reads what was generated. The others run the compiler once more, so that they
need the program's source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minifut.errors import UsageError
from minifut.generated_module import generated_program

if TYPE_CHECKING:
    from minifut.errors import Source
    from minifut.ir.core import Program as CoreProgram
    from minifut.parameters.versions import Version
    from minifut.program import EntryPoint, Program
    from minifut.recipe import Recipe


class Text(str):
    """A text that prompts and notebooks show as it is read."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def kernels_of(program: Program) -> dict[str, str]:
    """The OpenCL C of each kernel by its name, below the places that it computes."""
    generated = generated_program(_module(program).text)
    return {
        kernel.name: Text(
            "".join(f"// {place}\n" for place in kernel.places)
            + (generated.prelude if kernel.text is None else kernel.text)
        )
        for kernel in generated.kernels
    }


def meant(program: Program, entry: str | EntryPoint | None) -> EntryPoint:
    """The entry point itself, or that of a name; if none is given `main`, or the only
    one. Raises `UsageError`."""
    if entry is None:
        names = list(program.entries)
        entry = names[0] if len(names) == 1 else "main"
        if names and entry not in names:
            raise UsageError(f"which entry point? give entry=..: {', '.join(names)}")
    name: Any = entry
    return program.entry(getattr(name, "name", name))


def one_thread_of(program: Program) -> tuple[str, ...]:
    """What one work-item of a GPU does alone: where, what and how much work."""
    recipe = program.recipe
    if recipe is None or recipe.backend != "opencl":
        return ()
    return tuple(generated_program(recipe.text).one_thread)


def versions_of(
    program: Program, entry: str | EntryPoint | None
) -> tuple[Version, ...]:
    """The versions of an entry point, each with the settings that force it."""
    from minifut import stages
    from minifut.parameters import versions

    name = meant(program, entry).name
    _, schedule = _origin(program)
    kernels = stages.to_schedule(lowered(program, name), schedule)
    return versions.versions_of(kernels, name).versions


def lowered(program: Program, entry: str | None = None) -> CoreProgram:
    """The Kernels that a program was made of, before layout; of one entry point."""
    from minifut import stages

    return stages.to_kernels(_core(program, None if entry is None else [entry]))


def explain(program: Program) -> str:
    """The rules that made each kernel, and which declined and why."""
    from minifut import stages
    from minifut.passes.pipeline import PipelineOptions
    from minifut.rewrite.explain import explain
    from minifut.rewrite.trace import Trace

    _, schedule = _origin(program)
    trace = Trace(declined=True)
    options = PipelineOptions(trace=trace)
    core = _core(program)
    kernels = stages.to_schedule(stages.to_kernels(core, options), schedule, options)
    stages.to_kernel_code(kernels, schedule, options)
    return Text(explain(trace, schedule))


def _core(program: Program, wanted: list[str] | None = None) -> CoreProgram:
    """The core of a program, or of some of its entry points."""
    from minifut import stages

    source, _ = _origin(program)
    derivative = _module(program).derivative
    if derivative is None:
        return stages.to_core(stages.check(source), wanted)
    whole = stages.to_core(stages.check(source), [derivative.entry])
    return derivative.program(whole)


def _module(program: Program) -> Recipe:
    recipe = program.recipe
    if recipe is None or recipe.backend != "opencl":
        raise UsageError(f"{program.description} has no kernels")
    return recipe


def _origin(program: Program) -> tuple[Source, str]:
    """The source of a program, and the schedule that it was compiled for."""
    module = _module(program)
    if module.source is None:
        raise UsageError("the program was loaded without its source")
    return module.source, generated_program(module.text).schedule
