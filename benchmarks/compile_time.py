"""How long compilation takes, from the text of a program to OpenCL text.

    python benchmarks/compile_time.py FOLDER... [--every N] [--exclude REGEX]
        [--schedule cpu|gpu] [--seconds 8] [--median 0.25] [--mib 1024] [--json FILE]
        [--moderate [--ratio 3]]

Every `.fut` file of the folders (outside of `lib/` and what is excluded) is compiled in
a process of its own, forked from one that has loaded the compiler and compiled a first
program with most kinds of nodes: so start-up is not counted, and memory is the most
that this program took. The table gives the seconds of each stage, of processor time;
what does not compile is listed with the reason, and does not count. The exit code is 1
if a program needs more than `--seconds` or `--mib`, or if the median is above
`--median`, where that is asked for.

`--moderate` compiles each program a second time with moderate flattening, which makes
no versions, and gives what versions cost: seconds and code size as multiples of those,
in all and by quartiles; programs without entry points, which have no code, do not
count. The exit code is 1 too if the sums over all programs are above `--ratio`.

    python benchmarks/compile_time.py --growth

compiles programs made of n copies of a pattern for n = 8, 16, 32, 64, and gives the
seconds per copy: they should not grow.

    python benchmarks/compile_time.py --lines

gives the seconds of wall time that the command `minifut compile` takes for programs of
a hundred lines, with Python's start, and for two large ones; a first run of each, that
leaves Python's bytecode, does not count.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SMALLEST = 3.0
"""kilobytes of a module with an entry point"""
LARGE = 3.0
"""what versions multiply a program by that is pointed out"""
STAGES = ("check", "elaborate", "passes", "print")
EVERYTHING_FIRST = """
entry main [n] (xs: [n]f32) (is: [n]i64) =
  let ys = scan (+) 0 xs
  let counts = hist (+) 0 n is (map (const 1i32) is)
  let moved = scatter (copy xs) is ys
  let best = loop b = 0f32 for i < n do if xs[i] > b then xs[i] * 2 else b
  let sums = map (\\x -> f32.sum (map2 (\\y z -> x * y / z) ys (rotate 1 xs))) xs
  in (filter (> best) sums, counts, moved)
"""

Figures = dict[str, float]


def compile_stages(
    text: str, name: str, schedule: str, moderate: bool = False
) -> Figures:
    """The seconds of each stage, and those with moderate flattening."""
    from minifut import stages
    from minifut.errors import Source
    from minifut.ir.parser import names_after
    from minifut.passes.pipelines import MODERATE, run_pipeline

    source = Source(name, text)
    marks = [time.process_time()]

    def mark() -> None:
        marks.append(time.process_time())

    checked = stages.check(source)
    mark()
    core = stages.to_core(checked)
    mark()
    lowered = stages.to_kernels(core)
    mark()
    module = stages.to_host_module(lowered, schedule, "program")
    mark()
    figures: Figures = {
        stage: after - before
        for stage, before, after in zip(STAGES, marks, marks[1:], strict=False)
    }
    figures["seconds"] = marks[-1] - marks[0]
    figures["kilobytes"] = len(module) / 1000
    if moderate:
        del lowered
        mark()
        with stages.deep_recursion():
            lowered = run_pipeline(core, names_after(core), steps=MODERATE)
        module = stages.to_host_module(lowered, schedule, "program")
        mark()
        front = figures["check"] + figures["elaborate"]
        figures["moderate seconds"] = front + marks[-1] - marks[-2]
        figures["moderate kilobytes"] = len(module) / 1000
        figures["x seconds"] = figures["seconds"] / figures["moderate seconds"]
        figures["x kilobytes"] = figures["kilobytes"] / figures["moderate kilobytes"]
    return figures


def load_everything() -> None:
    """Import what stages load when they first need it, so that no program pays."""
    import minifut

    for module in pkgutil.walk_packages(minifut.__path__, "minifut."):
        if module.name.split(".")[1] in ("frontend", "ir", "passes", "lowering"):
            importlib.import_module(module.name)


def in_child(run: Callable[[], Figures], limit: int) -> Figures | str:
    """The figures found by a forked process, with its memory; or why there are none."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(limit)
        try:
            answer: Figures | str = run()
        except Exception as error:
            answer = f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
        except RecursionError:
            answer = "RecursionError"
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) == signal.SIGALRM:
            return f"more than {limit} s"
        return f"killed by signal {os.WTERMSIG(status)}"
    answer = json.loads(text)
    if isinstance(answer, dict):
        answer["mib"] = usage.ru_maxrss / 1024
    return answer


