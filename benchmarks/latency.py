"""How long a user waits: start-up, check, a warm run, one small call.

    python benchmarks/latency.py [--json FILE]

Whole commands are timed as processes (median of several, after one to warm the caches);
the call from Python is timed inside one process, arguments and results in NumPy.

Predictions written down before the first measurement: help 0.15 s (click alone), check
0.35 s (cached tables, lark, no NumPy), run 0.9 s (NumPy, OpenCL and cached kernels),
call 45 µs (two copies of 4 kB, a launch and a wait on a thread pool). That was of every
launch on the thread pool; small ones run in the calling thread now.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parent.parent / "examples"
TARGETS = {
    "help": 0.25,
    "check": 0.6,
    "run matmul": 1.2,
    "call": 15e-6,
    "ten kernels": 60e-6,
}


def command_seconds(arguments: list[str], repeats: int) -> float:
    """The median wall time of `minifut ARGUMENTS` as a process."""
    command = [sys.executable, "-m", "minifut", *arguments]
    seconds = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[1:])


def check_seconds(repeats: int) -> float:
    """`minifut check` of a program of 100 lines."""
    line = "def f{0} [n] (xs: [n]f32): f32 = reduce (+) {0} (map (* {0}) xs)\n"
    text = "".join(line.format(i) for i in range(99)) + "entry main = f1\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hundred.fut"
        path.write_text(text)
        return command_seconds(["check", str(path)], repeats)


def run_seconds(repeats: int) -> float:
    """`minifut run` of the matmul example on two 256 x 256 matrices."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npy"
        np.save(path, np.ones((256, 256), np.float32))
        out = Path(folder) / "c.npy"
        program = str(EXAMPLES / "matmul.fut")
        return command_seconds(
            ["run", program, str(path), str(path), "-o", str(out)], repeats
        )


SOURCE = """
entry main (xs: []f32): []f32 = map (\\x -> 2 * x) xs
entry ten (xs: []f32): []f32 = loop xs for i < 10 do #[noinline] map (\\x -> 2 * x) xs
"""
KERNELS = {"ten.loop_map.host": 0}
"""by default, one thread runs such a loop"""


def call_seconds(entry: str, size: int = 1024, calls: int = 2000) -> float:
    """The median time of one call from Python: of one map, or of ten."""
    import minifut

    program = minifut.compile(SOURCE, params=KERNELS)
    call: Callable[[np.ndarray], np.ndarray] = program.entry(entry)
    xs = np.arange(size, dtype=np.float32)
    for _ in range(200):
        call(xs)
    seconds = []
    for _ in range(calls):
        started = time.perf_counter()
        call(xs)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    figures = {
        "help": command_seconds(["--help"], options.repeats),
        "check": check_seconds(options.repeats),
        "run matmul": run_seconds(options.repeats),
        "call": call_seconds("main"),
        "ten kernels": call_seconds("ten"),
    }
    print(f"{'':12s} {'median':>12s} {'target':>12s}")
    for name, seconds in figures.items():
        scale, unit = (1e6, "µs") if seconds < 1e-3 else (1, "s")
        shown = [f"{x * scale:9.3g} {unit}" for x in (seconds, TARGETS[name])]
        verdict = "" if seconds <= TARGETS[name] else "   missed"
        print(f"{name:12s} {shown[0]:>12s} {shown[1]:>12s}{verdict}")
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
