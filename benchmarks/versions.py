"""How good the choice of versions is: untuned, tuned, and the best forced version.

    python benchmarks/versions.py CHECKOUT [--only REGEX] [--data REGEX]
        [--tuned FOLDER] [--most N] [--results FILE] [--schedule cpu|gpu]
        [--timeout SECONDS] [--report]

CHECKOUT is a copy of Futhark's benchmarks (github.com/diku-dk/futhark-benchmarks),
whose programs are run where they are. Data sets that are not part of it are made here,
in the shapes that its own have. The matrix products are those of the slides "Regular
flattening": [2^n][2^m] by [2^m][2^n], with m = 25 - 2n and m = 20 - 2n.

Every version of a program (N at most) is forced and judged, and is interleaved with the
default parameters ("untuned"), with those of FOLDER/PROGRAM.tuning ("tuned"), and with
the program as it is without versions: flattened moderately, which leaves all but the
outer parallelism of each nest to threads, and fully. Ratios are of one run, round by
round. It takes long: each data set is kept in the results as soon as it is done, and
not run again; --report only prints the table of what there is."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minifut import compiler, loaded_module, stages
from minifut.benchmarking.compare import Comparison, compare
from minifut.benchmarking.datasets import DataSet, Selection, data_sets
from minifut.benchmarking.loaded import Loaded, load_program
from minifut.benchmarking.measure import RunPlan
from minifut.benchmarking.version_report import (
    readable_seconds,
    version_table,
    versions_json,
)
from minifut.errors import MinifutError
from minifut.ir.parser import names_after
from minifut.parameters.file import read_tuning
from minifut.parameters.versions import versions_of
from minifut.passes.pipeline import Pass
from minifut.passes.pipelines import FULL, MODERATE, run_pipeline
from minifut.values.binary import write_binary

MADE_BY = Path(__file__)
EXAMPLES = MADE_BY.parent.parent / "examples"
CHOICES = ("untuned", "tuned")
"""parameters that the report compares with the best forced version"""

RIVALS = {"moderate": MODERATE, "fully": FULL}
"""the pipelines without versions, whose times it compares with those of choices"""

RACERS = (*CHOICES, *RIVALS, "current")
"""names that do not stand for a forced version"""

Values = Callable[[np.random.Generator], list[Any]]


@dataclass(frozen=True)
class Program:
    """`path` in the checkout; `made` are data sets in the place of its own."""

    name: str
    path: str
    made: dict[str, Values] | None = None


def heston(random: np.random.Generator, quotes: int) -> list[Any]:
    """Quotes of calls on an underlying of 1, at as many maturities as the data sets of
    the checkout have, in order; fitted in 50 rounds of 40 trials."""
    years, months = np.divmod(np.arange(17 if quotes < 10_000 else 100), 12)
    dates = (2018 + years) * 10_000 + (1 + months) * 100 + 15
    maturities = np.sort(random.choice(dates, quotes)).astype(np.int32)
    strikes = random.uniform(0.5, 1.5, quotes)
    values = random.uniform(0.15, 0.3, quotes)
    numbers = [np.int32(n) for n in (2000, 20, 40, 20170126)]
    return [*numbers, maturities, strikes, values]


def nearest(random: np.random.Generator, records: int) -> list[Any]:
    """The hundred nearest of so many places."""
    places = [random.uniform(0, 90, records).astype(np.float32) for _ in range(2)]
    return [np.int32(100), np.float32(30), np.float32(50), *places]


def clusters(random: np.random.Generator, points: int, dimensions: int) -> list[Any]:
    """Points to be grouped around five centres, in twenty rounds."""
    numbers = [np.int32(n) for n in (0, 5, 20)]
    return [*numbers, random.random((points, dimensions), np.float32)]


def image(random: np.random.Generator, rows: int, columns: int) -> list[Any]:
    """A noisy gradient."""
    slope = np.linspace(40, 200, columns)[None, :]
    noisy = slope + random.normal(0, 12, (rows, columns))
    return [np.clip(noisy, 1, 255).astype(np.uint8)]


PROGRAMS = (
    Program("LocVolCalib", "finpar/LocVolCalib.fut"),
    Program("OptionPricing", "finpar/OptionPricing.fut"),
    Program(
        "heston32",
        "misc/heston/heston32.fut",
        {f"{n} quotes": lambda r, n=n: heston(r, n) for n in (1062, 10000)},  # type: ignore[misc]
    ),
    Program(
        "nn", "rodinia/nn/nn.fut", {"855280 places": lambda r: nearest(r, 855_280)}
    ),
    Program(
        "srad", "rodinia/srad/srad.fut", {"502 x 458": lambda r: image(r, 502, 458)}
    ),
    Program("pathfinder", "rodinia/pathfinder/pathfinder.fut"),
    Program(
        "kmeans",
        "rodinia/kmeans/kmeans.fut",
        {
            f"{n} points": lambda r, n=n: clusters(r, n, 34)  # type: ignore[misc]
            for n in (100, 204_800)
        },
    ),
    Program("backprop", "rodinia/backprop/backprop.fut"),
)


def whole(random: np.random.Generator, rows: int, columns: int) -> list[Any]:
    """Two matrices of small whole numbers, whose product is exact in any order."""
    shapes = ((rows, columns), (columns, rows))
    return [random.integers(-2, 3, s, np.int8).astype(np.float32) for s in shapes]


def matmul(k: int, n: int) -> Values:
    return lambda random: whole(random, 1 << n, 1 << (k - 2 * n))


MATMUL = Program(
    "matmul",
    "matmul.fut",
    {f"k={k} n={n}": matmul(k, n) for k in (25, 20) for n in range(11)},
)
"""products of 2^25 and of 2^20 multiplications, from one dot product to many of one"""


def made_data(path: Path, program: Program, scratch: Path) -> list[DataSet]:
    """The data sets that are made here, as files."""
    found: list[DataSet] = []
    for name, make in (program.made or {}).items():
        file = scratch / f"{program.name}-{name.replace(' ', '-')}.in"
        # What was made by an earlier version of this file is made again.
        if not file.exists() or file.stat().st_mtime < MADE_BY.stat().st_mtime:
            values = make(np.random.default_rng(1))
            file.write_bytes(b"".join(write_binary(value) for value in values))
        (data,) = data_sets(path, Selection(data=(file,)))
        found.append(DataSet(path, data.entry, name, data.case))
    return found


def jobs(checkout: Path, scratch: Path) -> Iterator[tuple[str, Path, list[DataSet]]]:
    """Each program with its data sets."""
    for program in (MATMUL, *PROGRAMS):
        path = (EXAMPLES if program is MATMUL else checkout) / program.path
        if not path.is_file():
            print(f"{path}: not there", file=sys.stderr)
        elif program.made is not None:
            yield program.name, path, made_data(path, program, scratch)
        else:
            yield program.name, path, data_sets(path, Selection())


class Results:
    """What was measured, by program and data set, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, dict[str, Any]] = {}
        if path.is_file():
            self.found = json.loads(path.read_text())

    def has(self, program: str, data: str) -> bool:
        """Whether there are times for the data set (a failure is tried again)."""
        return isinstance(self.found.get(program, {}).get(data), dict)

    def put(self, program: str, data: str, result: Any) -> None:
        """Keep a result; an interrupt loses none of those before."""
        self.found.setdefault(program, {})[data] = result
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.found) + "\n")
        temporary.replace(self.path)


