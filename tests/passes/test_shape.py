"""What the pipeline makes of small programs: which kernels, and how many."""

from __future__ import annotations

from collections import Counter

import pytest

from minifut.ir import core, kernels
from minifut.ir.parser import names_after, parse_program
from minifut.ir.printer import show
from minifut.ir.traverse import walk
from minifut.passes.pipeline import Pass
from minifut.passes.pipelines import FULL, MODERATE, run_pipeline
from tests.passes.programs import EXAMPLES

KERNELS = (kernels.SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


def final(name: str, steps: tuple[Pass, ...] = MODERATE) -> core.Program:
    program = parse_program(EXAMPLES[name].text())
    return run_pipeline(program, names_after(program), steps=steps)


def kernels_of(program: core.Program) -> list[str]:
    """Each kernel with its sizes, in order."""
    return [
        f"{type(node).__name__}({', '.join(map(show, node.space.sizes))})"
        for node in walk(program)
        if isinstance(node, KERNELS)
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("saxpy", ["SegMap(n)"]),
        ("dot", ["SegRed(n)"]),
        ("matmul", ["SegRed(n, p, m)"]),
        ("column_sums", ["SegRed(m, n)", "SegScan(m, n)"]),
        ("column_sums_of_unknown_neutral", ["SegMap(m)"]),
        ("reduce_by_composition", ["SegRed(n)"]),
        (
            "row_scans_and_histograms",
            ["SegScan(n, m)", "SegHist(n, m)", "SegHist(m * n)"],
        ),
        ("scatter", ["SegMap(n)", "SegMap(n, m)"]),
        ("irregular", ["SegMap(n)"]),
        ("imperfect", ["SegMap(n)"]),
        # the second one only checks, and runs only if m is 0
        ("checked", ["SegMap(n)", "SegMap(n, m)"]),
        ("several_consumers", ["SegRed(n)", "SegMap(n)"]),
        ("transposed_rows", ["SegMap(m, n)"]),
    ],
)
def test_kernels(name: str, wanted: list[str]) -> None:
    assert kernels_of(final(name)) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("matmul", ["SegRed(n, p, m)"]),
        ("irregular", ["SegMap(n)"]),
        ("imperfect", ["SegRed(n, m)", "SegMap(n, m)"]),
    ],
)
def test_kernels_of_full_flattening(name: str, wanted: list[str]) -> None:
    assert kernels_of(final(name, FULL)) == wanted


def test_matmul_reads_each_array_by_one_index() -> None:
    counts = Counter(type(node) for node in walk(final("matmul")))
    assert counts[core.Index] == 2
    assert counts[core.Rearrange] == 0


def test_a_sequential_map_of_a_reduction_makes_no_array() -> None:
    counts = Counter(type(node) for node in walk(final("irregular")))
    assert counts[core.Loop] == 1
    assert counts[core.Scratch] == counts[core.Iota] == 0


def test_loops_that_were_reductions_say_so() -> None:
    program = final("irregular")
    attributes = [
        node.attributes
        for node in walk(program)
        if isinstance(node, core.Stm) and isinstance(node.exp, core.Loop)
    ]
    assert attributes == [("reduction",)]


def test_a_check_that_is_the_same_for_all_stands_on_the_host() -> None:
    function = final("checked").functions[0]
    outside = [
        s.exp for s in function.body.statements if isinstance(s.exp, core.Assert)
    ]
    assert len(outside) == 1


def test_running_the_pipeline_twice_gives_the_same_text() -> None:
    assert show(final("matmul")) == show(final("matmul"))
