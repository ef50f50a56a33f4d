"""How long a user waits: start-up, check, a warm run, compiling again, small calls.

    python benchmarks/latency.py [--json FILE]

Whole commands are timed as processes (median of several, after one to warm the caches);
the call from Python is timed inside one process, arguments and results in NumPy.

Predictions written down before the first measurement: help 0.15 s (click alone), check
0.35 s (cached tables, lark, no NumPy), run 0.9 s (NumPy, OpenCL and cached kernels),
call 45 µs (two copies of 4 kB, a launch and a wait on a thread pool). That was of every
launch on the thread pool; small ones run in the calling thread now.

Compiling again is from what the process keeps, and from what is on disk. Calls on
arrays of the device are compared with calls on NumPy arrays, those on arrays in other
layouts with a call on a contiguous array and one copy by NumPy, and a map of 16
elements with Numba's parallel function where that is installed.
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
    "map of 16": 6.4e-6,
    "ten kernels": 60e-6,
    "from memory": 2e-3,
    "from disk": 0.1,
    "new process": 0.1,
}
MOST = {"map of 1,000, device": 1, "matmul of 512, device": 1}
MOST |= {"strided": 1.5, "Fortran order": 1.5, "swapped bytes": 1.5}
MOST |= {"map of 16, Numba": 2}
"""ratios"""


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
entry ten (xs: []f32): []f32 = loop xs for _i < 10 do map2 (-) xs (reverse xs)
entry rows [n][m] (a: [n][m]f32): [n]f32 = map f32.sum a
entry product [n] (a: [n][n]f32): [n][n]f32 =
  map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose a)) a
"""
KERNELS = {"ten.loop_map.host": 0}
"""by default, one thread runs such a loop"""


def call_seconds(entry: str, size: int = 1024, calls: int = 2000) -> float:
    """The median time of one call from Python: of one map, or of ten kernels."""
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


def compile_seconds(on_disk: bool) -> float:
    """The median time of compiling a source again."""
    import minifut
    from minifut import host_modules

    def again() -> None:
        if on_disk:
            host_modules._in_memory.clear()
        minifut.compile(SOURCE)

    return side_by_side(again, again, 20)[0]


def new_process_seconds(repeats: int) -> float:
    """The median time of the first call of `compile` in a process that has imported
    NumPy, of a source that was compiled before. Python's bytecode has to be written, as
    it is where minifut is installed."""
    text = (
        "import time, numpy, minifut; begun = time.perf_counter(); "
        f"minifut.compile({SOURCE!r}); print(time.perf_counter() - begun)"
    )
    seconds = []
    for _ in range(repeats + 2):
        command = [sys.executable, "-c", text]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds.append(float(done.stdout))
    return statistics.median(seconds[2:])


def side_by_side(
    one: Callable[[], object], other: Callable[[], object], calls: int
) -> tuple[float, float]:
    """The median times of two functions, called in turn."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(calls + 5):
        for function, seconds in zip((one, other), taken, strict=True):
            started = time.perf_counter()
            function()
            if number >= 5:
                seconds.append(time.perf_counter() - started)
    return statistics.median(taken[0]), statistics.median(taken[1])


def ratios() -> dict[str, float]:
    """Calls on the device's arrays, and on arrays in other layouts."""
    import minifut

    program = minifut.compile(SOURCE)
    product, doubled = program.entry("product"), program.entry("main")
    xs, square = np.ones(1000, np.float32), np.ones((512, 512), np.float32)
    on_device = program.to_device(xs), program.to_device(square)

    def fifty(given: object, device: bool) -> None:
        for _ in range(50):
            result = doubled(given, device=device)
        np.asarray(result)

    pairs = {
        "map of 1,000, device": side_by_side(
            lambda: fifty(on_device[0], True), lambda: fifty(xs, False), 50
        ),
        "matmul of 512, device": side_by_side(
            lambda: np.asarray(product(on_device[1], device=True)),
            lambda: product(square),
            50,
        ),
    }
    table = np.ones((2000, 2000), np.float32)
    layouts = {
        "strided": np.ones((2000, 4000), np.float32)[:, ::2],
        "Fortran order": np.asfortranarray(table),
        "swapped bytes": table.astype(">f4"),
    }
    rows = program.entry("rows")
    for name, given in layouts.items():

        def copied(given: np.ndarray = given) -> None:
            np.ascontiguousarray(given, np.float32)
            rows(table)

        pairs[name] = side_by_side(lambda given=given: rows(given), copied, 20)
    if numba := numba_map():
        few = np.arange(16, dtype=np.float32)
        name = "map of 16, Numba"
        pairs[name] = side_by_side(lambda: doubled(few), lambda: numba(few), 5000)
    return {name: one / other for name, (one, other) in pairs.items()}


def numba_map() -> Callable[[np.ndarray], np.ndarray] | None:
    """The map as a parallel function of Numba, if that is installed."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def doubled(xs: np.ndarray) -> np.ndarray:
        out = np.empty_like(xs)
        for i in numba.prange(xs.shape[0]):
            out[i] = 2 * xs[i]
        return out

    return doubled  # type: ignore[no-any-return]


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
        "map of 16": call_seconds("main", 16),
        "ten kernels": call_seconds("ten"),
        "from memory": compile_seconds(on_disk=False),
        "from disk": compile_seconds(on_disk=True),
        "new process": new_process_seconds(options.repeats),
    }
    print(f"{'':12s} {'median':>12s} {'target':>12s}")
    for name, seconds in figures.items():
        scale, unit = (1e6, "µs") if seconds < 1e-3 else (1, "s")
        shown = [f"{x * scale:9.3g} {unit}" for x in (seconds, TARGETS[name])]
        verdict = "" if seconds <= TARGETS[name] else "   missed"
        print(f"{name:12s} {shown[0]:>12s} {shown[1]:>12s}{verdict}")
    found = ratios()
    for name, ratio in found.items():
        verdict = "" if ratio <= MOST[name] else "   missed"
        print(f"{name:22s} {ratio:6.2f} {MOST[name]:6.2f}{verdict}")
    figures |= found
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
