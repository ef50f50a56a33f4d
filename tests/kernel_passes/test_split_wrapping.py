"""Loops over points whose indices wrap around compute what the program says, whether
masks are powers of two less one or not, and wherever the indices start to wrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.interpret import run
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.position_ranges import AffineIndex, PositionIndices
from minifut.names import NameSource

HEAD = "entry main [n] (mask: i32) (m: i64) (xs: [n]i64): [n]i64 = #[unsafe] "
PROGRAMS = {
    "mask": """let m = i32.i64 n - 1
        in tabulate n (\\i -> xs[(i32.i64 i + 1) & m] - xs[(i32.i64 i - 1) & m])""",
    "given mask": """let within (i: i32) = i64.i32 (i & mask) % n
        in tabulate n (\\i -> xs[within (i32.i64 i + 2)] * 3 - xs[within (i32.i64 i)])""",
    "mask of i64": "tabulate n (\\i -> if m > 0 then xs[((i + 5) & (m - 1)) %% n] else 0)",
    "remainder": """let m = i32.i64 n
        in tabulate n (\\i -> xs[(i32.i64 i + 3) % m] - xs[(i32.i64 i + m - 1) % m])""",
    "given remainder": """if m <= 0 then xs else
        tabulate n (\\i -> xs[((i32.i64 i - 3) %% i32.i64 m) % i32.i64 n])""",
    "every second": """let m = i32.i64 n - 1
        in tabulate n (\\i -> let j = 2 * i32.i64 i + 1 in xs[(j - 2) & m] - xs[j & m])""",
    "steps of a loop": """let m = i32.i64 n - 1
        in tabulate n (\\i -> loop s = 0 for k < 5 do s * 2 + xs[(i32.i64 i + k - 2) & m])""",
    "backwards": """let m = i32.i64 n - 1
        in tabulate n (\\i -> xs[(m - i32.i64 i) & m] - xs[(7 - i32.i64 i) & m])""",
    "small period": "tabulate n (\\i -> xs[(i + 1) % 2 % n] + xs[i & 3 & (n - 1)])",
    "rows in a group": """let m = i32.i64 n - 1
        let row (i: i64) = let sums = tabulate n (\\j -> xs[(i32.i64 j + i32.i64 i) & m])
                           in tabulate n (\\j -> sums[(i32.i64 j + 1) & m] - sums[j])
        in #[incremental_flattening(only_intra)] map row (iota n) |> map i64.sum""",
}


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, schedule: Any) -> None:
    text = HEAD + PROGRAMS[name].replace("%%", "%")
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text, schedule=schedule)
    for n in (1, 2, 16, 37, 64):
        xs = np.arange(n, dtype=np.int64) * 5 - 7
        for mask, m in (
            (n - 1, n),
            (7, 8),
            (6, 7),
            (0, 1),
            (-1, -1),
            (2**31 - 1, 2048),
        ):
            given = [np.int32(mask), np.int64(m), xs]
            wanted = run(core, "main", given)
            np.testing.assert_array_equal(program.main(*given), wanted[0])


def test_the_interior_has_plain_indices() -> None:
    core = stages.to_core(stages.check(Source("program.fut", HEAD + PROGRAMS["mask"])))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "program")
    interior = module.split("PARALLEL")[-1].split("}")[0]
    assert "xs" in interior and "&" not in interior and "int" not in interior


@pytest.mark.sweep
@pytest.mark.parametrize("step", ["x * x", "(x & 1023) + (x & 2047)", "x - x * 3"])
@pytest.mark.parametrize("use", ["xs[i % x]", "xs[x % n]", "if x < i then 1 else 0"])
def test_chains_of_definitions_are_not_followed_to_their_end(
    step: str, use: str
) -> None:
    chain = "".join(f"let x = {step} in " for _ in range(300))
    text = HEAD + f"tabulate n (\\i -> let x = i + m in {chain} {use})"
    core = stages.to_core(stages.check(Source("program.fut", text)))
    kernels = stages.to_kernels(core)
    for schedule in ("cpu", "gpu"):
        assert stages.to_host_module(kernels, schedule, "program")


class _Counting(PositionIndices):
    """Counts what it looks into."""

    computations = 0

    def computed(self, exp: kc.Expression) -> AffineIndex | None:
        self.computations += 1
        return super().computed(exp)


def test_what_is_no_index_is_looked_into_once() -> None:
    k = CodeBuilder(NameSource(1), "points")
    read = kc.Memory(k.names.fresh("read"), I64)
    with k.loop("i", 100) as i:
        value: kc.Expression = k.declare("value", k.load(read, i))
        for number in range(50):
            value = k.declare("value", (value + i) % (2000 + number))
    loop = k.statements[-1]
    assert isinstance(loop, kc.For)
    search = _Counting(loop)
    assert search.straightened() == loop.body.statements
    assert search.computations < 500
