"""Programs of futhark-benchmarks that differentiate, on small random inputs.

    python benchmarks/adbench.py CHECKOUT [PROGRAM ...] [--schedule cpu|gpu]

`CHECKOUT` is a checkout of github.com/diku-dk/futhark-benchmarks, after `futhark pkg
sync` in adbench (any folder `lib` of its packages will do: --lib LIB). Its data are
elsewhere, so that inputs of the right shapes are made here: ADBench's gmm, ba, hand
(its simple and its complicated form) and lstm, RSBench with and without Doppler
broadening, XSBench with its three kinds of grid. The programs are compiled unmodified;
those that only give counts get one more entry point in a file that imports them, which
adds up what the program differentiates.

The derivative that a program computes, times random directions, is compared with
central differences of its function along them. Exits with 1 if one differs by more than
a millionth.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import minifut

Arrays = tuple[Any, ...]
STEP = 1e-5
FACTORS = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
"""central differences of fourth order"""
TOLERANCE = 1e-6
DIRECTIONS = 3
RSBENCH = (
    "lookups doppler n_windows poles_ls poles_cs windows_f64s windows_i32s"
    " pseudo_K0RS num_nucs mats concs"
)
XSBENCH = (
    "n_isotopes n_gridpoints grid_type hash_bins lookups num_nucs concs mats"
    " nuclide_grid index_grid unionized_energy_array"
)


@dataclass(frozen=True)
class Case:
    """One input of a program.

    `changed` are the positions of the arguments that the derivative is in; `along`
    takes all that the entry point `derivative` gives and a direction, of an array for
    each of those, and gives the derivative of the outputs of `function` along it.
    """

    program: str
    arguments: Arrays
    changed: tuple[int, ...]
    along: Callable[[Arrays, Arrays], np.ndarray[Any, Any]]
    function: str = "calculate_objective"
    derivative: str = "calculate_jacobian"
    added: str = ""
    """text of the entry point `function`, where the program has none"""
    given: Any = 1
    """zero where the program leaves the derivative out of its results"""


def gmm(random: np.random.Generator) -> Iterator[Case]:
    for n, k, d in (50, 5, 3), (40, 7, 10):
        shapes = (k,), (k, d), (k, d + d * (d - 1) // 2), (n, d)
        arrays = tuple(0.5 * random.normal(size=s) for s in shapes)
        yield Case("adbench/gmm", (*arrays, 1.3, 2), (0, 1, 2), inner_product)


def lstm(random: np.random.Generator) -> Iterator[Case]:
    for layers, steps, d in (2, 6, 5), (4, 9, 14):
        shapes = (2 * layers, 4 * d), (3, d), (2 * layers, d), (steps, d)
        arrays = tuple(random.uniform(-0.5, 0.5, size=s) for s in shapes)
        yield Case("adbench/lstm", arrays, (0, 1), inner_product)


def ba(random: np.random.Generator) -> Iterator[Case]:
    n, m, p = 4, 15, 40

    def along(results: Arrays, direction: Arrays) -> np.ndarray[Any, Any]:
        rows, columns, values = results
        shape = (3 * p, 11 * n + 3 * m + p)
        return csr_matrix((values, columns, rows), shape) @ flat(direction)

    cameras = random.uniform(0.1, 0.3, size=(n, 11))
    points, weights = random.uniform(1, 2, size=(m, 3)), random.uniform(0.5, 1, p)
    seen = np.stack((random.integers(n, size=p), random.integers(m, size=p)), axis=1)
    features = random.uniform(size=(p, 2))
    arguments = cameras, points, weights, seen.astype(np.int32), features
    yield Case("adbench/ba", arguments, (0, 1, 2), along)


def hand(random: np.random.Generator) -> Iterator[Case]:
    bones, vertices, n = 22, 30, 12
    parents = np.array([-1, *(random.integers(i) for i in range(1, bones))], np.int32)
    transforms = np.eye(4) + 0.1 * random.normal(size=(2, bones, 4, 4))
    weights = random.uniform(size=(bones, vertices)) / bones
    triangles = random.integers(vertices, size=(20, 3)).astype(np.int32)
    model = (parents, *transforms, weights, random.normal(size=(4, vertices)))
    theta, points = 0.3 * random.normal(size=26), random.normal(size=(3, n))
    corresponding = random.integers(20, size=n).astype(np.int32)

    def along(results: Arrays, direction: Arrays) -> np.ndarray[Any, Any]:
        (jacobian,), (of_theta, of_us) = results, direction
        moved = of_theta @ jacobian[-26:]
        if of_us.size:
            by_point = np.repeat(of_us.reshape(-1, 2), 3, axis=0).T
            moved += (jacobian[:2] * by_point).sum(axis=0)
        return moved

    for us, mirrored in (np.zeros(0), True), (random.uniform(size=2 * n), False):
        last = triangles, mirrored, corresponding, points, theta, us
        yield Case("adbench/hand", (*model, *last), (9, 10), along)


def rsbench(random: np.random.Generator) -> Iterator[Case]:
    nuclides, poles, windows, materials, most = 6, 20, 5, 12, 4
    starts = random.integers(poles - 4, size=(nuclides, windows))
    ends = starts + random.integers(1, 5, size=starts.shape)

    def along(results: Arrays, direction: Arrays) -> np.ndarray[Any, Any]:
        of = np.moveaxis(direction[0], (2, 3), (0, 1))
        ea, rt, ra, rf = of
        known = ea[1], ea[0], ra[1], ra[0], rf[1], rt[0]
        return inner_product(results[1:], known)

    def arguments(doppler: int) -> Arrays:
        complex_numbers = random.uniform(0.2, 1, size=(nuclides, poles, 4, 2))
        return (
            30,
            doppler,
            np.full(nuclides, windows, np.int32),
            random.integers(4, size=(nuclides, poles)).astype(np.int16),
            complex_numbers,
            random.uniform(size=(nuclides, windows, 3)),
            np.stack((starts, ends), axis=2).astype(np.int32),
            random.uniform(size=(nuclides, 4)),
            random.integers(1, most + 1, size=materials).astype(np.int32),
            random.integers(nuclides, size=(materials, most)).astype(np.int32),
            random.uniform(size=(materials, most)),
        )

    text = f"""
