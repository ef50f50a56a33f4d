"""The pass: versions beside the kernel, what chooses them, what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.ir import kernels
from minifut.ir.core import Program
from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import Interpreter
from minifut.ir.kernels import GetParameter
from minifut.ir.parser import names_after
from minifut.ir.traverse import walk
from minifut.ir.verify import verify
from minifut.passes.pipelines import run_pass
from minifut.passes.tiling.driver import tile
from minifut.rewrite.explain import explain
from minifut.rewrite.trace import Trace
from tests.passes.meaning import assert_same, outcome
from tests.passes.tiling.derive import (
    SMALL,
    parameters,
    run_with,
    tiled,
    to_core,
    to_kernels,
)
from tests.passes.tiling.programs import DIVISION, MATMUL, MIXED, PROGRAMS, nonzero

HUGE = 1 << 60


def thresholds(program: Program) -> list[str]:
    return [
        node.threshold.name
        for node in walk(program)
        if isinstance(node, kernels.AtLeast)
    ]


def refusals(text: str) -> list[str]:
    program = to_kernels(text)
    trace = Trace(declined=True)
    after = tile(program, names_after(program), trace)
    assert after is program
    assert not trace.fired()
    return [step.reason for step in trace.steps]


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_version_agrees(name: str) -> None:
    program = PROGRAMS[name]
    after = tiled(program.text)
    own = [t for t in thresholds(after) if not t.endswith((".outer", ".intra"))]
    assert own[0] == f"{program.nest}.tiled"
    assert own[1:] in ([], [f"{program.nest}.split", f"{program.nest}.narrow"])
    finished = run_pass("simplify-kernels", run_pass("sequentialise", after))
    random = np.random.default_rng(5)
    for sizes, shape in zip(SMALL, ((5, 6, 4), (3, 9, 2), (7, 2, 5)), strict=True):
        given = program.arguments(random, *shape)
        wanted = outcome(to_core(program.text), given)
        choices = (0, HUGE, HUGE), (0, 0, HUGE), (HUGE, 0, 0), (HUGE, HUGE, 0)
        for chosen in choices:
            values = parameters(program.nest, sizes, split_depth=4)
            values |= dict(zip(own, chosen, strict=False))
            assert_same(wanted, run_with(finished, given, values), str(values))


def test_small_products_and_tiles_that_do_not_fit_stay_untiled() -> None:
    """The tiles would be too many to interpret, were they chosen."""
    program, after = PROGRAMS["product"], tiled(MATMUL)
    given = program.arguments(np.random.default_rng(1), 4, 5, 6)
    huge = parameters(program.nest, (1024, 1024, 4096, 16, 64))
    for values in (huge, huge | {f"{program.nest}.tiled": 0}):
        (found,) = run_with(after, given, values)
        np.testing.assert_array_equal(found, given[0] @ given[1])


@pytest.mark.parametrize(
    ("shape", "steps"),
    [((3, 64, 2), 128), ((1, 64, 9), 0), ((16, 9, 16), 2025), ((40, 64, 40), 0)],
)
def test_steps_that_gain_from_sharing_are_those_of_narrow_results(
    shape: tuple[int, int, int], steps: int
) -> None:
    after = tiled(MATMUL)
    sizes = dict(
        zip((p.name for p in after.functions[0].parameters), shape, strict=False)
    )
    (narrow,) = [
        node
        for node in walk(after)
        if isinstance(node, kernels.AtLeast) and node.threshold.name.endswith(".narrow")
    ]
    assert narrow.parallelism.evaluate(sizes) == steps


def test_the_tiled_version_comes_before_the_choice_of_flattening() -> None:
    after = tiled(MATMUL)
    assert thresholds(after) == [
        "main.map_reduce.outer",
        "main.map_map_redomap.tiled",
        "main.map_map_redomap.split",
        "main.map_map_redomap.narrow",
    ]
    (last,) = after.functions[0].body.result
    (choice,) = [
        s.exp
        for s in after.functions[0].body.statements
        if s.pattern and s.pattern[0].name == last
    ]
    groups = [n for n in walk(choice.then) if isinstance(n, kernels.CollectiveCopy)]
    assert groups
    copies = [
        n for n in walk(choice.otherwise) if isinstance(n, kernels.CollectiveCopy)
    ]
    assert not copies


def test_one_name_is_one_parameter() -> None:
    for program in PROGRAMS.values():
        after = tiled(program.text)
        found = {
            node.parameter for node in walk(after) if isinstance(node, GetParameter)
        }
        assert len({p.name for p in found}) == len(found)
        for parameter in found:
            for _, number in parameter.defaults:
                if parameter.bounds is not None:
                    assert parameter.bounds[0] <= number <= parameter.bounds[1]


def needed_on_a_cpu(text: str) -> int:
    """The bytes of local memory with the default sizes."""
    after = tiled(text)
    values = {
        s.pattern[0].name: dict(s.exp.parameter.defaults)["cpu"]
        for node in walk(after)
        for s in getattr(node, "statements", ())
        if isinstance(s.exp, GetParameter)
    }
    (needs,) = [
        s.exp.size
        for s in after.functions[0].body.statements
        if s.pattern and s.pattern[0].name.base == "bytes"
    ]
    return needs.evaluate(values)


@pytest.mark.parametrize("name", PROGRAMS)
def test_defaults_fit_the_memory_of_a_core(name: str) -> None:
    assert needed_on_a_cpu(PROGRAMS[name].text) <= 1 << 20


TWO_SUMS = """
def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): ([n][p]f32, [n][p]f32) =
  map (\\r -> map (\\c ->
        let s = reduce (+) 0 (map2 (*) r c)
        let t = reduce (+) 0 (map2 (-) r c)
        in (RESULTS)) (transpose b)) a
  |> map unzip |> unzip"""


def test_sums_that_are_used_afterwards_wait_in_the_results() -> None:
    assert needed_on_a_cpu(PROGRAMS["gemm"].text) == needed_on_a_cpu(MATMUL)
    plain, after = (TWO_SUMS.replace("RESULTS", r) for r in ("s, t", "s - t, s + t"))
    assert needed_on_a_cpu(after) == needed_on_a_cpu(plain)


def test_an_edit_elsewhere_renames_nothing() -> None:
    other = f"entry other [n] (x: [n][n]i64) = map (\\r -> map (i64.sum) x) x\n{MATMUL}"
    assert set(thresholds(tiled(MATMUL))) < set(thresholds(tiled(other)))


def test_two_nests_alike_have_names_of_their_own() -> None:
    text = """
