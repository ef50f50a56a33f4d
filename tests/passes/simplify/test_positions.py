"""Programs that index by position are fused as those that map over arrays."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.kernels import SegMap, SegRed
from minifut.ir.traverse import walk

PROGRAMS = {
    "map": """
entry main [n] (xs: [n]i64): [n]i64 =
  let a = map (* 2) xs
  in tabulate n (\\i -> a[i] + 1 + xs[i])
""",
    "nest": """
entry main [n] (xs: [n]i64): [n]i64 =
  let a = map (\\x -> map (* x) (iota n)) xs
  let b = tabulate_2d n n (\\i j -> a[i, j] + xs[i] + xs[j])
  in map i64.sum b
""",
    "branch": """
entry main [n] (xs: [n]i64): [n]i64 =
  let a = map (* 2) xs
  in tabulate n (\\i -> if i % 2 == 0 then a[i] else -a[i])
""",
    "sum": """
entry main [n] (xs: [n]i64): [1]i64 =
  let a = map (* 2) xs
  in [i64.sum (map (\\i -> a[i] * xs[i]) (iota n))]
""",
}
EXPECTED = {
    "map": lambda xs: xs * 3 + 1,
    "nest": lambda xs: (xs[:, None] * np.arange(len(xs)) + xs[:, None] + xs[None]).sum(
        axis=1
    ),
    "branch": lambda xs: np.where(np.arange(len(xs)) % 2 == 0, 2 * xs, -2 * xs),
    "sum": lambda xs: np.array([(2 * xs * xs).sum()]),
}


@pytest.mark.parametrize("name", ["map", "branch", "sum"])
def test_one_kernel(name: str) -> None:
    """And no intermediate array: each version has a single kernel."""
    checked = stages.check(Source("test.fut", PROGRAMS[name]))
    (function,) = stages.to_kernels(stages.to_core(checked)).functions
    kernels = [n for n in walk(function) if isinstance(n, SegMap | SegRed)]
    inputs = {str(p.name) for p in function.parameters}
    read = {
        str(node.array)
        for kernel in kernels
        for node in walk(kernel)
        if type(node).__name__ == "Index"
    }
    assert kernels and read <= inputs


@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
def test_meaning(name: str) -> None:
    xs = np.array([3, -1, 4, 1, -5], np.int64)
    program = minifut.compile(PROGRAMS[name])
    assert (np.asarray(program.main(xs)) == EXPECTED[name](xs)).all()
    assert len(program.main(xs[:0])) == (name == "sum")
