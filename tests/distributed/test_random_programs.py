"""Random programs: what chunks give is what the whole gives, by any scheduler.

python -m tests.distributed.test_random_programs 100     tries that many
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import minifut
from tests.distributed.random_programs import BINS, Maker

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.device

N, STEPS = 61, 5
FOLDS = """
entry main [n] (xs: [n]f32) (ys: [n]f32): ([n]f32, f32, [5]f32) =
  let m = f32.sum xs / f32.i64 n
  let s = scan (+) 0 (map2 (\\x y -> (x - m) * y) xs ys)
  in (s, f32.sum (map f32.exp s), hist (+) 0 5 (map (\\x -> i64.f32 (x * 5)) xs) ys)
"""


def differences(seed: int) -> list[str]:
    """Which results of a random program differ, and how it was cut."""
    from minifut.dask import distribute

    source = Maker(seed).program(STEPS)
    program = minifut.compile(source)
    random = np.random.default_rng(seed)
    xs, ys = random.integers(-50, 50, (2, N)).astype(np.int32)
    zs = random.integers(-9, 9, BINS).astype(np.int32)
    wanted = program.main(xs, ys, zs)
    function = distribute(program.main, over="n")
    wrong = []
    for chunks in (N, 17, (1, 40, 0, 20)):
        given = [da.from_array(a, chunks=(chunks,)) for a in (xs, ys)]
        found = function(*given, zs)
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            if not np.array_equal(np.asarray(one), other):
                wrong.append(f"seed {seed}, chunks {chunks}: result {place}\n{source}")
    return wrong


@pytest.mark.parametrize("seed", range(4))
def test_chunks_change_nothing(seed: int) -> None:
    with dask.config.set(scheduler="sync"):
        assert not differences(seed)


def test_bits_do_not_depend_on_who_computes() -> None:
    from minifut.dask import distribute

    function = distribute(minifut.compile(FOLDS).main, over="n")
    xs, ys = np.random.default_rng(3).random((2, 5000), np.float32)

    def results(**scheduler: Any) -> list[bytes]:
        with dask.config.set(**scheduler):
            given = [da.from_array(a, chunks=333) for a in (xs, ys)]
            return [np.asarray(value).tobytes() for value in function(*given)]

    alone = results(scheduler="sync")
    for workers in (1, 2, 5):
        assert results(scheduler="threads", num_workers=workers) == alone


if __name__ == "__main__":
    with dask.config.set(scheduler="sync"):
        for number in range(int(sys.argv[1])):
            try:
                found = differences(number)
            except minifut.CompileError as refused:
                found = [f"seed {number}: {refused}"]
            print("\n".join(found) if found else f"seed {number}: equal", flush=True)