entry total {RSBENCH} =
  let (input, sd) = unpack {RSBENCH}
  in f64.sum (map (\\(a, b, c, d) -> a + b + c + d)
                  (run_event_based_simulation input.lookups input.doppler sd))
"""
    given = np.array([[1, 1], [1, 0], [1, 1], [0, 1]])
    for doppler in 0, 1:
        given_by = "total", "diff", text, given
        yield Case("rsbench/rsbench", arguments(doppler), (4,), along, *given_by)


def xsbench(random: np.random.Generator) -> Iterator[Case]:
    isotopes, points, materials, most, bins = 6, 15, 12, 4, 10
    grid = random.uniform(size=(isotopes, points, 6))
    grid[:, 0, 0], grid[:, -1, 0] = 0, 1
    grid[:, :, 0] = np.sort(grid[:, :, 0])
    every = np.sort(grid[:, 1:-1, 0].ravel())
    energies = np.concatenate(([0.0], every, [1.0]))
    hashes = np.arange(bins) / bins

    def below(energy: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        found = [np.searchsorted(each[:, 0], energy, "right") - 1 for each in grid]
        return np.stack(found, axis=1).astype(np.int32)

    def along(results: Arrays, direction: Arrays) -> np.ndarray[Any, Any]:
        fields = np.moveaxis(direction[0], 2, 0)
        return inner_product(results, tuple(fields[[3, 2, 0, 4, 5, 1]]))

    text = f"""
