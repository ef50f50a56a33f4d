"""Loops in which the default parameters have chosen, and those that are left alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import If, Loop, Manifest, Program, Stm
from minifut.ir.interpret import run
from minifut.ir.kernels import GROUP, AtLeast, SegMap
from minifut.ir.parser import names_after
from minifut.ir.traverse import walk
from minifut.parameters.decisions import decisions_of, occurrences
from minifut.passes.layout.unswitch import unswitch
from minifut.passes.pipelines import FULL, run_pipeline
from minifut.rewrite.trace import Trace

STEPS = """
def solve [n] (xs: [n]i64): [n]i64 =
  let ys = scan (+) 0 xs
  let zs = scan i64.max i64.lowest (map (% 7) ys)
  in reverse (map2 (+) ys zs)
entry main [n][m] (k: i64) (a: [n][m]i64): [n][m]i64 =
  loop a for _i < k do
    let b = #[incremental_flattening(no_outer)] map solve a
    let c = #[incremental_flattening(no_outer)] map solve (transpose b)
    in map (map (% 1000)) (transpose c)
"""
"""rows, then columns, time after time: two choices with results of two dimensions"""


def kernels_of(text: str) -> Program:
    source = Source("steps.fut", text)
    return stages.to_kernels(stages.to_core(stages.check(source)))


def outermost_loops(program: Program) -> list[Loop]:
    """Those of the host."""
    found: list[Loop] = []
    waiting = [s for f in program.functions for s in f.body.statements]
    while waiting:
        exp = waiting.pop(0).exp
        if isinstance(exp, Loop):
            found.append(exp)
        elif isinstance(exp, If):
            waiting += [*exp.then.statements, *exp.otherwise.statements]
    return found


def count(kind: type, node: object) -> int:
    return sum(isinstance(inner, kind) for inner in walk(node))


def groups(node: object) -> int:
    found = (n for n in walk(node) if isinstance(n, SegMap))
    return sum(kernel.level == GROUP for kernel in found)


def test_the_usual_way_has_nothing_to_choose_and_the_other_everything() -> None:
    program = kernels_of(STEPS)
    after = unswitch("cpu", program, names_after(program))
    (before,) = outermost_loops(program)
    usual, other = outermost_loops(after)
    assert (count(AtLeast, usual), groups(usual)) == (0, 0)
    assert other is before and groups(other) == 2


def test_the_usual_way_is_laid_out_as_without_versions() -> None:
    program = stages.to_schedule(kernels_of(STEPS), "cpu")
    core = stages.to_core(stages.check(Source("steps.fut", STEPS)))
    plain = run_pipeline(core, names_after(core), steps=FULL)
    (wanted,) = outermost_loops(stages.to_schedule(plain, "cpu"))
    usual, _ = outermost_loops(program)
    assert count(Manifest, usual) == count(Manifest, wanted)
    assert count(Stm, usual) == count(Stm, wanted)


@pytest.mark.parametrize("values", list(product((0, 3, 1 << 62), repeat=3)))
def test_all_ways_give_the_same(values: tuple[int, int, int]) -> None:
    program = kernels_of(STEPS)
    names = {o.parameter.name for o in occurrences(decisions_of(program, "main"))}
    settings = dict(zip(sorted(names), values, strict=True))
    given = (np.int64(3), np.arange(12).reshape(3, 4))
    (wanted,) = run(program, "main", given, settings)
    for schedule in stages.SCHEDULES:
        after = stages.to_schedule(program, schedule)
        (found,) = run(after, "main", given, settings)
        np.testing.assert_array_equal(found, wanted)


def test_what_sizes_decide_stays_as_it_is() -> None:
    """A GPU runs groups where there are threads enough for one."""
    program = kernels_of(STEPS)
    assert unswitch("gpu", program, names_after(program)) is program


def test_a_single_condition_is_known_in_both_copies() -> None:
    text = STEPS.replace("map solve (transpose b)", "map (scan (+) 0) (transpose b)")
    program = kernels_of(text)
    trace = Trace()
    after = unswitch("cpu", program, names_after(program), trace)
    assert trace.fired() == ["unswitch_loop"]
    usual, other = outermost_loops(after)
    assert [count(AtLeast, loop) for loop in (usual, other)] == [0, 0]
    assert [groups(loop) for loop in (usual, other)] == [0, 1]


def test_a_condition_that_changes_in_the_loop_stays() -> None:
    """The rows get longer each time round."""
    text = """
entry main [n] (k: i64) (a: [n]i64): i64 =
  loop s = 0 for i < k do
    let b = #[incremental_flattening(no_outer)]
            map (\\x -> scan (+) 0 (map (% 7) (scan (+) x (iota (i + 1))))) a
    in s + b[0, i]
"""
    program = kernels_of(text)
    assert any(groups(loop) for loop in outermost_loops(program))
    assert unswitch("cpu", program, names_after(program)) is program


def test_results_that_lie_in_one_way_only_are_no_reason() -> None:
    text = """
entry main [n][m] (k: i64) (a: [n][m]i64): [n]i64 =
  loop s = replicate n 0 for i < k do
    #[incremental_flattening(no_outer)]
    map2 (\\x row -> reduce (+) x (map (% 7) (scan (+) i row))) s a
"""
    program = kernels_of(text)
    assert any(groups(loop) for loop in outermost_loops(program))
    assert unswitch("cpu", program, names_after(program)) is program


def test_inner_loops_of_an_unswitched_one_are_not_copied_again() -> None:
    text = STEPS.replace("loop a for", "loop a for _j < 2 do loop a for")
    program = kernels_of(text)
    after = unswitch("cpu", program, names_after(program))
    (before,) = outermost_loops(program)
    usual, other = outermost_loops(after)
    assert count(If, usual) == 0
    assert count(Loop, other) == count(Loop, before)
