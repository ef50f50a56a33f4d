"""Bodies lifted to lanes against the same bodies one point at a time.

    python benchmarks/lanes.py [--rounds 9]

The number of lanes is a parameter, so the same program runs both ways, in turn in every
round; results must be the same to the last bit. For the maximum segment sum, whose
operator has no loop and runs several stretches side by side anyway, the peer is a
kernel with one running value per chunk, as one would write it first.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import minifut

MANDELBROT = """
entry main (n: i64) (limit: i32): [n][n]i32 =
  tabulate_2d n n (\\y x ->
    let cx = 3 * f32.i64 x / f32.i64 n - 2
    let cy = 2 * f32.i64 y / f32.i64 n - 1
    let (_, _, k) =
      loop (a, b, k) = (0, 0, 0i32) while k < limit && a * a + b * b < 4f32 do
        (a * a - b * b + cx, 2 * a * b + cy, k + 1)
    in k)
"""

BODIES = """
entry main [n] (xs: [n]f32) (ys: [n]f32) (ms: [n]f32): ([n]f32, [n]f32) =
  unzip (map2 (\\x y ->
    loop (a, b) = (0, 0) for j < n do
      let (dx, dy) = (xs[j] - x, ys[j] - y)
      let r = dx * dx + dy * dy + 0.01
      let f = ms[j] / (r * f32.sqrt r)
      in (a + dx * f, b + dy * f)) xs ys)
"""
"""a loop: sums of a `reduce` the device's compiler does in vectors, in another order"""

COLLATZ = """
entry main (xs: []i32): i32 =
  i32.sum (map (\\x -> (loop (y, k) = (x, 0) while y > 1 do
    (if y % 2 == 0 then y / 2 else 3 * y + 1, k + 1)).1) xs)
"""

SEGMENT_SUM = """
def op (a: (i32, i32, i32, i32)) (b: (i32, i32, i32, i32)) =
  (i32.max a.0 (i32.max b.0 (a.2 + b.1)), i32.max a.1 (a.3 + b.1),
   i32.max b.2 (a.2 + b.3), a.3 + b.3)
entry main (xs: []i32): i32 =
  let f x = (i32.max x 0, i32.max x 0, i32.max x 0, x)
  in (reduce op (0, 0, 0, 0) (map f xs)).0
"""

ONE_VALUE = """
kernel void sums(global const int *x, global int4 *out, long n) {
  long c = (n + get_num_groups(0) - 1) / get_num_groups(0);
  long a = get_group_id(0) * c, b = min(a + c, n);
  int4 s = (int4)(0);
  for (long i = a; i < b; i++) {
    int e = x[i], p = max(e, 0);
    s = (int4)(max(s.x, max(p, s.z + p)), max(s.y, s.w + p), max(p, s.z + e), s.w + e);
  }
  out[get_group_id(0)] = s;
}
"""


def medians(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, all in turn in every round."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, run in ways.items():
            begun = time.perf_counter()
            run()
            if number:
                times[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in times.items()}


def one_value(session: Any, xs: np.ndarray) -> Callable[[], Any]:
    """The maximum segment sum with a running value for each of 32 chunks."""
    cl, chunks = session.cl, 32
    flags = cl.mem_flags
    source = cl.Buffer(
        session.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=xs
    )
    target = cl.Buffer(session.context, flags.READ_WRITE, 16 * chunks)
    kernel = cl.Kernel(cl.Program(session.context, ONE_VALUE).build(), "sums")
    kernel.set_scalar_arg_dtypes([None, None, np.int64])

    def run() -> None:
        kernel(session.queue, (chunks,), (1,), source, target, len(xs))
        session.queue.finish()

    return run


def compare(
    name: str, text: str, arguments: tuple[Any, ...], wanted: float, rounds: int
) -> bool:
    """Sixteen lanes against one; whether the gain is as wanted."""
    programs = {}
    for lanes in (1, 16):
        programs[lanes] = minifut.compile(text, schedule="cpu")
        programs[lanes].tuning["lanes"] = lanes
    results = [np.asarray(program.main(*arguments)) for program in programs.values()]
    if not np.array_equal(*results):
        sys.exit(f"{name}: lanes change the result")
    found = medians(
        {str(n): lambda p=p: p.main(*arguments) for n, p in programs.items()}, rounds
    )
    gain = found["1"] / found["16"]
    print(f"  {name:28} {found['1'] * 1e3:8.1f} ms {found['16'] * 1e3:8.1f} ms  "
          f"gain {gain:5.2f}  wanted {wanted:.1f}")  # fmt: skip
    return gain >= wanted


def main() -> None:
    """Measure and print a table; exit 1 on a miss."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    from minifut.opencl.runtime import open_session

    session = open_session()
    print(f"{session.device}: one point at a time, in 16 lanes")
    rng = np.random.default_rng(1)
    bodies = tuple(rng.random(10_000, dtype=np.float32) for _ in range(3))
    numbers = rng.integers(1, 1 << 16, 1 << 20).astype(np.int32)
    good = [
        compare("mandelbrot 1024^2, 256", MANDELBROT, (1024, np.int32(256)), 3.5,
                options.rounds),
        compare("n-body step, 10,000", BODIES, bodies, 3.0, options.rounds),
        compare("sum of Collatz steps", COLLATZ, (numbers,), 1.0, options.rounds),
    ]  # fmt: skip
    xs = rng.integers(-100, 100, 1 << 24).astype(np.int32)
    program = minifut.compile(SEGMENT_SUM, schedule="cpu")
    found = medians(
        {"one": one_value(session, xs), "own": lambda: program.main(xs)}, options.rounds
    )
    gain = found["one"] / found["own"]
    print(f"  {'maximum segment sum, 2^24':28} {found['one'] * 1e3:8.1f} ms "
          f"{found['own'] * 1e3:8.1f} ms  gain {gain:5.2f}  wanted 2.0")  # fmt: skip
    if not all(good) or gain < 2:
        sys.exit(1)


if __name__ == "__main__":
    main()
