"""`minifut test`: the test blocks of programs."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minifut.cli.options import (
    PROGRAM,
    option,
    print_parameters_option,
    show_parameters,
    target_options,
)
from minifut.errors import UsageError

if TYPE_CHECKING:
    from minifut.testing.runner import Report


@click.command("test")
@click.argument("paths", nargs=-1, required=True, type=PROGRAM)
@option("-e --entry=TEXT.. entries", "Only this entry point.")
@option(
    "--timeout=SECONDS seconds",
    "Seconds that compiling a program, or one of its cases, may take (0: any).",
    default=300.0,
)
@option("--exclude=TAG.. excluded", "Leave out programs and cases with this tag.")
@option("--compile-only", "Compile the programs, but run nothing.")
@option(
    "--seed",
    "What the random values of properties follow from (default: a new one).",
    type=int,
)
@option("-v --verbose", "Say what passed, too.")
@print_parameters_option
@target_options
def command(
    paths: tuple[Path, ...],
    entries: tuple[str, ...],
    seconds: float,
    excluded: tuple[str, ...],
    compile_only: bool,
    seed: int | None,
    verbose: bool,
    print_parameters: bool,
    **target: Any,
) -> int:
    """Run the test blocks of programs; folders are searched for .fut files.

    Without OpenCL, use --backend interpreter.
    """
    from minifut import stages
    from minifut.testing.runner import (
        TestOptions,
        check_tested,
        find_programs,
        run_program,
    )

    options = TestOptions(
        stages.Options(**target),
        frozenset(entries),
        seconds or None,
        frozenset(excluded),
        secrets.randbits(63) if seed is None else seed % (1 << 64),
        compile_only,
    )
    start = time.perf_counter()
    reports = []
    programs = find_programs(paths)
    if not programs:
        raise UsageError(f"no .fut file in {', '.join(map(str, paths))}")
    if print_parameters:
        show_parameters(programs, options.compile)
        return 0
    check_tested(programs, options)
    for path in programs:
        report = run_program(path, options)
        reports.append(report)
        show(report, verbose)
        if report.is_stuck:
            break
    failed = sum(bool(report.failures) for report in reports)
    aside = sum(report.is_set_aside for report in reports)
    passed = len(reports) - failed - aside
    summary = f"{passed} passed, {failed} failed"
    if aside:
        summary += f", {aside} set aside by their tags"
    if left := len(programs) - len(reports):
        summary += f", {left} not tested: a kernel that does not end keeps the device"
    click.echo(f"{summary} ({time.perf_counter() - start:.1f} s)")
    return 1 if failed else 0


def show(report: Report, verbose: bool) -> None:
    """A program's failures, or that it passed."""
    if report.failures:
        click.echo(f"FAILED {report.path}")
        for failure in report.failures:
            click.echo("  " + failure.replace("\n", "\n  "))
    elif verbose and not report.is_set_aside:
        runs = f"{report.runs} runs, " if report.runs else ""
        click.echo(f"passed {report.path} ({runs}{report.seconds:.2f} s)")
