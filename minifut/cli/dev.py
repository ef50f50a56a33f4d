"""`minifut dev`: the stages of the compiler, printed.

Everything it shows comes from the stages themselves; this is only the shell around
`minifut.passes.pipelines`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from minifut.cli.options import PROGRAM, option
from minifut.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minifut.ir.core import Program
    from minifut.passes.pipeline import PipelineOptions
    from minifut.rewrite.trace import Trace


T = TypeVar("T")


@click.command("dev")
@click.argument("file", type=PROGRAM, required=False)
@option("--list-passes", "Name every pass and the pipeline.")
@option("--list-rules", "Name every rewrite rule.")
@option("--stop-after=PASS", "Run up to this pass.")
@option(
    "--dump-after=PASS..",
    "Print the program after this pass, or after each one for 'all'.",
)
@option("--time timed", "Say how long each stage took.")
@option(
    "--explain",
    "List the rules that made each kernel, those that declined, and "
    "what runs on the host.",
)
@option("--core", "Print the core, before any pass.")
@option("--module", "Print the generated module.")
@option(
    "--schedule",
    "The schedule of the last passes and of the generated module.",
    type=click.Choice(["cpu", "gpu"]),
    default="cpu",
)
@option(
    "--pass=PASS.. only",
    "Run these passes alone, in this order, on FILE: printed IR, or a program.",
)
@option(
    "--reduce=FILE to_reduce",
    "Make a program smaller for which the command of --while succeeds.",
)
@option(
    "--while=COMMAND command_line",
    "With --reduce: a shell command; {} stands for the program to try.",
)
@option("-e --entry=TEXT.. entries", "Keep this entry point.")
def command(
    file: Path | None,
    list_passes: bool,
    list_rules: bool,
    stop_after: str | None,
    dump_after: tuple[str, ...],
    timed: bool,
    explain: bool,
    core: bool,
    module: bool,
    schedule: str,
    only: tuple[str, ...],
    to_reduce: Path | None,
    command_line: str | None,
    entries: tuple[str, ...],
) -> None:
    """Look inside the compiler.

    FILE is a program (.fut), or IR or kernel code as printed here (any other ending).
    Without other options the IR after the passes over the core is printed; kernel code
    is with --stop-after or --dump-after, from lower-cpu or lower-gpu on.
    """
    if to_reduce is not None or command_line is not None:
        from minifut.cli.reduce import reduce_file

        if to_reduce is None or command_line is None:
            raise UsageError("--reduce FILE and --while COMMAND belong together")
        reduce_file(to_reduce, command_line)
        return
    if list_passes or list_rules:
        if list_passes:
            show_passes()
        if list_rules:
            show_rules()
        return
    if file is None:
        raise UsageError("dev needs a FILE, --list-passes or --list-rules")
    from minifut import stages

    clock = Clock(timed)
    program = read_program(file, entries, clock)
    if only:
        program = run_alone(only, program)
    if core or only or is_kernel_code(program):
        show_program(program)
        return
    from minifut.passes.pipeline import PipelineOptions
    from minifut.rewrite.trace import Trace

    for name in (*dump_after, *filter(None, [stop_after])):
        check_pass(name, schedule)
    options = PipelineOptions(
        stop_after=stop_after,
        dump_after=frozenset(dump_after),
        on_dump=show_dump,
        time=timed,
        trace=Trace(declined=True) if explain else None,
    )
    program = run_stages(program, schedule, options, module, clock)
    show_timings(options)
    if options.trace is not None:
        show_derivation(options.trace, schedule)
        if is_kernel_code(program):
            show_section("point by point on the host", program.on_host)
            show_section("in one work-item of the device", program.one_thread)
    elif module:
        text = clock.measure(
            "code generation",
            lambda: stages.to_host_module(program, schedule, file.stem),
        )
        click.echo(text)
    elif not dump_after:
        show_program(program)


def run_stages(
    program: Program,
    schedule: str,
    options: PipelineOptions,
    module: bool,
    clock: Clock,
) -> Any:
    """The program after the stages that the options require: the passes over the core,
    those for the schedule unless a module does them itself, and those over kernel code
    if one of them is to be seen."""
    from minifut import stages
    from minifut.lowering import pipelines as lowering
    from minifut.passes.pipelines import FOR_SCHEDULE

    own = {step.name for step in FOR_SCHEDULE[schedule]}
    late = {step.name for step in lowering.FOR_SCHEDULE[schedule]}
    stop = options.stop_after
    explain = options.trace is not None
    early = replace(options, stop_after=None if stop in late else stop)
    program = clock.measure("passes", lambda: stages.to_kernels(program, early))
    if (module and not explain) or not (stop is None or stop in own | late):
        return program
    program = clock.measure(
        f"passes for {schedule}", lambda: stages.to_schedule(program, schedule, early)
    )
    seen = stop in late or bool(options.dump_after & late)
    if seen or (stop is None and (explain or "all" in options.dump_after)):
        return clock.measure(
            f"kernel code for {schedule}",
            lambda: stages.to_kernel_code(program, schedule, options),
        )
    return program


def check_pass(name: str, schedule: str) -> None:
    """UsageError if there is no such pass, or only for another schedule."""
    from minifut.lowering import pipelines as lowering
    from minifut.passes.pipelines import FOR_SCHEDULE

    if name == "all":
        return
    lowering.find_pass(name)
    having = {
        each
        for each, own in FOR_SCHEDULE.items()
        if name in {step.name for step in (*own, *lowering.FOR_SCHEDULE[each])}
    }
    if having and schedule not in having:
        (other,) = having
        raise UsageError(f"pass '{name}' is for the {other}: add --schedule {other}")


class Clock:
    """Says on stderr how long stages took, if it is on."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def measure(self, name: str, run: Callable[[], T]) -> T:
        import time

        start = time.perf_counter()
        result = run()
        if self.on:
            seconds = time.perf_counter() - start
            click.echo(f"{seconds * 1e3:9.1f} ms  {name}", err=True)
        return result