def run_program(
    name: str, path: Path, wanted: list[DataSet], options: Options, results: Results
) -> None:
    """All data sets of a program that have no result yet."""
    left = [data for data in wanted if not results.has(name, data.name)]
    if not left:
        return
    compiled = stages.Options(schedule=options.schedule, use_tuning=False)
    try:
        loaded = load_program(path, compiled)
        rivals = {each: rival(loaded, compiled, RIVALS[each]) for each in RIVALS}
    except MinifutError as error:
        for data in left:
            results.put(name, data.name, str(error))
        print(f"{name}: {error}", flush=True)
        return
    assert loaded.kernels is not None
    known = set(loaded.program.tuning)
    others: dict[str, dict[str, int]] = {"untuned": {}}
    tuned = options.tuned and options.tuned / f"{name}.tuning"
    if tuned and tuned.is_file():
        others["tuned"] = {n: v for n, v in read_tuning(tuned).items() if n in known}
    for data in left:
        versions = versions_of(loaded.kernels, data.entry, options.most)
        comparison = Comparison(data)
        plan = RunPlan(runs=options.runs, converge=False, limit=options.timeout)
        compare(comparison, loaded, versions, plan, others=others, rivals=rivals)
        print("\n" + version_table(comparison), flush=True)
        ((described),) = versions_json([comparison]).values()
        results.put(name, data.name, described["datasets"][data.name])


