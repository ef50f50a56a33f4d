"""Programs whose threads go through rows or columns: as written, turned by hand, and
with layouts chosen by the compiler.

    python benchmarks/locality.py [--side 2048] [--rounds 9] [--schedule cpu]
                                  [--device NAME] [--only REGEX] [--json FILE]

The cases are those of the report "Optimising locality of reference in Futhark" and of
the lecture on locality of reference (rows by threads, coalescing by transposition), and
programs in which a layout serves several kernels. `written` is compiled without the
pass, `by hand` is another program that transposes operands itself (`manifest`),
compiled without it too, `pass` is the program as written with it. The three run in
interleaved rounds in one process; times are medians over all rounds, and a ratio is
that of the program as written to the other: 2 is twice as fast. The last table is the
lecture's histogram: in one pass, or in several over ranges of bins that stay in caches,
which the parameter `histogram_passes` decides."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minifut import loaded_module, stages
from minifut.errors import Source
from minifut.lowering.pipelines import to_kernel_code
from minifut.opencl.module import text_of
from minifut.program import Program


@dataclass(frozen=True)
class Case:
    """The program, and what stands for `plain` if a person transposes arrays."""

    name: str
    text: str
    plain: str
    turned: str
    arguments: Callable[[np.random.Generator, int], tuple[Any, ...]]


def square(random: np.random.Generator, side: int) -> np.ndarray:
    return random.random((side, side), np.float32)


CASES = (
    Case(
        "report",
        """
entry main [n][m][k] (xs: [m][n]f32) (muls: [k]f32) (bias: [k][n][m]f32) =
  let turned = manifest (transpose (map flatten bias))
  in tabulate_3d n m k (\\i j q -> xs[j,i] * muls[q] + BIAS)
""",
        "bias[q,i,j]",
        "turned[i * m + j, q]",
        lambda random, side: (
            square(random, side // 8),
            random.random(side // 8, np.float32),
            random.random((side // 8,) * 3, np.float32),
        ),
    ),
    Case(
        "lecture, rows in and out",
        """
entry main [n][m] (a: [n][m]f32): [n][m]f32 =
  let step row = #[sequential] scan (\\acc x -> f32.sqrt acc + x * x) 0 row
  in ROWS
""",
        "map step a",
        "map step (transpose (manifest (transpose a)))",
        lambda random, side: (square(random, side),),
    ),
    Case(
        "rows folded",
        """
entry main [n][m] (a: [n][m]f32): [n]f32 =
  map (\\row -> loop acc = 0 for x in row do f32.sqrt acc + x * x) (ROWS)
""",
        "a",
        "transpose (manifest (transpose a))",
        lambda random, side: (square(random, side),),
    ),
    Case(
        "columns folded",
        """
entry main [n][m] (a: [n][m]f32): [m]f32 =
  map (\\row -> loop acc = 0 for x in row do f32.sqrt acc + x * x) (COLUMNS)
""",
        "transpose a",
        "manifest (transpose a)",
        lambda random, side: (square(random, side),),
    ),
    Case(
        "sum with a transpose",
        """
entry main [n][m] (a: [m][n]f32) (b: [n][m]f32): [n][m]f32 =
  map2 (map2 (+)) (TURNED) b
""",
        "transpose a",
        "manifest (transpose a)",
        lambda random, side: (square(random, side), square(random, side)),
    ),
    Case(
        "rows folded in a loop",
        """
entry main [n][m] (a: [n][m]f32): [n]f32 =
  let given = ROWS
  in loop s = replicate n 0 for _i < 8i32 do
    map2 (\\row z -> loop acc = z for x in row do f32.sqrt acc + x * x) given s
""",
        "a",
        "transpose (manifest (transpose a))",
        lambda random, side: (square(random, side),),
    ),
)


HISTOGRAM = """
entry main [n] (bins: i64) (keys: [n]i32): [bins]i32 =
  hist (+) 0 bins (map i64.i32 keys) (replicate n 1)
"""
BINS = (1 << 8, 1 << 16, 1 << 20, 1 << 23)
PASSES = (1, 2, 4, 8)


def program(
    text: str, options: Any, laid_out: bool, parameters: dict[str, int] | None = None
) -> Program:
    """The program, with the pass or without."""
    core = stages.to_core(stages.check(Source("case.fut", text)))
    kernels = stages.to_kernels(core)
    if laid_out:
        kernels = stages.to_schedule(kernels, options.schedule)
    module = text_of(to_kernel_code(kernels, options.schedule), "program")
    return loaded_module.load(module, options.device, parameters)


def measure(case: Case, options: Any) -> dict[str, float]:
    """Median seconds of each version, after a check that they agree."""
    hole = re.search(r"\b(BIAS|ROWS|COLUMNS|TURNED)\b", case.text)
    assert hole is not None
    written = case.text.replace(hole[0], case.plain)
    by_hand = case.text.replace(hole[0], case.turned)
    programs = {
        "written": program(written, options, False),
        "by hand": program(by_hand, options, False),
        "pass": program(written, options, True),
    }
    arguments = case.arguments(np.random.default_rng(1), options.side)
    expected = programs["written"].main(*arguments)
    for each in programs.values():
        np.testing.assert_allclose(each.main(*arguments), expected, rtol=1e-4)
    return medians(programs, arguments, options.rounds)


def histograms(bins: int, options: Any) -> dict[str, float]:
    """Median seconds with each number of passes."""
    programs = {
        f"{passes} passes": program(
            HISTOGRAM, options, True, {"histogram_passes": passes}
        )
        for passes in PASSES
    }
    number = options.side * options.side
    random = np.random.default_rng(1)
    arguments = np.int64(bins), random.integers(0, bins, number).astype(np.int32)
    expected = np.bincount(arguments[1], minlength=bins)
    for each in programs.values():
        np.testing.assert_array_equal(each.main(*arguments), expected)
    return medians(programs, arguments, options.rounds)


def medians(
    programs: dict[str, Program], arguments: tuple[Any, ...], rounds: int
) -> dict[str, float]:
    """Seconds of each program, in interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    names = list(programs)
    for round_ in range(rounds):
        # in interleaved rounds, so that none always finds what the same one left in the
        # caches
        for name in names[round_ % len(names) :] + names[: round_ % len(names)]:
            programs[name].main(*arguments)  # writes back what others left there
            start = time.perf_counter()
            programs[name].main(*arguments)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--schedule", choices=stages.SCHEDULES, default="cpu")
    parser.add_argument("--device")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {}
    print(f"{'':28}{'written':>10}{'by hand':>10}{'pass':>10}   gain by hand, by pass")
    for case in CASES:
        if not re.search(options.only, case.name):
            continue
        times = results[case.name] = measure(case, options)
        row = "".join(f"{seconds * 1e3:8.2f}ms" for seconds in times.values())
        by_hand = times["written"] / times["by hand"]
        by_pass = times["written"] / times["pass"]
        print(f"{case.name:28}{row}   {by_hand:8.2f}  {by_pass:8.2f}", flush=True)
    keys = f"histogram of {options.side**2} keys"
    if re.search(options.only, keys):
        print(f"\n{keys:28}" + "".join(f"{p:>8}p." for p in PASSES))
        for bins in BINS:
            times = results[f"{keys}, {bins} bins"] = histograms(bins, options)
            row = "".join(f"{seconds * 1e3:8.2f}ms" for seconds in times.values())
            print(f"{bins:>10} bins{'':13}{row}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
