"""Does every version of every program agree with an independent run?

    python benchmarks/agreement.py FOLDER [--match REGEX] [--limit N] [--seconds S]
                                   [--schedule cpu|gpu] [--most N] [--jobs N]

Every .fut file below FOLDER that has data sets (for example Futhark's tests or
futhark-benchmarks, from a checkout beside this one) is compiled for both schedules and
run in each version (thresholds 0 and never, at most --most combinations of an entry
point) on each data set; the expected results come from the interpreter, or where that
is too slow from the sequential kernel. Each program has a process of its own and
--seconds of time. The exit code is 0 if no version of any program disagrees.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

AGREES, DISAGREES, REFUSED, SLOW, NO_DATA = (
    "agrees", "DISAGREES", "refused", "slow", "no data",
)  # fmt: skip


def main() -> int:
    """Run all programs, print a line for each that does not agree, and a summary."""
    options = arguments()
    if options.one:
        return run_one(Path(options.folder), options)
    counts: Counter[str] = Counter()
    runs = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        paths = list(programs(options))
        for path, (verdict, text) in zip(
            paths, pool.map(lambda path: verdict_of(path, options), paths), strict=True
        ):
            counts[verdict] += 1
            runs += int(text) if verdict == AGREES else 0
            if verdict not in (AGREES, NO_DATA):
                print(f"{verdict:10} {path}  {text}", flush=True)
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    print(f"{told}; {runs} runs of versions agree")
    return 1 if counts[DISAGREES] else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--match", default="")
    parser.add_argument("--limit", type=int, default=1 << 30)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--schedule", choices=["cpu", "gpu"], action="append")
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def programs(options: argparse.Namespace) -> Iterator[Path]:
    """The programs below the folder, in a fixed order."""
    root = Path(options.folder)
    found = [root] if root.is_file() else sorted(root.rglob("*.fut"))
    wanted = [path for path in found if re.search(options.match, str(path))]
    yield from wanted[: options.limit]


def verdict_of(path: Path, options: argparse.Namespace) -> tuple[str, str]:
    """What a process of its own says about a program."""
    command = [sys.executable, __file__, str(path), "--one", "--most"]
    command.append(str(options.most))
    for schedule in options.schedule or ():
        command += ["--schedule", schedule]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.seconds
        )
    except subprocess.TimeoutExpired:
        return SLOW, ""
    last = done.stdout.strip().split("\n")[-1]
    verdict, _, text = last.partition("\t")
    if not text:
        return DISAGREES, f"ended with {done.returncode}: {done.stderr[-300:]}"
    return verdict, text


def run_one(path: Path, options: argparse.Namespace) -> int:
    """Print the verdict on one program: how many runs agree, or the first that does
    not."""
    from minifut.benchmarking.agreement import SCHEDULES, runs_of
    from minifut.errors import CompileError, UsageError

    count = 0
    try:
        for run in runs_of(path, options.schedule or SCHEDULES, options.most):
            if run.complaint is not None:
                where = f"{run.data.entry} {run.data.name} {run.schedule}"
                print(f"{DISAGREES}\t{where} {run.version.name}: {run.complaint}")
                return 1
            count += 1
    except (CompileError, UsageError, MemoryError) as error:
        print(f"{REFUSED}\t{str(error).splitlines()[0]}")
        return 0
    print(f"{AGREES}\t{count}" if count else f"{NO_DATA}\t0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
