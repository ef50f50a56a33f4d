"""Examples of rules that lower operations of the core, and of decisions.

    before:
        given (n: i64, xs: [n]i32)
        let s: i32 = segred grid (i < n) ..
    after:
        for (long l = 0L; l < 64L; l++) {
        ..
        total = total_1;
    declines: the reason
        given (n: i64, xs: [n]i32)
        let s: i32 = ..

The statements of `before`, as a program of their own, are lowered under the schedule
that the rule is of. The rule must fire, and the texts of the kernels must hold the
parts of `after` in this order, but for white space; `..` is between parts. What the
kernels compute must be what the statements mean.
"""

from __future__ import annotations

import re
from typing import Any

from minifut.ir.core import Body, Program
from minifut.ir.dialect import KERNELS
from minifut.ir.verify import verify
from minifut.lowering.pipelines import to_kernel_code
from minifut.passes.pipeline import PipelineOptions
from minifut.rewrite.rule import Rule
from minifut.rewrite.trace import Step, Trace
from tests.opencl.texts import kernel_text
from tests.rewrite.core_examples import program_of, read
from tests.rewrite.examples import Example

_ELISION = re.compile(r"^\s*\.\.$", re.MULTILINE)


def schedule_of(rule: Rule) -> str:
    """The schedule in whose package a rule is."""
    return "gpu" if ".gpu" in rule.module else "cpu"


def program_of_example(example: Example) -> Program:
    """The statements as a program."""
    statements = read(Example(example.before, None))
    program = program_of(statements, Body(statements.before, statements.results))
    verify(program, KERNELS)
    return program


def complaint(rule: Rule, example: Example) -> str | None:
    """What is wrong with an example; None if it holds."""
    trace = Trace(declined=True)
    lowered = to_kernel_code(
        program_of_example(example), schedule_of(rule), PipelineOptions(trace=trace)
    )
    steps = [step for step in trace.steps if step.rule is rule]
    if example.after is None:
        return _not_refused(steps, example.reason)
    if not any(step.fired for step in steps):
        reasons = [step.reason for step in steps]
        return f"should fire, but refused: {reasons}"
    text = "\n".join(map(kernel_text, lowered.kernels))
    return _missing(text, example.after)


def _not_refused(steps: list[Step], reason: str) -> str | None:
    if any(step.fired for step in steps):
        return f"should decline with {reason!r}, but fired"
    if not any(reason in step.reason for step in steps):
        reasons = [step.reason for step in steps]
        return f"should decline with {reason!r}, but refused: {reasons}"
    return None


def _missing(text: str, parts: str) -> str | None:
    """The first part that does not follow those before it."""
    rest: Any = f" {' '.join(text.split())} "
    for part in _ELISION.split(parts):
        words = " ".join(part.split())
        _, found, rest = rest.partition(f" {words} ")
        if not found:
            return f"there is no\n{part}\nin\n{text}"
        rest = f" {rest}"
    return None