def show_passes() -> None:
    """Every pass with its line, then the pipeline and what follows it."""
    from minifut.lowering import pipelines as lowering
    from minifut.passes.pipelines import DEFAULT, FOR_SCHEDULE

    width = max(len(p.name) for p in lowering.ALL_PASSES)
    for step in lowering.ALL_PASSES:
        click.echo(f"{step.name:{width}}  {step.summary}")
    click.echo("\npipeline: " + ", ".join(step.name for step in DEFAULT))
    for schedule, own in FOR_SCHEDULE.items():
        steps = (*own, *lowering.FOR_SCHEDULE[schedule])
        click.echo(f"then for {schedule}: " + ", ".join(step.name for step in steps))


def show_rules() -> None:
    """Every rule, of passes and of kernel code, with what it does."""
    import importlib
    import pkgutil

    from minifut import kernel_passes, lowering, passes
    from minifut.rewrite.rule import REGISTRY

    for package in (passes, kernel_passes, lowering):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    width = max((len(name) for name in REGISTRY), default=0)
    for name, rule in sorted(REGISTRY.items()):
        label = f" [{rule.label}]" if rule.label else ""
        click.echo(f"{name:{width}}  {rule.summary}{label}")


def read_program(file: Path, entries: tuple[str, ...], clock: Clock) -> Any:
    """The core of a program, or printed IR, with these entry points (none: all); or
    printed kernel code."""
    from minifut import stages

    source = stages.read_source(file)
    if file.suffix == ".fut":
        checked = clock.measure("check", lambda: stages.check(source))
        require_names(entries, [entry.name for entry in checked.entries])
        return clock.measure(
            "elaborate", lambda: stages.to_core(checked, entries or None)
        )
    from minifut.ir.parser import parse_program
    from minifut.kernel_ir.reader import is_program, read_program
    from minifut.kernel_ir.verify import verify_program

    if is_program(source.text):
        kernels = read_program(source.text)
        verify_program(kernels)
        return kernels
    try:
        program = parse_program(source.text)
    except UsageError as error:
        hint = "the name of a program ends in .fut"
        raise UsageError(f"{file}: {error}\n({hint})") from None
    require_names(entries, [entry.name for entry in program.entries])
    kept = tuple(e for e in program.entries if not entries or e.name in entries)
    return replace(program, entries=kept)


def require_names(wanted: tuple[str, ...], known: list[str]) -> None:
    """Refuse entry points that do not exist."""
    from minifut.suggestions import unknown

    for name in wanted:
        if name not in known:
            raise UsageError(unknown("entry point", name, known))


def is_kernel_code(program: Any) -> bool:
    """Whether a program was lowered."""
    from minifut.kernel_ir.program import KernelProgram

    return isinstance(program, KernelProgram)


def run_alone(wanted: tuple[str, ...], program: Any) -> Any:
    """The program after these passes and no others."""
    from minifut.kernel_ir.verify import KERNEL_CODE
    from minifut.lowering.pipelines import find_pass, names_after
    from minifut.passes.pipeline import PipelineOptions, run_step

    names = names_after(program)
    for name in wanted:
        step = find_pass(name)
        if (step.reads is KERNEL_CODE) != is_kernel_code(program):
            needed = "kernel code" if step.reads is KERNEL_CODE else "the core"
            raise UsageError(f"the pass '{name}' reads {needed}")
        program = run_step(step, program, names, PipelineOptions())
    return program


def show_derivation(trace: Trace, schedule: str) -> None:
    """What the rules did, pass by pass: each step below the one that led to it, with
    the kernels that it made."""
    from minifut.rewrite.explain import explain

    click.echo(explain(trace, schedule))


def show_section(title: str, lines: Sequence[str]) -> None:
    """Lines under a title, if there are any."""
    if lines:
        click.echo(title)
        for line in lines:
            click.echo(f"  {line}")


def show_program(program: Any) -> None:
    """The printed IR, or the printed kernel code."""
    if is_kernel_code(program):
        from minifut.kernel_ir.printer import show
    else:
        from minifut.ir.printer import show
    click.echo(show(program))


def show_dump(step: str, program: Any) -> None:
    """The program after a step, under a headline that the IR parser skips."""
    click.echo(f"-- after {step}")
    show_program(program)
    click.echo()


def show_timings(options: PipelineOptions) -> None:
    """Milliseconds for each step, and for the check of what it made."""
    for timing in options.timings:
        click.echo(
            f"{timing.seconds * 1e3:9.1f} ms    {timing.step} "
            f"(verify {timing.verifying * 1e3:.1f} ms)",
            err=True,
        )
