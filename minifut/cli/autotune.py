"""`minifut autotune`: find the parameters with which a program runs best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minifut.cli.bench import data_options, json_text
from minifut.cli.options import PROGRAM, option, target_options
from minifut.errors import UsageError
from minifut.files import require_writable, write_whole

if TYPE_CHECKING:
    from minifut.stages import Options
    from minifut.tuning.autotune import Autotuner

INTERRUPTED = 130


@click.command("autotune")
@click.argument("path", metavar="FILE", type=PROGRAM)
@option(
    "-r --runs",
    "Runs of each candidate; more than 5 raise the limit of 12 for each "
    "threshold and data set.",
    type=click.IntRange(1),
    default=5,
)
@option("--tiles", "Search tile sizes and other numbers that shape kernels, too.")
@option(
    "--points=N",
    "How many combinations of sizes --tiles tries.",
    type=click.IntRange(1),
    default=48,
)
@option("--timeout=SECONDS", "Most time for the first run of a data set.", default=60.0)
@option(
    "--gradient=ENTRY[:NAMES]",
    "Tune the gradient of this entry point, in all parameters of floats or "
    "in those named, on the entry point's data sets.",
)
@option("--json=FILE json_file", "Write the summary.")
@data_options
@target_options
def command(
    path: Path,
    runs: int,
    tiles: bool,
    points: int,
    timeout: float,
    gradient: str | None,
    json_file: Path | None,
    entries: tuple[str, ...],
    excluded: tuple[str, ...],
    spec_file: Path | None,
    data: tuple[Path, ...],
    **target: Any,
) -> int:
    """Find the thresholds with which a program runs best on its data sets, and write
    them to FILE.tuning.

    The data sets are those of the test blocks (without those tagged notune), or data
    files. Parameters that are set with -P are left as they are, and those that are not
    searched as the tuning file has them. Ctrl-C keeps the best that is known.
    """
    from dataclasses import replace

    from minifut import stages
    from minifut.benchmarking.datasets import (
        TUNE,
        Data,
        Selection,
        check_chosen,
        data_sets,
    )
    from minifut.benchmarking.loaded import load_program
    from minifut.parameters.file import path_beside
    from minifut.tuning.autotune import Limits
    from minifut.tuning.gradients import gradient_to_tune
    from minifut.tuning.loaded_subject import tuner_of

    options = stages.Options(**target)
    # The file is about to be made, so that one that is missing is no mistake.
    known = path_beside(path, options.tuning_extension).is_file()
    options = replace(options, use_tuning=options.use_tuning and known)
    if options.backend != "opencl":
        raise UsageError(f"there is nothing to tune for --backend {options.backend}")
    tags = TUNE | set(excluded)
    file = path_beside(path, options.tuning_extension)
    require_writable([file] if json_file is None else [file, json_file])
    wanted = frozenset(entries)
    if gradient is not None:
        wanted = frozenset([gradient.partition(":")[0]])
    selection = Selection(tags, wanted, "opencl", spec_file, data)
    check_chosen([path], selection)
    found = data_sets(path, selection)
    if not found:
        raise UsageError(
            f"{path}: there is no data set to tune for; write a test block with input, "
            "or give --data FILE"
        )
    fixed = frozenset(options.parameters)
    subjects: Sequence[Data] = found
    if gradient is None:
        loaded = load_program(path, options)
    else:
        loaded, subjects = gradient_to_tune(path, options, gradient, found)
    within = timeout if timeout > 0 else float("inf")
    limits = Limits(runs, points if tiles else 0, within)
    tuner = tuner_of(loaded, subjects, fixed, limits)
    return tune(tuner, path, options, json_file)


def tune(tuner: Autotuner, path: Path, options: Options, json_file: Path | None) -> int:
    """Search, print the summary, and write the files."""
    from minifut.cli.progress import progress_bar
    from minifut.interrupts import raised
    from minifut.parameters.file import path_beside, write_tuning
    from minifut.tuning.summary import cost_line, summary_json, summary_table

    interrupted = False
    with progress_bar() as show:
        tuner.notify = show
        try:
            with raised():
                tuner.run()
        except KeyboardInterrupt:
            interrupted = True
    click.echo(summary_table(tuner))
    fits = len(tuner.failures) < len(tuner.task.subjects)
    if fits:
        file = path_beside(path, options.tuning_extension)
        write_tuning(file, tuner.to_write(), tuner.task.tunables)
        click.echo(f"{cost_line(tuner)}; wrote {file}")
    if json_file is not None:
        text = json_text(summary_json(tuner, str(path)))
        write_whole(json_file, text.encode())
    if interrupted:
        click.echo("interrupted: the best so far is kept", err=True)
        return INTERRUPTED
    return 0 if fits else 1