def programs(folders: Sequence[str], exclude: str | None, every: int) -> list[Path]:
    """The programs of the folders, libraries left out."""
    found: list[Path] = []
    for folder in folders:
        path = Path(folder)
        found += [path] if path.is_file() else sorted(path.rglob("*.fut"))
    wanted = [
        p
        for p in found
        if "lib" not in p.parts and not (exclude and re.search(exclude, str(p)))
    ]
    return wanted[::every]


def measure(
    paths: list[Path], schedule: str, limit: int, moderate: bool
) -> dict[str, Figures | str]:
    """The figures of each program, printed as they come."""
    results: dict[str, Figures | str] = {}
    columns = dict.fromkeys((*STAGES, "seconds"), 2) | {"mib": 0, "kilobytes": 0}
    if moderate:
        columns |= {"x seconds": 2, "x kilobytes": 2}
    print(" ".join(f"{c:>11s}" for c in columns), " program")
    for path in paths:
        text = path.read_text(errors="replace")

        def run(text: str = text, name: str = str(path)) -> Figures:
            return compile_stages(text, name, schedule, moderate)

        figures = in_child(run, limit)
        results[str(path)] = figures
        if isinstance(figures, str):
            print(f"{'-':>11s}", f" {path}: {figures}", flush=True)
        else:
            shown = [f"{figures[c]:11.{digits}f}" for c, digits in columns.items()]
            print(" ".join(shown), f" {path}", flush=True)
    return results


def judge(results: dict[str, Figures | str], options: argparse.Namespace) -> int:
    """Prints what is beyond the limits; the exit code."""
    measured = {n: f for n, f in results.items() if not isinstance(f, str)}
    slow = [n for n, f in measured.items() if f["seconds"] > options.seconds]
    slow += [n for n, f in results.items() if isinstance(f, str) and "more than" in f]
    large = [n for n, f in measured.items() if f["mib"] > options.mib]
    refused = len(results) - len(measured)
    median = statistics.median([f["seconds"] for f in measured.values()] or [0.0])
    print(
        f"{len(measured)} programs compiled, {refused} not; median {median:.3f} s; "
        f"{len(slow)} above {options.seconds} s, {len(large)} above {options.mib} MiB"
    )
    for name in (*slow, *large):
        print(f"beyond the limits: {name}")
    too_slow = options.median is not None and median > options.median
    too_much = options.moderate and versions_cost(measured) > options.ratio
    return 1 if slow or large or too_slow or too_much else 0


def versions_cost(measured: dict[str, Figures]) -> float:
    """Prints what versions multiply seconds and code size by, in all and over programs;
    the greater of the two."""
    measured = {n: f for n, f in measured.items() if f["kilobytes"] >= SMALLEST}
    if len(measured) < 2:
        return 0.0
    ratios = []
    for what in ("seconds", "kilobytes"):
        with_versions = sum(f[what] for f in measured.values())
        ratio = with_versions / sum(f[f"moderate {what}"] for f in measured.values())
        ratios.append(ratio)
        each = sorted((f[f"x {what}"], n) for n, f in measured.items())
        numbers = [x for x, _ in each]
        quartiles = statistics.quantiles(numbers, n=4, method="inclusive")
        shown = ", ".join(f"{x:.2f}" for x in (*quartiles, numbers[-1]))
        above = sum(x > LARGE for x in numbers)
        print(
            f"versions multiply {what} by {ratio:.2f} in all; quartiles and maximum of "
            f"{len(each)} programs {shown}; {above} above {LARGE:g}"
        )
        for x, name in each[:-6:-1]:
            print(f"    {x:6.2f}  {name}")
    return max(ratios)


# --- growth ---------------------------------------------------------------------------

PATTERNS = {
    "functions called in a map": (
        "def f{i} (x: f32): f32 = let y = x * {i} in if y > 3 then y - x else y + x\n",
        "entry main (xs: []f32) = map (\\x -> {sum}) xs\n",
        "f{i} x",
    ),
    "reductions": (
        "def g{i} [n] (xs: [n]f32): f32 = reduce (+) {i} (map (* {i}) xs)\n",
        "entry main (xs: []f32) = {sum}\n",
        "g{i} xs",
    ),
    "nested maps": (
        "def h{i} [n][m] (xs: [n][m]f32) = map (\\r -> reduce (+) {i} r) xs\n",
        "entry main (xs: [][]f32) = map (\\i -> {sum}) (iota (length xs))\n",
        "(h{i} xs)[i]",
    ),
    "entry points": (
        "entry e{i} [n] (xs: [n]i32) = scan (+) {i} (filter (> {i}) xs)\n",
        "entry main (xs: []i32) = {sum}\n",
        "length xs + {i}",
    ),
}


