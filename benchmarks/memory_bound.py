"""Memory-bound primitives against a plain copy of the same bytes.

    python benchmarks/memory_bound.py [--exponent 24] [--rounds 15] [--schedule cpu]

Each program is called from Python on NumPy arrays as any user would. In every round
each program runs once, and so do plain copies (OpenCL, one element or one chunk per
work-item, and threads with NumPy) of large buffers that are used again and again. A
ratio is the bandwidth of the program (bytes that it must read and write) over that of
the best copy, medians of all rounds: 1.0 is a program that only moves its data. Where
memory is not what bounds it, the measure is NumPy on the same arguments, in turn too.
One core: set POCL_MAX_PTHREAD_COUNT=1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import minifut

COPY_TEXT = """
kernel void each(global const uint *x, global uint *y, long n) {
  long i = get_global_id(0); if (i < n) y[i] = x[i]; }
kernel void chunk(global const uint *x, global uint *y, long n) {
  long c = (n + get_num_groups(0) - 1) / get_num_groups(0);
  long a = get_group_id(0) * c, b = min(a + c, n);
  for (long i = a; i < b; i++) y[i] = x[i]; }
"""


@dataclass
class Case:
    """A program, its arguments, the bytes it must move and the ratio to reach."""

    name: str
    text: str
    arguments: tuple[Any, ...]
    nbytes: int
    wanted: float
    check: Callable[..., Any]
    times_numpy: float = 0.0
    """how many times as fast as NumPy it must be; 0 if that is not asked"""


def cases(exponent: int) -> list[Case]:
    """The programs on 2^exponent elements."""
    n = 1 << exponent
    rng = np.random.default_rng(1)
    x = rng.random(n, np.float32)
    y = rng.random(n, np.float32)
    side = 1 << (exponent // 2)
    square = x[: side * side].reshape(side, side)
    flat, long, short = x.nbytes, x.reshape(16, -1), x.reshape(-1, 16)
    rows = "entry main [n][m] (xss: [n][m]f32) = map (reduce (+) 0) xss"
    columns = "entry main [n][m] (xss: [n][m]f32) = map (reduce (+) 0) (transpose xss)"
    ints = rng.integers(-99, 99, n).astype(np.int32)
    few_keys = rng.integers(0, 256, n).astype(np.int32)
    keys = rng.integers(0, n >> 4, n).astype(np.int32)
    histogram = """
entry main (k: i64) (is: []i32) : []i32 =
  hist (+) 0 k (map i64.i32 is) (map (const 1) is)
"""
    argmax = """
def larger (a: (i64, f32)) (b: (i64, f32)): (i64, f32) =
  if a.1 > b.1 then a else if b.1 > a.1 then b else if a.0 < b.0 then a else b
entry main (xs: []f32): i64 =
  (reduce_comm larger (i64.highest, f32.lowest) (zip (indices xs) xs)).0
"""
    segment_sum = """
def redop (x: (i32, i32, i32, i32)) (y: (i32, i32, i32, i32)) : (i32, i32, i32, i32) =
  (i32.max x.0 (i32.max y.0 (x.2 + y.1)), i32.max x.1 (x.3 + y.1),
   i32.max y.2 (x.2 + y.3), x.3 + y.3)
entry main (xs: []i32) : i32 =
  let f x = (i32.max x 0, i32.max x 0, i32.max x 0, x)
  in (reduce redop (0, 0, 0, 0) (map f xs)).0
