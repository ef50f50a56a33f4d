"""Passes, and how a list of them is run: run, verify, dump, time, step after step.

A pass is a pure function with a declaration: its name, and the levels that it reads and
writes (a dialect of the core, or kernel code). A pipeline is a list of passes; a pass
listed twice says why in the list. When a step fails, or when what it made does not
verify, the error names the step and shows the program around the fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache
from inspect import signature
from typing import Any, Protocol

from minifut.debug import debugging, report
from minifut.errors import InternalError, MinifutError
from minifut.ir.node import immutable, mutable
from minifut.names import NameSource
from minifut.rewrite.explain import explain
from minifut.rewrite.rule import first_paragraph
from minifut.rewrite.trace import Trace

PassFunction = Callable[..., Any]
"""(program, names), and the trace to fill if the pass has rules"""
DumpFunction = Callable[[str, Any], None]


class ProgramForm(Protocol):
    """What a program consists of at some stage."""

    def verify(self, program: Any, verified: object = None) -> None:
        """Raise an `InternalError` unless the program is well formed. `verified` is one
        before it that was, of which parts may have stayed the same objects."""

    def show(self, program: Any) -> str:
        """The printed program."""


@immutable
class Pass:
    """`function` turns a program of `reads` into one of `writes`, and has a line about
    it as its documentation, unless one is `given`. That of a pass with rules takes a
    third argument, `trace: Trace | None`, for what they do."""

    name: str
    function: PassFunction
    reads: ProgramForm
    writes: ProgramForm
    given: str = ""

    @property
    def summary(self) -> str:
        """One line about it."""
        line = first_paragraph(self.function)
        return self.given or line[:1].lower() + line[1:].rstrip(".")

    @property
    def traced(self) -> bool:
        """Whether the function takes a trace."""
        return _takes_trace(self.function)


@cache
def _takes_trace(function: PassFunction) -> bool:
    return "trace" in signature(function).parameters


@immutable
class Timing:
    """Seconds that one step took, and the check of its result."""

    step: str
    seconds: float
    verifying: float


@mutable
class PipelineOptions:
    """What the runner does besides running.

    `stop_after` is a pass name: the first step of that name is the last one run.
    `on_dump(step, program)` gets the program after each step in `dump_after`, or after
    every step for "all". `timings` fills up if `time` is set, `trace`, if there is one,
    with the rules tried.
    """

    stop_after: str | None = None
    dump_after: frozenset[str] = frozenset()
    on_dump: DumpFunction | None = None
    time: bool = False
    verify: bool = True
    timings: list[Timing] = field(default_factory=list)
    trace: Trace | None = None


def run_steps(
    steps: Sequence[Pass],
    program: Any,
    names: NameSource,
    options: PipelineOptions | None = None,
) -> Any:
    """The program after all steps (or up to `stop_after`).

    Without options only what the last step made is verified, which after each step
    takes a sixth of the time. If that fails, or a step does, the steps are run once
    more, so that the first one whose result does not verify is named.
    """
    if options is None and not debugging("verify"):
        try:
            after = run_steps(steps, program, names, PipelineOptions(verify=False))
            if after is not program:
                check(steps[-1].name, after, steps[-1].writes)
            return after
        except InternalError:
            run_steps(steps, program, names, PipelineOptions())
            raise
    options = options or PipelineOptions()
    verified = None
    for step in steps:
        before = program
        program = run_step(step, program, names, options, verified)
        if options.verify and program is not before:
            verified = program
        if options.on_dump and options.dump_after & {step.name, "all"}:
            options.on_dump(step.name, program)
        if step.name == options.stop_after:
            break
    return program


def run_step(
    step: Pass,
    program: Any,
    names: NameSource,
    options: PipelineOptions,
    verified: object = None,
) -> Any:
    """One step: run it, verify what it made if that is new, note the time."""
    trace = options.trace
    if trace is None and step.traced and debugging("rules"):
        trace = Trace(declined=True)
    start = time.perf_counter()
    try:
        if step.traced and trace is not None:
            trace.stage = step.name
            after = step.function(program, names, trace)
        else:
            after = step.function(program, names)
    except MinifutError as error:
        if isinstance(error, InternalError):
            error.stage = f"pass {step.name} ({error.stage})"
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise InternalError(f"pass {step.name}", message) from error
    middle = time.perf_counter()
    if options.verify and after is not program:
        check(step.name, after, step.writes, verified)
    timing = Timing(step.name, middle - start, time.perf_counter() - middle)
    if options.time:
        options.timings.append(timing)
    if debugging("passes"):
        report_pass(timing, step.writes.show(after))
    if trace is not None and trace is not options.trace and trace.steps:
        report(explain(trace))
    return after


def report_pass(timing: Timing, text: str) -> None:
    """One line about a pass that ran, and the program that it left."""
    seconds, verifying = timing.seconds * 1e3, timing.verifying * 1e3
    lines = text.count("\n") + 1
    report(
        f"pass {timing.step}: {seconds:.1f} ms (verify {verifying:.1f} ms), "
        f"{lines} lines of IR"
    )


def check(step: str, program: Any, level: ProgramForm, verified: object = None) -> None:
    """Verify a program; a fault becomes an error that names the step before it."""
    try:
        level.verify(program, verified)
    except InternalError as error:
        error.stage = f"pass {step} ({error.stage})"
        raise
