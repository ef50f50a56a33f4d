"""The stage without a device: each pass in the interpreter, and C."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.campaign.comparison import Disagreement
from benchmarks.campaign.subject import Subject, elaborated
from minifut import stages
from minifut.errors import InternalError, MinifutError
from minifut.ir.core import Program
from minifut.opencl.module import text_of
from minifut.passes.pipeline import PipelineOptions
from tests.random_sources.program import random_program
from tests.random_sources.relations import RELATIONS, related


def check_passes(seed: int, text: str | None = None) -> Subject:
    """A program and (without a text) a related one. Raises `Disagreement`."""
    if text is not None:
        return check_text(text, seed)
    program = random_program(seed)
    subject = check_text(str(program), seed)
    chance = random.Random(seed)
    wanted = list(RELATIONS)
    chance.shuffle(wanted)
    for name, other in related(program, chance, wanted):
        check_related(str(other), subject, name)
        break
    return subject


def check_text(text: str, seed: int) -> Subject:
    """The program after each pass."""
    subject = Subject(text, seed)
    chance = random.Random(seed)
    if not subject.runs:
        return subject
    known: list[Any] = [subject.core]

    def interpret(step: str, program: Any) -> None:
        if program is not known[0] and isinstance(program, Program):
            known[0] = program
            subject.interpret(program, f"after {step}", chance)

    options = PipelineOptions(dump_after=frozenset({"all"}), on_dump=interpret)
    kernels = required(stages.to_kernels, subject.core, options)
    for schedule in stages.SCHEDULES:
        known[0] = kernels
        laid_out = required(stages.to_schedule, kernels, schedule, options)
        lowered = required(stages.to_kernel_code, laid_out, schedule)
        required(text_of, lowered, "program")
    return subject


def check_related(text: str, subject: Subject, relation: str) -> None:
    """A program that must give the same results, as elaborated and as kernels."""
    chance = random.Random(subject.seed)
    core = elaborated(text, subject.seed)
    if not subject.runs:
        return
    what = f"the related program ({relation})"
    try:
        plain = stages.without_derivatives(core)
        subject.interpret(plain, what, chance)
        kernels = required(stages.to_kernels, core)
        subject.interpret(kernels, f"{what}, as kernels", chance)
    except Disagreement as wrong:
        raise Disagreement(f"{wrong}\n{text}") from None


def required(run: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a stage that must not fail."""
    try:
        return run(*arguments)
    except Disagreement:
        raise
    except InternalError as error:
        raise Disagreement(f"internal error: {error}") from None
    except MinifutError as error:
        raise Disagreement(f"{type(error).__name__}: {error}") from None
