"""What autotuning gains: the program untuned, tuned, and its best forced version.

    python benchmarks/autotuning.py CHECKOUT [--only REGEX] [--results FILE]
        [--tuned FOLDER] [--tiles] [--schedule cpu|gpu] [--report]

CHECKOUT is a copy of Futhark's benchmarks (github.com/diku-dk/futhark-benchmarks), of
which nothing is changed. Programs and data sets are those of `benchmarks/versions.py`,
whose comparison follows on each tuning: every version is forced, and is interleaved
with the defaults and with what tuning found, so that ratios are of one run. Tuning
files go to the folder, results to the file, as soon as they are there; what is there
already is not done again."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import versions
from versions import Options, Results, jobs

from minifut import stages
from minifut.benchmarking.datasets import DataSet
from minifut.benchmarking.loaded import load_program
from minifut.errors import MinifutError
from minifut.parameters.file import write_tuning
from minifut.tuning.autotune import Limits
from minifut.tuning.loaded_subject import tuner_of
from minifut.tuning.summary import cost_line, summary_json, summary_table

PROGRAMS = r"matmul|LocVolCalib|OptionPricing|backprop"
DATA = r"k=|small|medium"
TUNING = " (tuning)"
"""behind the name of a program, what its tuning took"""
POINTS = 48


def tune_program(
    name: str, path: Path, wanted: list[DataSet], options: Options, points: int
) -> Any:
    """Write the program's tuning file; what it took, a failure as a string."""
    print(f"\n{name}", flush=True)
    compiled = stages.Options(schedule=options.schedule, use_tuning=False)
    limits = Limits(points=points, timeout=options.timeout)
    try:
        tuner = tuner_of(load_program(path, compiled), wanted, limits=limits)
        tuner.run()
    except MinifutError as error:
        return str(error)
    print(summary_table(tuner))
    print(cost_line(tuner), flush=True)
    assert options.tuned is not None
    write_tuning(options.tuned / f"{name}.tuning", tuner.to_write())
    return summary_json(tuner, name)[name]


def report(results: Results) -> str:
    """How far each choice is from the best version, then what tuning took."""
    compared = {n: d for n, d in results.found.items() if not n.endswith(TUNING)}
    lines = [versions.report(compared), ""]
    for name, found in results.found.items():
        took = found.get("all")
        if isinstance(took, dict):
            pairs = took["pairs"]
            line = f"{name}: {took['runs']} runs, {took['seconds']:.0f} s"
            if pairs:
                each = took["threshold_runs"] / pairs
                line += f", {each:.1f} for each of {pairs} pairs of threshold and data"
            changed = ", ".join(f"{n}={v}" for n, v in took["changed"].items())
            lines.append(f"{line}; {changed or 'the defaults stay'}")
        elif took is not None:
            lines.append(f"{name}: {took}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default=PROGRAMS, help="programs whose name matches")
    parser.add_argument("--data", default=DATA, help="data sets whose name matches")
    parser.add_argument("--tuned", type=Path, help="a folder for PROGRAM.tuning files")
    parser.add_argument("--results", type=Path, default=Path("autotuning.json"))
    parser.add_argument("--schedule", choices=stages.SCHEDULES)
    parser.add_argument("--timeout", type=float, default=60.0, help="of a first run")
    parser.add_argument("--runs", type=int, default=5, help="of a version afterwards")
    parser.add_argument("--most", type=int, default=64, help="versions of a program")
    parser.add_argument("--tiles", action="store_true", help="search sizes, too")
    parser.add_argument("--report", action="store_true", help="run nothing")
    given = parser.parse_args()
    scratch = Path(tempfile.gettempdir()) / "minifut-versions"
    scratch.mkdir(exist_ok=True)
    tuned = given.tuned or scratch
    tuned.mkdir(exist_ok=True)
    results = Results(given.results)
    options = Options(given.schedule, tuned, given.timeout, given.runs, given.most)
    points = POINTS if given.tiles else 0
    try:
        for name, path, wanted in () if given.report else jobs(given.checkout, scratch):
            chosen = [d for d in wanted if re.search(given.data, d.name)] or wanted[:2]
            if not re.search(given.only, name):
                continue
            if not results.has(name + TUNING, "all"):
                took = tune_program(name, path, chosen, options, points)
                results.put(name + TUNING, "all", took)
            versions.run_program(name, path, chosen, options, results)
    except KeyboardInterrupt:
        print("interrupted; what was done is kept", file=sys.stderr)
    print("\n" + report(results))


if __name__ == "__main__":
    main()