def growth(schedule: str) -> int:
    """Seconds per copy as programs grow."""
    counts = (8, 16, 32, 64)
    print(f"{'milliseconds per copy':30s}", *[f"{n:>8d}" for n in counts])
    missed = 0
    for name, (definition, main, call) in PATTERNS.items():
        each: list[float] = []
        for count in counts:
            text = "".join(definition.format(i=i) for i in range(count))
            total = " + ".join(call.format(i=i) for i in range(count))
            text += main.format(sum=total)

            def run(text: str = text) -> Figures:
                return compile_stages(text, "growth.fut", schedule)

            figures = min(
                (in_child(run, 120) for _ in range(2)),
                key=lambda f: f["seconds"] if isinstance(f, dict) else 1e9,
            )
            if isinstance(figures, str):
                print(f"{name}: {figures}")
                return 1
            each.append(figures["seconds"] / count)
        worse = each[-1] > 1.5 * each[1]
        missed += worse
        shown = [f"{s * 1000:8.1f}" for s in each]
        print(f"{name:30s}", *shown, "   grows" if worse else "")
    return 1 if missed else 0


# --- lines ----------------------------------------------------------------------------

FUNCTOR = """module type m = {
  type t val zero: t val plus: t -> t -> t val of: f32 -> t val out: t -> f32 }
module mk (X: m) = {
  def sum (xs: []f32) = X.out (reduce X.plus X.zero (map X.of xs))
  def scn (xs: []f32) = map X.out (scan X.plus X.zero (map X.of xs)) }
"""
MODULE = """module m{i} : m = {{
  type t = (f32, f32)
  def zero : t = (0, {i})
  def plus (a: t) (b: t) : t = (a.0 + b.0, f32.max a.1 b.1)
  def of (x: f32) : t = (x * {i}, x)
  def out (a: t) = a.0 + a.1 }}
module k{i} = mk m{i}
entry e{i} (xs: []f32) = (k{i}.sum xs, k{i}.scn xs)
"""
ENTRY = """entry e{i} (xs: []f32) (c: f32) =
  let ys = map (\\x -> x * c + {i}) xs
  let s = f32.sum ys
  let zs = scan (+) 0 ys
  in (s, map (/s) zs)
"""
LINE = "  let x{next} = map (\\v -> v * {i} + 1) x{i}\n"
FUNCTION = "def f{i} (x: i32) : i32 = x * {i} + {called}\n"


def large_programs() -> dict[str, str]:
    """Programs of a hundred lines, and two of a hundred thousand numbers and ten
    thousand functions."""
    functions = "".join(
        FUNCTION.format(i=i, called=f"f{i - 1} x" if i % 50 else "1")
        for i in range(10_000)
    )
    numbers = ", ".join(str(i * 7 % 1000) for i in range(100_000))
    lines = "".join(LINE.format(i=i, next=i + 1) for i in range(98))
    return {
        "20 entry points, 100 lines": "".join(ENTRY.format(i=i) for i in range(20)),
        "13 modules made by a functor, 109 lines": FUNCTOR
        + "".join(MODULE.format(i=i) for i in range(13)),
        "chain of 98 maps": f"entry main (x0: []f32) =\n{lines}  in x98\n",
        "literal of 100,000 numbers": f"entry main (i: i64) = [{numbers}][i]\n",
        "10,000 functions": f"{functions}entry main (x: i32) = f9999 x + f77 x\n",
    }


def time_commands() -> int:
    """The seconds of `minifut compile` for large programs, the least of three."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.fut"
        command = [sys.executable, "-m", "minifut", "compile", str(path)]
        for name, text in large_programs().items():
            path.write_text(text)
            seconds = []
            for _ in range(4):
                start = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                seconds.append(time.perf_counter() - start)
            print(f"{name:40s} {min(seconds[1:]):6.2f}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="only each N-th program")
    parser.add_argument("--exclude", help="leave out paths that match")
    parser.add_argument("--schedule", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--median", type=float)
    parser.add_argument("--moderate", action="store_true", help="compare with it")
    parser.add_argument("--ratio", type=float, default=3.0)
    parser.add_argument("--mib", type=float, default=1024.0)
    parser.add_argument("--limit", type=int, default=120, help="seconds to give up at")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    if options.lines:
        return time_commands()
    load_everything()
    compile_stages(EVERYTHING_FIRST, "first.fut", options.schedule)
    if options.growth:
        return growth(options.schedule)
    paths = programs(options.folders, options.exclude, options.every)
    results = measure(paths, options.schedule, options.limit, options.moderate)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return judge(results, options)


if __name__ == "__main__":
    sys.exit(main())