"""
    return [
        *copying_cases(x, y),
        Case("map saxpy", "entry main (a: f32) (xs: []f32) (ys: []f32) = "
             "map2 (\\x y -> a * x + y) xs ys", (np.float32(2), x, y), 3 * flat, 0.9,
             lambda a, x, y: a * x + y),
        Case("map x + 1", "entry main (xs: []f32) = map (+ 1) xs", (x,), 2 * flat, 0.9,
             lambda x: x + 1),
        Case("sum", "entry main (xs: []f32) = f32.sum xs", (x,), flat, 0.9,
             lambda x: x.sum(dtype=np.float64)),
        Case("dot", "entry main [n] (xs: [n]f32) (ys: [n]f32) = "
             "f32.sum (map2 (*) xs ys)", (x, y), 2 * flat, 0.9,
             lambda x, y: np.dot(x.astype(float), y)),
        Case("sum (x - y)^2", "entry main [n] (xs: [n]f32) (ys: [n]f32) = "
             "f32.sum (map2 (\\x y -> (x - y) * (x - y)) xs ys)", (x, y), 2 * flat, 0.9,
             lambda x, y: ((x.astype(float) - y) ** 2).sum()),
        Case("max", "entry main (xs: []f32) = f32.maximum xs", (x,), flat, 0.9,
             lambda x: x.max()),
        Case("sum i32", "entry main (xs: []i32) = i32.sum xs", (ints,), flat, 0.9,
             lambda x: x.sum(dtype=np.int32)),
        Case(f"row sums [{side}][{side}]", rows, (square,), square.nbytes, 0.9,
             lambda x: x.sum(1)),
        Case("row sums [16][..]", rows, (long,), flat, 0.9, lambda x: x.sum(1)),
        Case("row sums [..][16]", rows, (short,), flat + flat // 16, 0.75,
             lambda x: x.sum(1)),
        Case(f"column sums [{side}][{side}]", columns, (square,), square.nbytes, 0.75,
             lambda x: x.sum(0)),
        Case("column sums [..][16]", columns, (short,), flat, 0.75, lambda x: x.sum(0)),
        Case("scan", "entry main (xs: []f32) = scan (+) 0 xs", (x,), 2 * flat, 0.75,
             lambda x: np.cumsum(x, dtype=np.float64)),
        Case("scan i32 max", "entry main (xs: []i32) = scan i32.max i32.lowest xs",
             (ints,), 2 * flat, 0.75, np.maximum.accumulate),
        Case("scan rows", "entry main [n][m] (xss: [n][m]f32) = map (scan (+) 0) xss",
             (square,), 2 * square.nbytes, 0.75, lambda x: np.cumsum(x, 1)),
        Case("maximum segment sum", segment_sum, (ints,), flat, 0.0, None),
        Case("argmax", argmax, (x,), flat, 0.5, np.argmax),
        Case(f"transpose [{side}][{side}]", "entry main [n][m] (xss: [n][m]f32) = "
             "transpose xss", (square,), 2 * square.nbytes, 0.45, np.transpose),
        Case("histogram, 256 bins", histogram, (256, few_keys), flat, 0.45,
             lambda k, x: np.bincount(x, minlength=k)),
        Case(f"histogram, {n >> 4} bins", histogram, (n >> 4, keys), flat, 0.0,
             lambda k, x: np.bincount(x, minlength=k), times_numpy=2.0),
    ]  # fmt: skip


def copying_cases(x: np.ndarray, y: np.ndarray) -> list[Case]:
    """Programs that copy what they are given, or a part of it."""
    keeping = "entry main (t: f32) (xs: []f32) = filter (< t) xs"
    filters = [
        Case(f"filter that keeps {kept:.0%}", keeping, (np.float32(kept), x),
             int((1 + kept) * x.nbytes), 0.77, lambda t, x: x[x < t])
        for kept in (0.01, 0.5, 0.99)
    ]  # fmt: skip
    joining = "entry main (xs: []f32) (ys: []f32) = xs ++ ys"
    nbytes = 2 * (x.nbytes + y.nbytes)
    joined = Case(
        "concat", joining, (x, y), nbytes, 0.9, lambda *xs: np.concatenate(xs)
    )
    return [*filters, joined]


def copies(session: Any, exponent: int) -> tuple[dict[str, Callable[[], Any]], int]:
    """Ways to copy, and the bytes that each moves."""
    cl, queue = session.cl, session.queue
    n = 1 << exponent
    source, target = session.pool.allocate(4 * n), session.pool.allocate(4 * n)
    cl.enqueue_fill_buffer(queue, source.buffer, b"\1", 0, 4 * n)
    cl.enqueue_fill_buffer(queue, target.buffer, b"\2", 0, 4 * n).wait()
    program = cl.Program(session.context, COPY_TEXT).build()
    each, chunk = cl.Kernel(program, "each"), cl.Kernel(program, "chunk")
    for kernel in (each, chunk):
        kernel.set_scalar_arg_dtypes([None, None, np.int64])

    def start(kernel: Any, points: int, local: int) -> Callable[[], Any]:
        def run() -> None:
            kernel(queue, (points,), (local,), source.buffer, target.buffer, n)
            queue.finish()

        return run

    a, b = np.ones(n, np.uint32), np.zeros(n, np.uint32)
    cores = session.device.cores

    def threaded() -> None:
        parts = [slice(i * n // cores, (i + 1) * n // cores) for i in range(cores)]
        threads = [
            threading.Thread(target=lambda s=s: np.copyto(b[s], a[s])) for s in parts
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    ways: dict[str, Callable[[], Any]] = {
        f"copy, an element per work-item, groups of {g}": start(each, n, g)
        for g in (256, min(4096, session.device.group_size))
    }
    for groups in (cores, 16 * cores):
        ways[f"copy, {groups} chunks"] = start(chunk, groups, 1)
    ways["copy, NumPy in threads"] = threaded
    return ways, 8 * n


def measure(
    ways: dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Median seconds of each, all in turn in every round."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, run in ways.items():
            begun = clock()
            result = run()
            seconds = clock() - begun
            del result
            if number:
                times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def verify(case: Case, result: Any) -> None:
    """The result must be right, to the precision of a sum of f32."""
    if case.check is None:
        return
    expected = case.check(*case.arguments)
    if not np.allclose(result, expected, rtol=1e-3):
        sys.exit(f"{case.name}: wrong result")


def main() -> None:
    """Measure, print a table, and fail if a ratio is missed and that is requested."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--exponent", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--schedule", choices=("cpu", "gpu"))
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="CPU seconds of all threads: for a busy machine",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 on a miss")
    options = parser.parse_args()
    from minifut.opencl.runtime import open_session

    session = open_session()
    ways, copied = copies(session, options.exponent)
    chosen = [c for c in cases(options.exponent) if options.only in c.name]
    for case in chosen:
        program = minifut.compile(case.text, schedule=options.schedule)
        verify(case, program.main(*case.arguments))
        ways[case.name] = lambda c=case, p=program: p.main(*c.arguments)
        if case.times_numpy:
            ways[f"NumPy {case.name}"] = lambda c=case: c.check(*c.arguments)
    clock = time.process_time if options.cpu_time else time.perf_counter
    seconds = measure(ways, options.rounds, clock)
    best = min(seconds[name] for name in seconds if name.startswith("copy,"))
    bandwidth = copied / best
    print(f"{session.device}, 2^{options.exponent} elements, best copy "
          f"{bandwidth / 1e9:.1f} GB/s")  # fmt: skip
    missed = 0
    for name, value in seconds.items():
        if name.startswith("copy,"):
            print(f"  {name:46} {value * 1e3:8.2f} ms")
    for case in chosen:
        ratio = case.nbytes / seconds[case.name] / bandwidth
        missed += ratio < case.wanted
        mark = f"wanted {case.wanted:.2f}" if ratio < case.wanted else ""
        print(f"  {case.name:46} {seconds[case.name] * 1e3:8.2f} ms  "
              f"ratio {ratio:5.2f}  {mark}")  # fmt: skip
        if case.times_numpy:
            times = seconds[f"NumPy {case.name}"] / seconds[case.name]
            missed += times < case.times_numpy
            print(f"  {'':46} {times:8.2f} times as fast as NumPy, "
                  f"wanted {case.times_numpy:.1f}")  # fmt: skip
    if missed and options.strict:
        sys.exit(1)


if __name__ == "__main__":
    main()
