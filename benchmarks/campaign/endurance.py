"""Calls for as long as one likes: results stay right, and memory stays what it is.

    python -m benchmarks.campaign.endurance MINUTES [--threads 3] [--seed 1]

Each of the threads calls ten programs in turn, of sizes that change from call to call,
and compares results with NumPy's. The memory of the process is examined every half
second; what the last quarter of the time takes at most may be up to 2 % more than what
the second quarter took at most. Time in which the process is stopped, or is not given a
processor, does not count: at most two seconds between two readings do. Prints calls,
the wrong ones, and the memory by tenths of the time, of an interrupted run too; the
exit code is 1 if a result is wrong or memory grows.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import minifut

GROWTH = 1.02
LARGEST = 40_000
COUNTED = 2.0
"""seconds that count at most between two readings of the memory"""
Numbers = np.random.Generator
Reference = Callable[..., Any]


def _compact(xs: np.ndarray) -> np.ndarray:
    return xs[xs % 3 == 0]


def _histogram(is_: np.ndarray) -> np.ndarray:
    return np.bincount(is_ % 100, minlength=100)


def _permuted(xs: np.ndarray) -> np.ndarray:
    return xs[::-1] * 2


def _chains(xs: np.ndarray) -> np.ndarray:
    for _ in range(10):
        xs = np.where(xs % 2 == 0, xs // 2, 3 * xs + 1)
    return xs


def _windows(xs: np.ndarray) -> np.ndarray:
    return xs[2:] + xs[1:-1] + xs[:-2] if len(xs) > 2 else xs[:0]


PROGRAMS: tuple[tuple[str, int, Reference], ...] = (
    ("entry main (xs: []i64) = i64.sum xs", 1, lambda xs: xs.sum()),
    ("entry main (xs: []i64) = scan (+) 0 xs", 1, lambda xs: xs.cumsum()),
    ("entry main (xs: []i64) = map (\\x -> x * x + 1) xs", 1, lambda xs: xs * xs + 1),
    ("entry main (xs: []i64) = filter (\\x -> x % 3 == 0) xs", 1, _compact),
    (
        "entry main (xs: []i64) =\n"
        "  hist (+) 0 100 (map (% 100) xs) (map (const 1i64) xs)",
        1,
        _histogram,
    ),
    (
        "entry main [n] (xs: [n]i64) =\n"
        "  scatter (replicate n 0) (map (\\i -> n - 1 - i) (iota n)) (map (* 2) xs)",
        1,
        _permuted,
    ),
    (
        "entry main (xs: []i64) = map (\\x -> loop x for _k < 10i32 do\n"
        "  if x % 2 == 0 then x / 2 else 3 * x + 1) xs",
        1,
        _chains,
    ),
    (
        "entry main [n] (xs: [n]i64) = map (\\i -> xs[i] + xs[i + 1] + xs[i + 2])\n"
        "  (iota (i64.max 0 (n - 2)))",
        1,
        _windows,
    ),
    ("entry main (xss: [][]i64) = map i64.sum xss", 2, lambda xss: xss.sum(1)),
    ("entry main (xss: [][]i64) = copy (transpose xss)", 2, lambda xss: xss.T),
)


@dataclass(slots=True)
class Tally:
    """What the threads have done."""

    calls: int = 0
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    def add(self, complaint: str | None) -> None:
        with self.lock:
            self.calls += 1
            if complaint is not None:
                self.wrong.append(complaint)


def arguments(numbers: Numbers, dimensions: int) -> np.ndarray:
    """An array of a size that is new in nearly every call."""
    size = int(numbers.integers(0, LARGEST))
    rows = int(numbers.integers(1, 200))
    shape = (size,) if dimensions == 1 else (rows, size // rows)
    return numbers.integers(0, 1000, shape)


def call_in_turn(programs: list[Any], seed: int, tally: Tally) -> None:
    """What a thread does."""
    numbers = np.random.default_rng(seed)
    for number in itertools.cycle(range(len(PROGRAMS))):
        if tally.over.is_set():
            return
        _, dimensions, reference = PROGRAMS[number]
        given = arguments(numbers, dimensions)
        complaint = None
        try:
            got = programs[number].main(given)
            if not np.array_equal(got, reference(given)):
                complaint = f"program {number}, shape {given.shape}: wrong result"
        except Exception as error:
            complaint = f"program {number}, shape {given.shape}: {error!r}"
        tally.add(complaint)


def resident_bytes() -> int:
    """The memory that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def endure(minutes: float, threads: int, seed: int) -> Tally:
    """Call for so long."""
    programs = [minifut.compile(text) for text, _, _ in PROGRAMS]
    tally = Tally()
    running = [
        threading.Thread(target=call_in_turn, args=(programs, seed + n, tally))
        for n in range(threads)
    ]
    for thread in running:
        thread.start()
    with contextlib.suppress(KeyboardInterrupt):
        look_at_memory(tally, 60 * minutes)
    tally.over.set()
    for thread in running:
        thread.join()
    return tally


def look_at_memory(tally: Tally, seconds: float) -> None:
    """Note the memory while the threads have run less than so many seconds."""
    ran, last = 0.0, time.monotonic()
    while ran < seconds:
        tally.memory.append((ran, resident_bytes()))
        time.sleep(0.5)
        now = time.monotonic()
        ran += min(now - last, COUNTED)
        last = now


def most_between(tally: Tally, first: float, last: float) -> int:
    """The most memory in a part of the time."""
    whole = tally.memory[-1][0]
    found = [n for at, n in tally.memory if first * whole <= at <= last * whole]
    return max(found, default=0)


def main() -> int:
    """Call, and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign.endurance")
    parser.add_argument("minutes", type=float)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # A shell's background jobs ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tally = endure(options.minutes, options.threads, options.seed)
    tenths = [most_between(tally, i / 10, (i + 1) / 10) >> 20 for i in range(10)]
    growth = most_between(tally, 0.75, 1) / most_between(tally, 0.25, 0.5)
    minutes = tally.memory[-1][0] / 60
    print(f"{tally.calls} calls in {minutes:.1f} minutes, {len(tally.wrong)} wrong")
    print(f"MiB by tenths of the time: {tenths}; growth {growth:.4f}")
    for complaint in tally.wrong[:10]:
        print(f"    {complaint}")
    return 1 if tally.wrong or growth > GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
