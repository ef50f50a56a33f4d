"""The command: see the package."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.campaign.reduction import keep_reduced
from benchmarks.campaign.simulated import check_simulated
from benchmarks.campaign.state import BAD, Record, State
from benchmarks.campaign.worker import check, checker
from benchmarks.worker import Worker

LIMITS = {"passes": 60, "device": 240, "oclgrind": 240}
"""seconds of CPU time that a seed may take"""


def main() -> int:
    """Run the stages requested; 1 if anything disagrees, 2 if seeds are left."""
    options = arguments()
    state = State(options.folder)
    until = time.monotonic() + options.seconds
    left = 0
    for stage in () if options.summary else LIMITS:
        left += run_stage(state, stage, until, options)
    print(state.summary())
    if left:
        print(f"{left} seeds are left: run this again")
    bad = any(record.verdict in BAD for record in state.records.values())
    return 1 if bad else 2 if left else 0


def run_stage(
    state: State, stage: str, until: float, options: argparse.Namespace
) -> int:
    """Check the seeds of a stage; how many are left when time is up."""
    count = getattr(options, stage)
    seeds = list(state.left(stage, options.first, count, options.again))
    worker = checker(LIMITS[stage])
    for number, seed in enumerate(seeds):
        if time.monotonic() > until:
            worker.stop()
            return len(seeds) - number
        record = check_seed(stage, seed, worker, options.folder)
        state.add(record)
        if record.verdict in BAD or not options.quiet:
            print(record, flush=True)
        if record.verdict in BAD and stage != "oclgrind" and options.reduce:
            found = options.folder / "found"
            print(keep_reduced(found, record, worker, options.reduce), flush=True)
    worker.stop()
    return 0


def check_seed(stage: str, seed: int, worker: Worker, folder: Path) -> Record:
    """One seed of a stage."""
    if stage == "oclgrind":
        return check_simulated(seed, folder / "simulated", LIMITS[stage])
    return check(worker, stage, seed)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign")
    parser.add_argument("folder", type=Path)
    for stage in LIMITS:
        parser.add_argument(f"--{stage}", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--again", action="store_true", help="what disagreed, too")
    parser.add_argument("--reduce", type=float, default=120, help="seconds for each")
    parser.add_argument("--quiet", action="store_true", help="only what disagrees")
    parser.add_argument("--summary", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
