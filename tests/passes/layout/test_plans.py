"""What is turned where, for each schedule, and that the results stay the same."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir import core, kernels
from minifut.ir.core import Loop, Manifest, Program, Stm
from minifut.ir.interpret import run
from minifut.ir.kernels import SegMap
from minifut.ir.scope import scope_of
from minifut.ir.search import nodes_of
from minifut.ir.traverse import free_names, walk
from minifut.lowering.program import lower_program
from minifut.names import Name
from minifut.passes.layout.costs import CPU, Lanes
from minifut.passes.layout.places import Access
from minifut.passes.layout.plan import _Planner, plan
from tests.opencl.texts import kernel_text
from tests.passes.layout.programs import EXAMPLES, kernels_of, laid_out

TURN = "coalesce_by_transposition"
EXCHANGE = "exchange_kernel_dimensions"
RESULT = "make_result_in_layout"


def manifests(program: Program) -> list[tuple[str, tuple[int, ...]]]:
    """Each by the name of its operand."""
    return [
        (node.array.base, node.permutation)
        for node in walk(program)
        if isinstance(node, Manifest)
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("report", [TURN]),
        ("rows_in_and_out", [TURN, RESULT]),
        ("rows_folded", [TURN]),
        ("columns_folded", []),
        ("sum_with_transpose", [TURN]),
        ("producer_and_consumer", [TURN, RESULT]),
        ("branch", [TURN, RESULT]),
        ("gathered", []),
        ("stencil", []),
        ("three_dimensions", [TURN]),
        ("sums", [TURN, TURN]),
        ("both_transposed", [EXCHANGE]),
    ],
)
def test_what_a_gpu_wants(name: str, wanted: list[str]) -> None:
    assert laid_out(name, "gpu")[1] == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("rows_in_and_out", []),
        ("rows_folded", []),  # lanes read squares, as rounds wait for each other
        ("columns_folded", []),
        ("sum_with_transpose", [TURN]),
        ("producer_and_consumer", [RESULT]),
        ("products_by_columns", []),
        ("steps_of_best_columns", []),
        ("gathered", []),
        ("stencil", []),
        ("pairs_of_columns", []),
        ("small_vectors", []),
        # lanes are columns, so that rows need not be made in columns for them
        ("columns_in_parts", [EXCHANGE, EXCHANGE]),
    ],
)
def test_what_a_cpu_wants(name: str, wanted: list[str]) -> None:
    """Rows are fine where threads make them; lanes want neighbours side by side."""
    assert laid_out(name, "cpu")[1] == wanted


def test_what_a_thread_reads_of_its_result_counts() -> None:
    """The rows of one thread's result lie side by side, as its loops read them."""
    program, _ = laid_out("orthogonal_columns", "cpu")
    assert (0, 2, 1) not in [permutation for _, permutation in manifests(program)]


@pytest.mark.parametrize(
    "name", ["planes_summed", "parts_summed", "spread_of_rows", "rows_added"]
)
def test_rows_that_fold_in_vectors_are_not_copied(name: str) -> None:
    assert manifests(laid_out(name, "cpu")[0]) == []


@pytest.mark.parametrize("name", ["envelopes_of_rows", "falls_from_peaks"])
def test_rows_that_lanes_read_in_squares_are_not_copied(name: str) -> None:
    assert manifests(laid_out(name, "cpu")[0]) == []


@pytest.mark.parametrize(
    "name",
    [
        "largest_of_rows",  # floats are compared one after the other, because of NaN
        "exponentials_summed",  # of calls, only lanes of points are vectors
        "sum_and_recurrence",  # one of two loops waits for the round before
        "short_rows_added",  # 8 elements fill no vector
        "nearest_of_many",  # the copy serves many rounds
    ],
)
def test_other_rows_are_transposed_for_points_in_lanes(name: str) -> None:
    assert TURN in laid_out(name, "cpu")[1]


@pytest.mark.parametrize(
    ("name", "wanted"), [("states_by_weights", [(0, 2, 1)]), ("state_by_weights", [])]
)
def test_a_thread_has_columns_of_a_product_in_lanes(
    name: str, wanted: list[tuple[int, ...]]
) -> None:
    """What each row is multiplied by is transposed, once; with one row nothing is."""
    program = laid_out(name, "cpu")[0]
    in_thread = [loop for loop in nodes_of(SegMap, program) if _is_thread(loop)]
    read = {n for kernel in in_thread for n in free_names(kernel)}
    made = [n for n in nodes_of(Stm, program) if isinstance(n.exp, Manifest)]
    assert [m.exp.permutation for m in made if m.pattern[0].name in read] == wanted


def _is_thread(kernel: SegMap) -> bool:
    return all(size.as_constant == 1 for size in kernel.space.sizes)


def test_nothing_to_gain_leaves_the_very_program() -> None:
    for schedule in stages.SCHEDULES:
        program = kernels_of("columns_folded")
        assert stages.to_schedule(program, schedule) is program


def test_the_smaller_array_is_transposed() -> None:
    """Turning xs and letting j run fastest would move less than turning bias: but then
    the result would have to be turned too."""
    assert manifests(laid_out("report", "gpu")[0]) == [("bias", (1, 2, 0))]


def test_a_result_that_nobody_needs_in_rows_stays_transposed() -> None:
    program, _ = laid_out("producer_and_consumer", "gpu")
    assert manifests(program) == [("a", (1, 0)), ("mapped", (1, 0))]


