"""The examples in the docstrings of rules that lower operations of the core, and what
makes them hold.

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
parts of `after` in this order, but for white space; `..` stands between parts. What the
kernels compute must be what the statements mean.
"""

from __future__ import annotations

import re
from typing import Any

from minifut.ir.core import Body, Program
from minifut.ir.dialect import KERNELS
from minifut.ir.verify import verify
from minifut.kernel_code.pipelines import to_kernel_code
from minifut.kernel_passes.rule import CodeRule
from minifut.opencl.kernel_texts import kernel_text
from minifut.passes.pipeline import PipelineOptions
from minifut.rewrite.examples import Example, blocks_of, examples_of, program_of
from minifut.rewrite.trace import Step, Trace

_ELISION = re.compile(r"^\s*\.\.$", re.MULTILINE)


def schedule_of(rule: CodeRule) -> str:
    """The schedule in whose room a rule is."""
    return "gpu" if ".gpu." in rule.function.__module__ else "cpu"


def lowering_examples(documentation: str) -> list[tuple[Example, str | None]]:
    """The examples of a docstring, in order: the statements, and the parts of kernels
    that `after` shows; None where the rule must refuse."""
    found: list[tuple[Example, str | None]] = []
    blocks = blocks_of(documentation)
    for position, (head, text) in enumerate(blocks):
        if head == "before:":
            below, parts = blocks[position + 1]
            if below != "after:":
                raise ValueError("a before: without its after:")
            # For the parser of examples it is one of statements that stay as they are.
            (example,) = examples_of(f"\nbefore:\n{text}\nafter:\n{text}\n")
            found.append((example, parts))
        elif head.startswith("declines:"):
            (example,) = examples_of(f"\n{head}\n{text}\n")
            found.append((example, None))
    return found


def program_of_example(example: Example) -> Program:
    """The statements as a program."""
    program = program_of(example, Body(example.before, example.results))
    verify(program, KERNELS)
    return program


def complaint(rule: CodeRule, example: Example, parts: str | None) -> str | None:
    """What is wrong with an example; None if it holds."""
    trace = Trace(refusals=True)
    lowered = to_kernel_code(
        program_of_example(example), schedule_of(rule), PipelineOptions(trace=trace)
    )
    steps = [step for step in trace.steps if step.rule is rule]
    if parts is None:
        return _not_refused(steps, example.reason)
    if not any(step.fired for step in steps):
        reasons = [step.reason for step in steps]
        return f"should fire, but refused: {reasons}"
    text = "\n".join(map(kernel_text, lowered.kernels))
    return _missing(text, parts)


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
