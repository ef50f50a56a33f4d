"""The worked example of "Regular flattening", (a) to (h): its kernels, and the steps."""

from __future__ import annotations

from pathlib import Path

from minifut import stages
from minifut.errors import Source
from minifut.ir import kernels
from minifut.ir.alpha import alpha_equal
from minifut.ir.core import Loop, Program
from minifut.ir.parser import names_after, parse_program
from minifut.ir.printer import show
from minifut.ir.traverse import walk
from minifut.passes.pipelines import FULL, PipelineOptions, run_pipeline
from minifut.rewrite.trace import Trace

SOURCE = Path(__file__).parents[2] / "programs" / "nested_loop.fut"
GOLDEN = Path(__file__).parent / "printed" / "worked_example.ir"

SEGMENTED = (kernels.SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


def flattened(trace: Trace | None = None) -> Program:
    source = Source(SOURCE.name, SOURCE.read_text())
    core = stages.to_core(stages.check(source))
    options = PipelineOptions(stop_after="simplify-kernels", trace=trace)
    return run_pipeline(core, names_after(core), steps=FULL, options=options)


def spaces(node: object) -> list[tuple[str, int]]:
    """The kernels in order, each with the number of its dimensions, all of size m."""
    found = []
    for inner in walk(node):
        if isinstance(inner, SEGMENTED):
            assert {show(size) for size in inner.space.sizes} == {"m"}
            found.append((type(inner).__name__, len(inner.space.sizes)))
    return found


def test_it_becomes_the_printed_program() -> None:
    assert alpha_equal(flattened(), parse_program(GOLDEN.read_text()))


def test_it_becomes_four_kernels_two_of_them_in_the_loop() -> None:
    program = flattened()
    assert spaces(program) == [
        ("SegMap", 2),
        ("SegMap", 3),
        ("SegRed", 3),
        ("SegMap", 2),
    ]
    (loop,) = [
        node
        for function in program.functions
        for statement in function.body.statements
        if isinstance(node := statement.exp, Loop)
    ]
    assert spaces(loop) == [("SegRed", 3), ("SegMap", 2)]


def test_the_steps_are_those_of_the_talk() -> None:
    trace = Trace(declined=True)
    flattened(trace)
    steps = [step for step in trace.steps if step.stage == "flatten-fully"]
    fired = [step.rule.name for step in steps if step.fired]
    assert [name for name in fired if name != "choose_versions"] == [
        # (b) the outer map is distributed over its two statements
        "distribute_map_over_let",
        # (f) the inner map over its statements
        "distribute_map_over_let",
        "run_map_in_threads",
        # (c) the second goes into the loop
        "interchange_map_with_loop",
        # (e) where the reduction is distributed
        "distribute_map_over_let",
        "flatten_reduce",
    ]


def test_what_is_irregular_is_refused() -> None:
    """(g) and (h): the scan's width differs between points."""
    kernel, *_ = [node for node in walk(flattened()) if isinstance(node, SEGMENTED)]
    inside = [type(node).__name__ for node in walk(kernel.body)]
    assert inside.count("Screma") == 2