def product [n] (a: [n][n]f32) (b: [n][n]f32): [n][n]f32 =
  map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) (transpose b)) a
def main [n] (a: [n][n]f32) (b: [n][n]f32) = product (product a b) b"""
    after = tiled(text)
    names = [t for t in thresholds(after) if t.endswith(".tiled")]
    assert names == ["main.map_map_redomap.tiled", "main.map_map_redomap_2.tiled"]
    given = [np.arange(16, dtype=np.float32).reshape(4, 4) % 5 for _ in "ab"]
    values = parameters(names[0].removesuffix(".tiled"), SMALL[0])
    values |= parameters(names[1].removesuffix(".tiled"), SMALL[1])
    values |= dict.fromkeys(names, 0)
    (found,) = run_with(after, given, values)
    np.testing.assert_array_equal(found, given[0] @ given[1] @ given[1])


def test_nests_in_loops_and_branches_of_the_host() -> None:
    text = """
def main [n] (k: i64) (a: [n][n]f32): [n][n]f32 =
  loop b = a for i < k do
    if i % 2 == 0
    then map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose a)) b
    else map (map (+ 1)) b"""
    after = tiled(text)
    verify(after, KERNELS)
    a = (np.arange(9).reshape(3, 3) % 4).astype(np.float32)
    values = parameters("main.map_map_redomap", SMALL[0])
    (found,) = run_with(after, [np.int64(3), a], {
        **values, "main.map_map_redomap.tiled": 0,
    })  # fmt: skip
    np.testing.assert_array_equal(found, (a @ a + 1) @ a)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "def main [n][m] (a: [n][m]f32) = map (reduce (+) 0) a",
            "every operand varies with every dimension",
        ),
        (
            "def main [n][m] (a: [n][m]f32) (b: [m]f32) ="
            " map (\\r -> #[sequential] reduce (+) 0 (map2 (*) r b)) a",
            "the reduction is to be left alone",
        ),
        (
            "def main [n][m] (a: [n][m]f32) (b: [m]f32) (k: i64) ="
            " map (\\r -> let s = f32.sum (map2 (*) r b)"
            " in loop x = s for _i < k do x * x) a",
            "beside the reductions there is a loop",
        ),
        (
            "def main [n][m][v][d] (ks: [n][m]i32) (t: [v][d]f32) ="
            " map (\\k -> tabulate d (\\j ->"
            " f32.sum (map (\\i -> t[i64.i32 i, j]) k))) ks",
            "each point gathers elements of its own",
        ),
    ],
)
def test_refusals_have_reasons(text: str, reason: str) -> None:
    assert reason in refusals(text)


def test_the_derivation_is_in_the_trace() -> None:
    program = to_kernels(MATMUL)
    trace = Trace(declined=True, stage="tile")
    tile(program, names_after(program), trace)
    lines = explain(trace)
    assert lines.index("strip_mine_grid") < lines.index("strip_mine_loop")
    assert lines.index("strip_mine_loop") < lines.index("copy_tile")
    assert all(step.stage == "tile" for step in trace.steps)


# --- the thesis' plan, its sizes and tiles divided by sixteen or so ---------------------

SIZES = (
    (1, 2, 1), (7, 3, 3), (8, 4, 4), (8, 11, 4), (16, 4, 12), (16, 8, 12), (17, 8, 12),
    (16, 9, 12), (16, 8, 13), (17, 9, 12), (17, 8, 13), (16, 9, 13), (17, 9, 13),
)  # fmt: skip
"""parts of a register tile, of a block; one group, several; what is left over in each
combination of dimensions"""
TILES = (
    (2, 2, 4, 4, 2), (3, 2, 4, 4, 2), (2, 3, 4, 4, 2), (3, 3, 4, 4, 2),
    (5, 2, 4, 4, 2), (2, 5, 4, 4, 2), (5, 5, 4, 4, 2),
)  # fmt: skip
"""threads that divide the depth of a block, that do not, and that are more"""


@pytest.mark.sweep
@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("text", [MATMUL, DIVISION, MIXED])
def test_sizes_and_tiles_of_the_thesis(
    text: str, tiles: tuple[int, int, int, int, int]
) -> None:
    nest = "main.map_map_redomap"
    values = parameters(nest, tiles) | {f"{nest}.tiled": 0, f"{nest}.split": HUGE}
    runner = Interpreter(tiled(text), values)
    random = np.random.default_rng(7)
    for n, m, p in SIZES:
        a, b = nonzero(random, n, m), nonzero(random, m, p)
        if text == MATMUL:
            a, b = a.astype(np.float32), b.astype(np.float32)
            wanted = a @ b
        elif text == DIVISION:
            wanted = (a[:, :, None] // b[None]).sum(1, dtype=np.int32)
        else:
            a, b = a.astype(np.int16), b.astype(np.float64)
            wanted = (a[:, :, None] < b[None] + 3).all(1)
            b = b + 3
        (found,) = runner.run("main", [a, b])
        np.testing.assert_array_equal(found, wanted)
