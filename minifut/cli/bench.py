"""`minifut bench`: programs measured on their data sets."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minifut.cli.errors import warn_of_one_thread
from minifut.cli.options import (
    PROGRAM,
    option,
    print_parameters_option,
    show_parameters,
    target_options,
    with_options,
)
from minifut.errors import UsageError
from minifut.files import require_writable, write_whole

if TYPE_CHECKING:
    from minifut.benchmarking.bench import BenchOutcome
    from minifut.benchmarking.compare import Comparison
    from minifut.benchmarking.datasets import DataSet, Selection
    from minifut.benchmarking.kernel_file import KernelFile
    from minifut.benchmarking.loaded import Loaded
    from minifut.benchmarking.measure import Candidate, RunPlan
    from minifut.stages import Options

Command = Callable[..., Any]


def data_options(command: Command) -> Command:
    """Which data sets to take."""
    options = (
        option("-e --entry --entry-point=TEXT.. entries", "Only this entry point."),
        option("--exclude-case=TAG.. excluded", "Leave out cases with this tag."),
        option(
            "--spec-file=FILE",
            "Take the test block of this file, without comment marks.",
        ),
        option("--data=FILE..", "Take this data file instead of the test blocks."),
    )
    return with_options(command, options)


@click.command("bench")
@click.argument("paths", nargs=-1, required=True, type=PROGRAM)
@option(
    "-r --runs",
    "Least number of runs for a data set.",
    type=click.IntRange(1),
    default=10,
)
@option("--no-convergence-phase converge", "No further runs if the first ones vary.")
@option(
    "--convergence-max-seconds=SECONDS most_seconds",
    "No more runs after so much running time.",
    default=300.0,
)
@option(
    "--timeout=SECONDS limit",
    "Most time for all runs of a data set, of a version with --versions.",
)
@option("--json=FILE json_file", "Write all runs.")
@option("--versions", "Force every version in turn and compare them.")
@option("--against=FILE.cl..", "Compare the versions with this hand-written kernel.")
@option("--plot=FILE.png", "Draw the versions (matplotlib).")
@option("--ignore-files=REGEX.. ignored", "Leave out programs whose path matches.")
@data_options
@print_parameters_option
@target_options
def command(
    paths: tuple[Path, ...],
    runs: int,
    converge: bool,
    most_seconds: float,
    limit: float | None,
    json_file: Path | None,
    versions: bool,
    against: tuple[Path, ...],
    plot: Path | None,
    entries: tuple[str, ...],
    excluded: tuple[str, ...],
    ignored: tuple[str, ...],
    spec_file: Path | None,
    data: tuple[Path, ...],
    print_parameters: bool,
    **target: Any,
) -> int:
    """Measure programs on the data sets of their test blocks; folders are searched.

    A run does not count to warm up. Then there are at least 10, for half a second; if
    they vary too much, runs go on until their mean is precise. Results are judged, too.
    With --versions, each version of a program is forced, judged and measured. A kernel
    to compare them with says in a comment how it is called:

    \b
        // ==
        // kernel: matmul
        // arguments: a, b, result, n, k, m, local(4 * 16 * 16)
        // global size: 16 * ceil_div(m, 16), 16 * ceil_div(n, 16)
        // local size: 16, 16
    """
    from minifut import stages
    from minifut.benchmarking.datasets import BENCH, Selection, check_chosen
    from minifut.benchmarking.measure import RunPlan

    options = stages.Options(**target)
    programs = selected_programs(paths, ignored)
    if print_parameters:
        show_parameters(programs, options)
        return 0
    if against and not versions:
        raise UsageError("--against takes part among versions: give --versions, too")
    if plot is not None:
        if not versions:
            raise UsageError("--plot draws versions: give --versions, too")
        from minifut.benchmarking.plot import need_matplotlib, require_form

        need_matplotlib()
        require_form(plot.suffix[1:] or "png")
    require_writable(file for file in (json_file, plot) if file is not None)
    limit = limit if limit is not None and limit > 0 else None
    tags, chosen = BENCH | set(excluded), frozenset(entries)
    selection = Selection(tags, chosen, options.backend, spec_file, data)
    check_chosen(programs, selection)
    # Versions are compared by their fastest runs, which need no convergence.
    converge = converge and not versions
    plan = RunPlan(runs, converge=converge, most_seconds=most_seconds, limit=limit)
    job = Job(options, selection, plan, kernel_files(against))
    run = job.compare_program if versions else job.bench_program
    try:
        for path in programs:
            run(path)
            if job.is_stuck:
                note = "a kernel that does not end keeps the device: nothing after it"
                click.echo(f"minifut: {note} was measured", err=True)
                break
    finally:
        # Also after an interrupt: what was measured until then is kept.
        job.write(json_file, plot)
    if not (job.outcomes or job.comparisons):
        note = "nothing to measure: no data set is chosen; write test blocks with input"
        click.echo(f"minifut: {note}, or give --data FILE", err=True)
    return 1 if job.is_wrong else 0


def kernel_files(paths: tuple[Path, ...]) -> list[KernelFile]:
    """What the versions are to be compared with."""
    from minifut.benchmarking.kernel_file import read_kernel_file

    return [read_kernel_file(path) for path in paths]


def selected_programs(paths: tuple[Path, ...], ignored: tuple[str, ...]) -> list[Path]:
    """The programs, without those that are to be left out."""
    from minifut.testing.runner import find_programs

    try:
        patterns = [re.compile(each) for each in ignored]
    except re.error as error:
        raise UsageError(f"--ignore-files: {error}") from None
    found = find_programs(paths)
    kept = [p for p in found if not any(r.search(str(p)) for r in patterns)]
    if not kept:
        raise UsageError(f"no .fut file in {', '.join(map(str, paths))}")
    return kept


class Job:
    """What is to be measured, and what has been."""

    def __init__(
        self,
        options: Options,
        selection: Selection,
        plan: RunPlan,
        against: Sequence[KernelFile] = (),
    ) -> None:
        self.options = options
        self.against = against
        self.selection = selection
        self.plan = plan
        self.outcomes: list[BenchOutcome] = []
        self.comparisons: list[Comparison] = []

    def data_of(self, path: Path) -> Iterator[tuple[Loaded, str, list[DataSet]]]:
        """The program with the data sets of each entry point. A program that has none
        is not even compiled."""
        from minifut.benchmarking.datasets import data_sets

        found = data_sets(path, self.selection)
        if not found:
            return
        from minifut.benchmarking.loaded import load_program
        from minifut.inspection import one_thread_of

        loaded = load_program(path, self.options)
        warn_of_one_thread(one_thread_of(loaded.program))
        names = dict.fromkeys(data.program_name for data in found)
        for name in names:
            yield loaded, name, [d for d in found if d.program_name == name]

    def bench_program(self, path: Path) -> None:
        """Measure its data sets, each by itself."""
        from minifut.benchmarking.bench import BenchOutcome, bench
        from minifut.benchmarking.report import name_width, result_line

        for loaded, name, found in self.data_of(path):
            click.echo(f"\n{name}{self.tuning_note(path)}:")
            width = name_width(data.name for data in found)
            for data in found:
                outcome = BenchOutcome(data)
                self.outcomes.append(outcome)
                with Progress() as progress:
                    bench(outcome, loaded, self.plan, progress.shows(data.name, width))
                if outcome.failure is None:
                    click.echo(result_line(outcome, width))
                else:
                    click.echo(f"{data.name}:")
                    click.echo("  " + outcome.failure.replace("\n", "\n  "))
                if self.is_stuck:
                    return

    def compare_program(self, path: Path) -> None:
        """Measure all versions on each data set."""
        from minifut.benchmarking.compare import Comparison, compare
        from minifut.benchmarking.version_report import version_table
        from minifut.parameters.versions import versions_of

        for loaded, _, found in self.data_of(path):
            if loaded.kernels is None:
                raise UsageError("--versions needs --backend opencl")
            entry = found[0].entry
            versions = versions_of(loaded.kernels, entry)
            against = [file for file in self.against if file.entry == entry]
            for data in found:
                comparison = Comparison(data)
                self.comparisons.append(comparison)
                with Progress() as progress:
                    shows = progress.shows(data.name, 40)
                    compare(
                        comparison, loaded, versions, self.plan, shows, against=against
                    )
                click.echo("\n" + version_table(comparison))

    def tuning_note(self, path: Path) -> str:
        """Which tuning file counts."""
        from minifut.parameters.file import path_beside

        beside = path_beside(path, self.options.tuning_extension)
        if self.options.use_tuning and beside.is_file():
            return f" (using {beside.name})"
        return ""

    @property
    def is_stuck(self) -> bool:
        """Whether the device is kept by what was measured last."""
        return any(outcome.is_stuck for outcome in self.outcomes)

    @property
    def is_wrong(self) -> bool:
        """Whether anything failed."""
        return any(outcome.failure is not None for outcome in self.outcomes) or any(
            comparison.is_wrong for comparison in self.comparisons
        )

    def write(self, json_file: Path | None, plot: Path | None) -> None:
        """The requested files."""
        if json_file is not None:
            from minifut.benchmarking.report import bench_json
            from minifut.benchmarking.version_report import versions_json

            found = bench_json(self.outcomes) | versions_json(self.comparisons)
            write_whole(json_file, json_text(found).encode())
        if plot is not None and self.comparisons:
            from minifut.benchmarking.plot import plot_versions

            write_whole(plot, plot_versions(self.comparisons, plot.suffix[1:] or "png"))


_NUMBERS = re.compile(r"\[\s+(\d+(?:,\s+\d+)*)\s+\]")


def json_text(found: dict[str, Any]) -> str:
    """JSON as a person reads it: indented, lists of numbers on a line."""
    text = json.dumps(found, indent=2, ensure_ascii=False)
    return _NUMBERS.sub(lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


class Progress:
    """A line on a terminal that shows how a measurement goes; gone at the end."""

    def __init__(self) -> None:
        self.is_shown = sys.stdout is not None and sys.stdout.isatty()
        self.shown = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.show("")

    def shows(self, name: str, width: int) -> Callable[[Candidate], None] | None:
        """What to call after each run."""
        from minifut.benchmarking.report import progress_line

        if not self.is_shown:
            return None
        return lambda candidate: self.show(progress_line(name, candidate, width))

    def show(self, line: str) -> None:
        """Write over the line before."""
        if self.shown or line:
            left = max(0, self.shown - len(line))
            end = "\r" + line if line else "\r"
            click.echo(f"\r{line}{' ' * left}{end}", nl=False)
            self.shown = len(line)
