"""Does every version of every program agree with an independent run?

    python -m benchmarks.agreement FOLDER --results FILE [--list FILE] [--match REGEX]
        [--limit N] [--seconds S] [--until S] [--schedule cpu|gpu] [--most N]
        [--again VERDICT,...] [--invent]
    python -m benchmarks.agreement --results FILE --summary

Every .fut file below FOLDER that has test cases (for example Futhark's tests or
futhark-benchmarks, from a checkout beside this one), or those that --list names, a path
below FOLDER in each line, is compiled once, lowered for both schedules, and run in each
version (thresholds 0 and never, at most --most combinations of an entry point) on each
case; see tests/benchmarking/agreement.py for what is expected. With --invent the data
are made up from the types of entry points, small ones of odd sizes.

Programs follow each other in one worker process, which is started again when a program
brings it down or takes more than --seconds and a grace; after --seconds no further run
of a program is begun. FILE takes a line of JSON for each program as it is done, and
programs that it holds are passed over, but for those whose verdict --again names; after
--until seconds in all no further program is begun.

The verdicts: `agrees`; `DISAGREES` (another result, another end, an internal error);
`CRASHED` (the process ended); `hung` (it had to be stopped); `partly` (what was run
agrees, there was no time or memory or expected result for all); `refused` (does not
compile, or its data cannot be used); `no data`. The exit code is 0 if all programs that
were examined agree or have no data, 1 if not, 2 if there was no time for all.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.worker import Ended, Worker, serve

AGREES, DISAGREES, CRASHED, HUNG, PARTLY, REFUSED, NO_DATA = (
    "agrees", "DISAGREES", "CRASHED", "hung", "partly", "refused", "no data",
)  # fmt: skip
GRACE = 20
"""seconds, on all cores, beyond its limit after which a program is stopped"""
PROGRAMS = 40
"""that one worker is given, since device compilers do not return all memory"""
MOST_COMPLAINTS = 4

Record = dict[str, Any]


def main() -> int:
    """Run all programs, a line for each, and a summary."""
    options = arguments()
    if options.worker:
        serve(lambda job: events(Path(job["path"]), options))
        return 0
    known = read_results(options.results)
    if options.summary:
        print(summary(list(known.values())))
        return 0
    again = set(options.again.split(","))
    todo = [
        (name, path)
        for name, path in programs(options)
        if name not in known or known[name]["verdict"] in again
    ]
    started, done = time.monotonic(), 0
    worker = worker_of(options)
    with options.results.open("a") as results:
        for name, path in todo:
            if time.monotonic() - started > options.until:
                break
            record = {"program": name, **verdict_of(path, worker)}
            known[name] = record
            results.write(json.dumps(record) + "\n")
            results.flush()
            print(line(record), flush=True)
            done += 1
    worker.stop()
    print(summary(list(known.values())))
    if done < len(todo):
        print(f"{len(todo) - done} programs are left: run this again")
        return 2
    bad = [r for r in known.values() if r["verdict"] not in (AGREES, NO_DATA)]
    return 1 if bad else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--list", type=Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--limit", type=int, default=1 << 30)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--until", type=float, default=float("inf"))
    parser.add_argument("--schedule", choices=["cpu", "gpu"], action="append")
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--again", default="")
    parser.add_argument("--invent", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def programs(options: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    """The programs in a fixed order, each with what it is called in the results."""
    root: Path = options.folder
    if options.list is not None:
        found = [root / name for name in options.list.read_text().split()]
    else:
        found = [root] if root.is_file() else sorted(root.rglob("*.fut"))
    wanted = [path for path in found if re.search(options.match, str(path))]
    for path in wanted[: options.limit]:
        yield (path.name if path == root else str(path.relative_to(root))), path


# --- the worker -----------------------------------------------------------------------


def events(path: Path, options: argparse.Namespace) -> Iterator[Record]:
    """What happens to a program: an event for each run, then facts or an error."""
    try:
        yield from _runs(path, options)
    except Exception as error:
        yield {"kind": "error", "type": type(error).__name__, "text": str(error)[:2000]}


def _runs(path: Path, options: argparse.Namespace) -> Iterator[Record]:
    from tests.benchmarking.agreement import SCHEDULES, Agreement

    agreement = Agreement(
        path, options.schedule or SCHEDULES, options.most, invent=options.invent
    )
    deadline = time.monotonic() + options.seconds
    for run in agreement.runs(deadline):
        yield {
            "kind": "run",
            "name": str(run),
            "complaint": run.complaint,
            "settled": run.settled,
        }
    yield {
        "kind": "facts",
        "versions": agreement.versions,
        "cases": len(agreement.cases),
        "left_out": agreement.left_out,
        "made_smaller": agreement.made_smaller,
    }


# --- its supervisor -------------------------------------------------------------------


@dataclass(slots=True)
class Seen:
    """What is known of one program."""

    runs: int = 0
    unsettled: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    disagreeing: int = 0
    error: Record | None = None
    facts: Record = field(default_factory=dict)
    ended: Ended | None = None
    latest: str = ""

    def take(self, event: Record) -> None:
        match event.pop("kind"):
            case "run":
                self.take_run(event)
            case "facts":
                self.facts = event
            case "error":
                self.error = event

    def take_run(self, event: Record) -> None:
        self.latest = event["name"]
        if not event["settled"]:
            self.unsettled[event["complaint"].split("\n")[0][:60]] += 1
        elif event["complaint"] is None:
            self.runs += 1
        else:
            self.disagreeing += 1
            if len(self.complaints) < MOST_COMPLAINTS:
                text = event["complaint"][:1000]
                self.complaints.append(f"{event['name']}: {text}")

    def verdict(self) -> str:
        if self.complaints:
            return DISAGREES
        if self.ended is not None:
            return HUNG if self.ended.slow else CRASHED
        if self.error is not None:
            known = ("CompileError", "UsageError", "MemoryError")
            return REFUSED if self.error["type"] in known else DISAGREES
        if self.unsettled:
            return PARTLY
        return AGREES if self.runs else NO_DATA


def worker_of(options: argparse.Namespace) -> Worker:
    """The process that does what the options say."""
    arguments = ["-m", "benchmarks.agreement", "--worker", "--results", os.devnull]
    arguments += ["--most", str(options.most), "--seconds", str(options.seconds)]
    arguments += ["--invent"] * options.invent
    for schedule in options.schedule or ():
        arguments += ["--schedule", schedule]
    cores = os.cpu_count() or 1
    return Worker(arguments, cores * (options.seconds + GRACE), PROGRAMS)


def verdict_of(path: Path, worker: Worker) -> Record:
    """Let the worker do a program."""
    started, seen = time.monotonic(), Seen()
    try:
        for event in worker.events({"path": str(path.resolve())}):
            seen.take(event)
    except Ended as ended:
        seen.ended = ended
    complaints = list(seen.complaints)
    if seen.error is not None:
        complaints.append(f"{seen.error['type']}: {seen.error['text']}")
    if seen.ended is not None:
        complaints.append(f"{seen.ended}, after {seen.latest or 'nothing'}")
    return {
        "verdict": seen.verdict(),
        "runs": seen.runs,
        "disagreeing": seen.disagreeing,
        "unsettled": dict(seen.unsettled),
        "complaints": complaints,
        "seconds": round(time.monotonic() - started, 1),
        **seen.facts,
    }


# --- what was found -------------------------------------------------------------------


def read_results(path: Path) -> dict[str, Record]:
    """The latest record of each program."""
    found: dict[str, Record] = {}
    if path.exists():
        for text in path.read_text().splitlines():
            record = json.loads(text)
            found[record["program"]] = record
    return found


def line(record: Record) -> str:
    """A program in a line, with more lines for what is wrong."""
    versions = record.get("versions", {})
    parts = [f"{sum(versions.values())} versions of {len(versions)} entry points"]
    parts.append(f"{record.get('cases', 0)} cases, {record['runs']} runs agree")
    parts += [f"{n} {why}" for why, n in record["unsettled"].items()]
    for word, key in (("left out", "left_out"), ("smaller", "made_smaller")):
        if record.get(key):
            parts.append(f"{word}: {', '.join(record[key])}"[:100])
    if record["disagreeing"]:
        parts.append(f"{record['disagreeing']} do not")
    told = f"{record['verdict']:9} {record['program']}: {', '.join(parts)}"
    texts = [text.replace("\n", "\n      ") for text in record["complaints"]]
    return "\n    ".join([f"{told}, {record['seconds']} s", *texts])


def summary(records: list[Record]) -> str:
    """How many programs have which verdict, and those that do not agree."""
    counts = Counter(record["verdict"] for record in records)
    runs = sum(record["runs"] for record in records)
    versions = sum(sum(r.get("versions", {}).values()) for r in records)
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
    bad = [r for r in records if r["verdict"] not in (AGREES, NO_DATA)]
    head = f"{len(records)} programs: {told}; {versions} versions, {runs} runs agree"
    smaller = sum(bool(r.get("made_smaller")) for r in records)
    left = sum(bool(r.get("left_out")) for r in records)
    more = (
        f"smaller random inputs in {smaller} programs, large files left out in {left}"
    )
    return "\n".join([head, more, *map(line, bad)])


if __name__ == "__main__":
    sys.exit(main())
