"""The programs of CFAL-bench against their baselines in C, C++ and Fortran.

    python benchmarks/cfal.py CHECKOUT [NAME...] [--runs 5] [--parlay INCLUDE]

`CHECKOUT` is a checkout of github.com/diku-dk/CFAL-bench, whose programs are compiled
unmodified. Baselines are built in a temporary folder by gcc, g++ and gfortran with
`-O3 -march=native` and OpenMP, and run on as many threads as there are cores, quickhull
on one; it needs the headers of github.com/cmuparlay/parlaylib (`INCLUDE`), and
FlashAttention needs cblas.h. Sizes are for two cores. Runs of both sides alternate; a
line has the medians, minifut's over the baseline's, and the seconds of compilation.
Exits with 1 if MG's result is not within 1 % of that of NAS, whose input has other
points, or if a hull has not the number of points that CFAL-bench states.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minifut

OPTIONS = ("-O3", "-march=native", "-fopenmp", "-w")
NAS_CLASS_A = 0.2433365309e-5

Arguments = Callable[[minifut.Program, Path], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Work:
    """A program with its entry point, and its baseline: the folder to copy, how it is
    built there, the command, what comes on its standard input, and the seconds in what
    it prints, of one run."""

    program: str
    entry: str
    arguments: Arguments
    folder: str
    build: tuple[str, ...]
    command: str
    seconds: Callable[[str], float]
    stdin: tuple[str, ...] = ()
    wanted: float | None = None
    """a number that is the result, or the number of its rows"""


def number_after(text: str, factor: float = 1.0) -> Callable[[str], float]:
    """Reads the last number after (or, for `// ..`, before) a text."""
    after = re.compile(re.escape(text) + r"\s*=?\s*([0-9.]+)")
    before = re.compile(r"([0-9]+)\s*" + re.escape(text))
    pattern = before if text.startswith("//") else after
    return lambda printed: factor * float(pattern.findall(printed)[-1])


def nas_grid(program: minifut.Program, _: Path) -> tuple[Any, ...]:
    return 4, program.entry("mk_input")(256)


def bodies(program: minifut.Program, _: Path) -> tuple[Any, ...]:
    points = np.arange(BODIES, dtype=np.float64)
    return 10, 0.01, points[:, None] * np.array([1.0, 2.0, 3.0]), np.ones(BODIES)


def attention(program: minifut.Program, _: Path) -> tuple[Any, ...]:
    ones = np.ones((4096, 64), np.float32)
    return ones.reshape(64, 64, 64), ones, ones


def options(size: str) -> Arguments:
    def read(program: minifut.Program, checkout: Path) -> tuple[Any, ...]:
        path = f"LocVolCalib/futhark/LocVolCalib-data/{size}.in"
        lines = (checkout / path).read_text().splitlines()
        words = [line.split("--")[0].strip() for line in lines]
        numbers = [word.removesuffix("f64") for word in words if word]
        return *map(int, numbers[:4]), *map(float, numbers[4:])

    return read


def points(kind: str) -> Arguments:
    def read(program: minifut.Program, _: Path) -> tuple[Any, ...]:
        found = np.fromfile(f"{kind}.dat", np.int32).reshape(-1, 2)
        return (found.astype(np.float64),)

    return read


BODIES = 5000
STEPS_FLOPS = 1e-9 * (19 * BODIES * BODIES + 12 * BODIES) * 10
FORTRAN = "FC=gfortran FLINK=gfortran C_LIB=-lm"
NAS = (
    "chmod -R u+w . && chmod +x sys/* && mkdir -p bin",
    f"make mg CLASS=A {FORTRAN} 'FFLAGS={' '.join(OPTIONS)}' 'FLINKFLAGS=-O3 -fopenmp'",
)
VALUATION = "LocVolCalib/baseline-FinPar"


def nas(entry: str) -> Work:
    seconds = number_after("Time in seconds")
    folder = "MG/baseline-cpu"
    grid, call = nas_grid, "bin/mg.A.x"
    path = "MG/futhark/mg.fut"
    return Work(path, entry, grid, folder, NAS, call, seconds, (), NAS_CLASS_A)


def valuation(size: str) -> Work:
    build = f"g++ {' '.join(OPTIONS)} -Ofast -DENABLE_OPENMP -DlgWARP=5 -I../include "
    return Work(
        "LocVolCalib/futhark/LocVolCalib.fut",
        "main",
        options(size),
        VALUATION,
        (f"cd COpenMP && {build} -I../includeC VolCalibOrig.cpp -o VolCalib",),
        "COpenMP/VolCalib",
        number_after("// Runtime in microseconds", 1e-6),
        tuple(f"Data/{size.title()}/{which}.data" for which in ("input", "output")),
    )


def quickhull(kind: str, bound: int, size: int) -> Work:
    return Work(
        "quickhull/futhark/quickhull.fut",
        "main",
        points(kind),
        "quickhull",
        (
            "rm -f baseline/parlay && ln -s $PARLAY/parlay baseline/parlay",
            "gcc -O2 gen_points.c -o gen_points -lm",
            "g++ -O3 -march=native -w -pthread -I$PARLAY baseline/hull.cpp -o hull",
            f"./gen_points {bound} {bound} 1000000 {kind[0]} > {kind}.dat",
        ),
        f"env PARLAY_NUM_THREADS=1 ./hull {kind}.dat",
        number_after(f",{kind}.dat,"),
        wanted=size,
    )


WORKS: dict[str, Work] = {
    "MG, class A, mgNAS": nas("mgNAS"),
    "MG, class A, mgSAC": nas("mgSAC"),
    "n-body, 5,000 bodies, 10 steps": Work(
        "nbody-naive/futhark/nbody.fut",
        "main",
        bodies,
        "nbody-naive/baseline-cpu",
        (f"gcc {' '.join(OPTIONS)} -ffast-math nbody.c -o nbody -lm",),
        f"./nbody {BODIES} 10 1",
        lambda printed: STEPS_FLOPS / number_after(f"n={BODIES},")(printed),
    ),
    "LocVolCalib, small": valuation("small"),
    "LocVolCalib, medium": valuation("medium"),
    "FlashAttention, 4096 x 64": Work(
        "FlashAttention/futhark/custom-alg1.fut",
        "main",
        attention,
        "FlashAttention/baseline-cpu",
        (
            f"gcc {' '.join(OPTIONS)} -Ofast -Imatmul/include flash_attention_cpu.c "
            "matmul/src/matmul.c -o attention -lm",
        ),
        "./attention 64 4096 256 2>&1",
        number_after("Runtime:"),
    ),
    "quickhull, circle": quickhull("circle", 16384, 335),
    "quickhull, rectangle": quickhull("rectangle", 16384, 23),
    "quickhull, quadratic": quickhull("quadratic", 2000000000, 124576),
}


def shell(command: str, folder: Path, given: str, parlay: str) -> str:
    """What a command prints. Raises `CalledProcessError`."""
    environment = {"PARLAY": parlay, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    ran = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def measured(name: str, checkout: Path, runs: int, parlay: str) -> bool:
    """Print the line of a program; whether its result is right."""
    work = WORKS[name]
    started = time.perf_counter()
    program = minifut.compile(checkout / work.program)
    compiled = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "baseline"
        shutil.copytree(checkout / work.folder, folder, symlinks=True)
        for command in work.build:
            shell(command, folder, "", parlay)
        given = "".join((folder / path).read_text() for path in work.stdin)
        entry = program.entry(work.entry)
        with chdir(folder):
            arguments = work.arguments(program, checkout)
        result = entry(*arguments)
        ours, theirs = [], []
        for _ in range(runs):
            theirs.append(work.seconds(shell(work.command, folder, given, parlay)))
            started = time.perf_counter()
            entry(*arguments)
            ours.append(time.perf_counter() - started)
    mine, other = statistics.median(ours), statistics.median(theirs)
    found = len(result) if np.ndim(result) else result
    right = work.wanted is None or abs(found / work.wanted - 1) < 1e-2
    cells = f"{1e3 * mine:10.1f}{1e3 * other:10.1f}{mine / other:8.2f}{compiled:9.2f}"
    print(f"{name:32}{cells}{'' if right else '  WRONG'}", flush=True)
    return right


def main() -> int:
    """Measure the programs, print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*", help="parts of names; all by default")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--parlay", default="", metavar="INCLUDE")
    given = parser.parse_args()
    print(f"{'ms':32}{'minifut':>10}{'baseline':>10}{'ratio':>8}{'compile':>9}")
    wanted = [n for n in WORKS if not given.names or any(w in n for w in given.names)]
    if not given.parlay:
        wanted = [name for name in wanted if "quickhull" not in name]
    right = [
        measured(n, given.checkout.resolve(), given.runs, given.parlay) for n in wanted
    ]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
