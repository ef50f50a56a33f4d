"""Positions of extremes: comparisons of positions that their order decides."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program
from minifut.ir.scalars import operator
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.operators import PointCode
from minifut.kernel_passes.vectorise.ordered_operands import decided_by_order
from minifut.names import NameSource

PROGRAMS = {
    "of equal ones the left": """
      entry main [n] (xs: [n]f32): (f32, i64) =
        reduce (\\(a, i) (b, j) -> if b > a then (b, j) else (a, i)) (-f32.inf, -1)
               (zip xs (iota n))""",
    "of equal ones the last": """
      entry main [n] (xs: [n]f32): (f32, i64) =
        reduce (\\(a, i) (b, j) -> if a > b then (a, i) else (b, j)) (-f32.inf, -1)
               (zip xs (iota n))""",
    "compared positions": """
      entry main [n] (xs: [n]f32): (f32, i64) =
        reduce_comm (\\(a, i) (b, j) -> if a < b || (a == b && i < j) then (a, i) else (b, j))
                    (f32.inf, i64.highest) (zip xs (iota n))""",
    "other numbers than positions": """
      entry main [n] (xs: [n]f32): (f32, i64) =
        reduce_comm (\\(a, i) (b, j) -> if a < b || (a == b && i < j) then (a, i) else (b, j))
                    (f32.inf, i64.highest) (zip xs (map (\\i -> (i * 7) % 64) (iota n)))""",
    "positions from the end": """
      entry main [n] (xs: [n]f32): (f32, i64) =
        reduce_comm (\\(a, i) (b, j) -> if a < b || (a == b && i < j) then (a, i) else (b, j))
                    (f32.inf, i64.highest) (zip xs (map (\\i -> n - i) (iota n)))""",
}


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("lanes", [16, 8])
def test_positions_agree_with_the_interpreter(name: str, lanes: int) -> None:
    source = PROGRAMS[name]
    program = minifut.compile(source, schedule="cpu", params={"lanes": lanes})
    oracle = interpreted_program(stages.to_core(stages.check(Source("p.fut", source))))
    random = np.random.default_rng(3)
    for count in (0, 1, 63, 64, 65, 129, 300):
        few = random.integers(0, 3, count).astype(np.float32)
        some = np.where(random.random(count) < 0.5, few, np.float32(np.inf))
        for xs in (few, some, -some, np.full(count, np.inf, np.float32)):
            mine, wanted = program.main(xs), oracle.main(xs)
            assert tuple(map(float, mine)) == tuple(map(float, wanted)), xs


def test_what_an_operator_makes_of_positions_decides_nothing() -> None:
    assert _decided(selects=True)
    assert not _decided(selects=False), "the sum of two positions is none"


def _decided(selects: bool) -> bool:
    names = NameSource()
    index, *places = (kc.Variable(names.fresh(b), kc.LONG) for b in "iabpq")
    a, b, p, q = places
    less = kc.Operation(operator("lt", I64), (p, q), kc.TRUTH)
    other = q if selects else q + p
    code = PointCode(
        index,
        (a, p),
        (b, q),
        (kc.Literal(0, kc.LONG), kc.Literal(-1, kc.LONG)),
        (kc.Assign(b, index * 3), kc.Assign(q, index)),
        (
            kc.Assign(b, kc.Select(less, a, b, b.type)),
            kc.Assign(q, kc.Select(less, p, other, q.type)),
        ),
    )
    return decided_by_order(code) is not None