def test_a_loop_keeps_its_parameter_transposed_and_transposes_operands_before() -> None:
    program, fired = laid_out("loop", "gpu")
    (loop,) = [
        node
        for node in walk(program)
        if isinstance(node, Stm)
        and isinstance(node.exp, Loop)
        and any(isinstance(n, kernels.SegMap) for n in walk(node.exp))
    ]
    assert isinstance(loop.exp, Loop)
    inside = [n for n in walk(loop.exp) if isinstance(n, Manifest)]
    assert [m.permutation for m in inside] == [(1, 0)]
    (version,) = [
        node
        for node in walk(program)
        if isinstance(node, core.Body) and any(s is loop for s in node.statements)
    ]
    assert sum(isinstance(node, Manifest) for node in walk(version)) == 3
    assert fired.count(TURN) == 1


NORMALISED = """
entry main [n] (k: i32) (a: [n][n]f32): [n]f32 =
  loop v = replicate n 1 for _i < k do
    let w = map (\\row -> f32.sum (map2 (*) row v)) a
    let norm = f32.sqrt (f32.sum (map (\\x -> x * x) w))
    in map (/ norm) w
"""


def test_nothing_is_copied_ahead_of_a_loop_for_versions_not_taken_by_default() -> None:
    core_program = stages.to_core(stages.check(Source("test.fut", NORMALISED)))
    program = stages.to_schedule(stages.to_kernels(core_program), "cpu")
    loops = [node for node in walk(program) if isinstance(node, Loop)]
    inside = {id(m) for each in loops for m in walk(each) if isinstance(m, Manifest)}
    every = {id(node) for node in walk(program) if isinstance(node, Manifest)}
    assert every == inside


def test_branches_agree_on_an_order() -> None:
    program, _ = laid_out("branch", "gpu")
    (branch,) = [n for n in walk(program) if isinstance(n, core.If)]
    for body in (branch.then, branch.otherwise):
        last = body.statements[-1].exp
        assert isinstance(last, Manifest) and last.permutation == (1, 0)


def reads(name: str, laid: bool, array: str) -> list[str]:
    """Where the GPU's kernel of a program reads an array."""
    program = laid_out(name, "gpu")[0] if laid else kernels_of(name)
    *_, kernel = lower_program(program, "gpu").kernels
    return re.findall(rf"= {array}\w*\[(.+)\];", kernel_text(kernel))


def test_neighbouring_threads_read_neighbours() -> None:
    """`i` is the thread, `i_1` runs inside it."""
    assert reads("rows_folded", False, "a") == ["i * m + i_1"]
    assert reads("rows_folded", True, "a") == ["i_1 * n + i"]
    assert reads("columns_folded", True, "a") == ["i_1 * m + i"]


@pytest.mark.parametrize("name", sorted(EXAMPLES))
@pytest.mark.parametrize("schedule", stages.SCHEDULES)
def test_the_interpreter_sees_no_difference(name: str, schedule: str) -> None:
    arguments = EXAMPLES[name].arguments(np.random.default_rng(3))
    before = run(kernels_of(name), "main", _copied(arguments))
    after = run(laid_out(name, schedule)[0], "main", _copied(arguments))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def _copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", sorted(EXAMPLES))
@pytest.mark.parametrize("schedule", stages.SCHEDULES)
def test_the_device_agrees(name: str, schedule: str) -> None:
    arguments = EXAMPLES[name].arguments(np.random.default_rng(3))
    expected = run(kernels_of(name), "main", _copied(arguments))
    program = minifut.compile(EXAMPLES[name].text, schedule=schedule)
    found = program.main(*_copied(arguments))
    found = found if isinstance(found, tuple) else (found,)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


@pytest.mark.parametrize(
    "name", ["loop", "branch", "three_dimensions", "planes_summed"]
)
def test_a_cost_is_found_once_for_all_states(name: str) -> None:
    asked: Counter[tuple[object, ...]] = Counter()

    def access(access: Access, fastest: Name, innermost: int, lanes: Lanes) -> float:
        asked[id(access), fastest, innermost, lanes] += 1
        return CPU.access(access, fastest, innermost, lanes)

    program = kernels_of(name)
    machine = replace(CPU, access=access)
    for function in program.functions:
        plan(function, scope_of(program), machine)
    assert asked and set(asked.values()) == {1}


ALTERNATIVES = """
def fold [n] (xs: [n]f32) = loop s = 0 for x in xs do s * 0.5 + f32.sqrt x
entry main [n] (ass: [n][n]f32) (bss: [n][n]f32) =
  loop (xss, yss) = (ass, bss) for _i < 9 do
    let xs = map fold (transpose xss)
    let ys = map fold yss
    in (map2 (\\x row -> map (* x) row) xs xss, map2 (\\y row -> map (+ y) row) ys yss)
"""


@pytest.mark.parametrize("schedule", stages.SCHEDULES)
def test_a_kernel_is_tried_once_for_states_of_other_arrays(
    schedule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def counted(called: Any) -> Any:
        def call(*given: Any) -> Any:
            calls[called.__name__] += 1
            return called(*given)

        return call

    monkeypatch.setattr(_Planner, "kernel", counted(_Planner.kernel))
    monkeypatch.setattr(_Planner, "offered", counted(_Planner.offered))
    core = stages.to_core(stages.check(Source("p.fut", ALTERNATIVES)))
    stages.to_schedule(stages.to_kernels(core), schedule)
    assert 0 < calls["offered"] < calls["kernel"] / 2
