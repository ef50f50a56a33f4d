"""Interrupt every command at random moments.

    python benchmarks/interrupts.py [--moments 100] [--seed 1] [COMMAND ..]

Each command runs once undisturbed, then with SIGINT at moments drawn uniformly from
that time, each with empty caches. It has to print the one line `interrupted`, to exit
with 130 within a second, and to leave no temporary file and no output that is half
written.

    ended      the command was done before the signal came
    python     the signal came before minifut's first statement, while the interpreter
               started: its answer is a traceback or nothing, and the signal ends it
    traceback, silent, other    what must not be: with a traceback, without the line,
               with another exit code
    late       more than a second passed; `slowest` is the longest time
    left       files that are temporary or not whole
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = """-- A small program with several kernels.
-- ==
-- entry: main
-- input { 1000i64 } output { 333.3335f32 }
entry main (n: i64) : f32 =
  let xs = map (\\i -> f32.i64 i / f32.i64 n) (iota n)
  let ys = scan (+) 0 xs
  let zs = hist (+) 0 10 (map (%10) (iota n)) ys
  in f32.round (f32.sum (map2 (*) xs xs)) + 0.3335 + 0 * f32.sum zs
"""
COMMANDS = {
    "cache": ["cache"],
    "check": ["check", "p.fut"],
    "compile": ["compile", "p.fut", "-o", "out.py"],
    "dev": ["dev", "p.fut", "--module"],
    "run": ["run", "p.fut", "1000", "-o", "out.npy"],
    "profile": ["profile", "p.fut", "1000"],
    "test": ["test", "p.fut"],
    "bench": ["bench", "p.fut", "-r", "3", "--json", "out.json"],
    "autotune": ["autotune", "p.fut", "-r", "1", "--json", "out.json"],
}
TEMPORARY = (".minifut-*", ".new-*", "new-*", "minifut-driver-*")


@dataclass
class Outcome:
    """What the interrupts of one command came to."""

    seconds: float
    counts: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0


def start(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """The command in a folder of its own, with caches of its own."""
    (folder / "p.fut").write_text(PROGRAM)
    (folder / "tmp").mkdir()
    root = Path(__file__).resolve().parent.parent
    variables = {
        "MINIFUT_CACHE": str(folder / "cache"),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(root),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "minifut", *arguments],
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def judge(code: int, message: str) -> str:
    """The kind of answer to an interrupt."""
    last = message.rstrip().split("\n")[-1]
    if "Traceback" in message or (code == -signal.SIGINT and not message):
        return "traceback" if "minifut/" in message else "python"
    if code == 0:
        return "ended"
    if last not in ("interrupted", "interrupted: the best so far is kept"):
        return "silent"
    return "130" if code == 130 else "other"


def left_in(folder: Path, whole: dict[str, int]) -> list[str]:
    """Temporary files, and outputs of another size than whole ones have."""
    found = [str(p) for pattern in TEMPORARY for p in folder.rglob(pattern)]
    for name, size in whole.items():
        path = folder / name
        if path.exists() and path.stat().st_size < size // 2:
            found.append(f"{path}: {path.stat().st_size} bytes of {size}")
    return found


def interrupt(arguments: list[str], moments: int, seed: str, until: float) -> Outcome:
    """Run a command, and interrupt it so often, or until then."""
    with tempfile.TemporaryDirectory() as name:
        began = time.perf_counter()
        undisturbed = start(arguments, Path(name))
        _, message = undisturbed.communicate(timeout=600)
        outcome = Outcome(time.perf_counter() - began)
        assert undisturbed.returncode == 0, message
        outputs = [p for p in Path(name).glob("out.*") if p.is_file()]
        whole = {p.name: p.stat().st_size for p in outputs}
    choice = random.Random(seed)
    for _ in range(moments):
        if time.perf_counter() > until:
            break
        moment = choice.uniform(0, outcome.seconds)
        folder = Path(tempfile.mkdtemp())
        process = start(arguments, folder)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        _, message = process.communicate(timeout=600)
        seconds = time.perf_counter() - began
        kind = judge(process.returncode, message)
        outcome.counts[kind] += 1
        outcome.slowest = max(outcome.slowest, seconds)
        outcome.counts["late"] += seconds > 1
        left = left_in(folder, whole)
        outcome.counts["left"] += bool(left)
        if kind not in ("130", "ended", "python") or seconds > 1 or left:
            print(
                f"{arguments[0]} at {moment:.3f} s of {outcome.seconds:.3f}: {kind}, "
                f"exit {process.returncode} after {seconds:.2f} s, left {left}\n"
                f"{message}",
                file=sys.stderr,
            )
        shutil.rmtree(folder)
    return outcome


COLUMNS = ["130", "ended", "python", "traceback", "silent", "other", "late", "left"]


def main() -> None:
    """Interrupt the commands named, or all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=[], metavar="COMMAND")
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="of each one")
    options = parser.parse_args()
    # A shell's background jobs ignore interrupts, and so would what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(f"{options.moments} moments, seed {options.seed}")
    print("command   seconds " + " ".join(f"{c:>9}" for c in COLUMNS) + "  slowest")
    failed = False
    for name in options.commands or COMMANDS:
        outcome = interrupt(
            COMMANDS[name],
            options.moments,
            f"{options.seed} {name}",
            time.perf_counter() + options.seconds,
        )
        counts = " ".join(f"{outcome.counts[c]:9}" for c in COLUMNS)
        print(
            f"{name:9} {outcome.seconds:7.2f} {counts} {outcome.slowest:8.2f}",
            flush=True,
        )
        failed |= any(outcome.counts[c] for c in COLUMNS[3:])
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