entry total {XSBENCH} =
  let (inputs, sd) = unpack {XSBENCH}
  in f64.sum (map (\\(a, b, c, d, e) -> a + b + c + d + e)
                  (run_event_based_simulation inputs sd))
"""
    nuclides = (
        random.integers(1, most + 1, size=materials).astype(np.int32),
        random.uniform(size=(materials, most)),
        random.integers(isotopes, size=(materials, most)).astype(np.int32),
        grid,
    )
    for kind, starts in enumerate((energies, energies, hashes)):
        parts = *nuclides, below(starts), starts
        arguments = (isotopes, points, kind, bins, 30, *parts)
        yield Case("xsbench/xsbench", arguments, (8,), along, "total", "diff", text)


PROGRAMS = {each.__name__: each for each in (gmm, ba, hand, lstm, rsbench, xsbench)}


def flat(arrays: Arrays) -> np.ndarray[Any, Any]:
    """All numbers of some arrays, one after the other."""
    return np.concatenate([np.ravel(each) for each in arrays])


def inner_product(gradient: Arrays, direction: Arrays) -> np.ndarray[Any, Any]:
    return np.ravel(flat(gradient) @ flat(direction))


def results_of(entry: minifut.EntryPoint, arguments: Arrays) -> Arrays:
    found = entry(*arguments)
    return found if isinstance(found, tuple) else (found,)


def deviation(
    case: Case,
    function: minifut.EntryPoint,
    derivative: minifut.EntryPoint,
    random: Any,
) -> float:
    """The largest difference from central differences, relative to the largest."""
    results = results_of(derivative, case.arguments)
    worst = 0.0
    for _ in range(DIRECTIONS):
        changed = [case.arguments[i] for i in case.changed]
        direction = tuple(
            case.given * random.normal(size=np.shape(each)) for each in changed
        )
        sides = {}
        for step in FACTORS:
            moved = list(case.arguments)
            for i, part in zip(case.changed, direction, strict=True):
                moved[i] = moved[i] + step * STEP * part
            sides[step] = flat(results_of(function, tuple(moved)))
        expected = sum(sides[step] * FACTORS[step] for step in FACTORS) / STEP
        found = case.along(results, direction)
        scale = np.abs(expected).max()
        worst = max(worst, float(np.abs(found - expected).max() / scale))
    return worst


def compile_case(
    case: Case, folder: Path, schedule: str
) -> tuple[minifut.EntryPoint, minifut.EntryPoint]:
    """The function, of a file of its own where the case adds it, and the derivative."""
    path = folder / f"{case.program}.fut"
    program = minifut.compile(path, schedule=schedule)
    derivative = program.entry(case.derivative)
    if case.added:
        text = f'open import "{path.stem}"\n{case.added}'
        path = path.with_name(f"{path.stem}_total.fut")
        path.write_text(text)
        program = minifut.compile(path, schedule=schedule)
    return program.entry(case.function), derivative


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--lib", type=Path, help="the folder of Futhark packages")
    parser.add_argument("--schedule", choices=["cpu", "gpu"], action="append")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in "adbench", "rsbench", "xsbench":
            (folder / part).mkdir()
            for path in (options.checkout / part).glob("*.fut"):
                shutil.copy(path, folder / part)
        lib = options.lib or options.checkout / "adbench/lib"
        shutil.copytree(lib, folder / "adbench/lib")
        for program in options.programs or PROGRAMS:
            for schedule in options.schedule or ("cpu", "gpu"):
                random = np.random.default_rng(0)
                for number, case in enumerate(PROGRAMS[program](random)):
                    entries = compile_case(case, folder, schedule)
                    found = deviation(case, *entries, random)
                    wrong += not found <= TOLERANCE
                    verdict = "agrees" if found <= TOLERANCE else "DIFFERS"
                    print(
                        f"{program} {number} {schedule}: {verdict}, by {found:.1e}",
                        flush=True,
                    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