def rival(loaded: Loaded, options: stages.Options, steps: tuple[Pass, ...]) -> Loaded:
    """The program as another pipeline makes it."""
    core = stages.to_core(stages.check(stages.read_source(loaded.path)))
    with stages.deep_recursion():
        kernels = run_pipeline(core, names_after(core), steps=steps)
    schedule = options.schedule or compiler.device_kind(options.device)
    module = stages.to_host_module(kernels, schedule, loaded.path.stem)
    return Loaded(loaded.path, loaded_module.load(module), kernels, loaded.oracle)


def report(found: dict[str, dict[str, Any]]) -> str:
    """A line for each data set: how far each choice is from the best version, and how
    much slower the program is without versions than with the last choice."""
    rows: list[tuple[str, ...]] = [
        ("program", "data set", "best version", "time", *CHOICES, *RIVALS)
    ]
    for program, by_data in found.items():
        for data, result in by_data.items():
            rows.append((program, data, *summary(result)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "Time of the best forced version; times of parameters over it; times without "
        "versions over those of the last parameters."
    ]
    for row in rows:
        cells = [text.ljust(w) for text, w in zip(row[:3], widths[:3], strict=True)]
        cells += [text.rjust(w) for text, w in zip(row[3:], widths[3:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def summary(result: Any) -> tuple[str, ...]:
    """The cells of one data set."""
    nothing = [""] * (1 + len(CHOICES) + len(RIVALS))
    if isinstance(result, str):
        return (result.partition("\n")[0][:60], *nothing)
    versions = result["versions"]
    times = {n: v["relative"] for n, v in versions.items() if "relative" in v}
    wrong = [n for n, v in versions.items() if not v["agrees"]]
    forced = {name: time for name, time in times.items() if name not in RACERS}
    if not forced:
        return (f"none: {', '.join(wrong)}"[:60], *nothing)
    best = min(forced, key=lambda name: forced[name])
    seconds = min(versions[best]["runtimes"]) / 1e6
    last = next((name for name in reversed(CHOICES) if name in times), best)

    def over(name: str, other: str) -> str:
        return f"{times[name] / times[other]:.2f}" if name in times else "-"

    ratios = [over(name, best) for name in CHOICES]
    ratios += [over(name, last) for name in RIVALS]
    mark = f" ({len(wrong)} fail)" if wrong else ""
    return (best[:50] + mark, readable_seconds(seconds), *ratios)


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    schedule: str | None
    tuned: Path | None
    timeout: float
    runs: int
    most: int = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", default="", help="programs whose name matches")
    parser.add_argument("--data", default="", help="data sets whose name matches")
    parser.add_argument("--tuned", type=Path, help="a folder of PROGRAM.tuning files")
    parser.add_argument("--results", type=Path, default=Path("versions.json"))
    parser.add_argument("--schedule", choices=stages.SCHEDULES)
    parser.add_argument("--timeout", type=float, default=120.0, help="of a version")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--most", type=int, default=64, help="versions of a program")
    parser.add_argument("--report", action="store_true", help="run nothing")
    given = parser.parse_args()
    results = Results(given.results)
    options = Options(
        given.schedule, given.tuned, given.timeout, given.runs, given.most
    )
    scratch = Path(tempfile.gettempdir()) / "minifut-versions"
    scratch.mkdir(exist_ok=True)
    try:
        for name, path, wanted in () if given.report else jobs(given.checkout, scratch):
            if re.search(given.only, name):
                chosen = [d for d in wanted if re.search(given.data, d.name)]
                run_program(name, path, chosen, options, results)
    except KeyboardInterrupt:
        print("interrupted; what was done is kept", file=sys.stderr)
    print("\n" + report(results.found))


if __name__ == "__main__":
    main()
