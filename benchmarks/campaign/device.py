"""The stage on the device: backends, schedules, versions, tile sizes.

Each run begins with memory full of garbage, so that no number that is read before it is
written goes unseen.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from benchmarks.campaign.arguments import LARGE, copies
from benchmarks.campaign.comparison import Disagreement
from benchmarks.campaign.garbage import BYTES, garbage
from benchmarks.campaign.passes import required
from benchmarks.campaign.subject import (
    Subject,
    elaborated,
    parameters_of,
    random_setting,
)
from minifut import loaded_module, stages
from minifut.errors import MinifutError, UsageError
from minifut.ir.core import Program as CoreProgram
from minifut.parameters.versions import versions_of
from minifut.program import Program
from minifut.sequential.load import sequential_program
from tests.random_sources.program import random_program
from tests.random_sources.relations import RELATIONS, related

MOST_VERSIONS = 16
TILE_SETS = 3
UNFIT = re.compile("a kernel needs .* bytes of local memory")


def check_device(seed: int, text: str | None = None) -> Subject:
    """A program, and (without a text) a related one, everywhere. Raises
    `Disagreement`."""
    program = random_program(seed, small=True)
    chance = random.Random(seed)
    subject = Subject(text or str(program), seed, sizes=LARGE)
    if subject.runs:
        kernels = required(stages.to_kernels, subject.core)
        check_sequential(subject)
        for schedule in stages.SCHEDULES:
            check_schedule(subject, kernels, schedule, chance)
        if text is None:
            check_related(subject, chance)
    return subject


def check_sequential(subject: Subject) -> None:
    """The program as one kernel; not all have one."""
    try:
        options = stages.Options(use_tuning=False)
        program = sequential_program(subject.core, options, "program")
    except UsageError:
        return
    except MinifutError as error:
        raise Disagreement(f"sequential: {error}") from None
    run_all(subject, program, "sequential")


def check_schedule(
    subject: Subject, kernels: CoreProgram, schedule: str, chance: random.Random
) -> None:
    """The versions of a schedule, then sets of tile sizes."""
    program = loaded(kernels, schedule)
    run_all(subject, program, schedule)
    settings = []
    for version in versions_of(kernels, "main", MOST_VERSIONS).versions:
        if version.settings:
            name = f"{schedule}, version {version.name}"
            run_all(subject, program, name, version.settings)
            settings.append(version.settings)
    shapes = {
        name: parameter
        for name, parameter in parameters_of(kernels).items()
        if parameter.kind in ("tile_size", "reg_tile_size", "group_size")
        and name in program.tuning
    }
    for _ in range(TILE_SETS if shapes else 0):
        tiles = {name: random_setting(p, chance) for name, p in shapes.items()}
        versions = chance.choice(settings) if settings else {}
        run_all(subject, program, schedule, {**versions, **tiles})


def check_related(subject: Subject, chance: random.Random) -> None:
    """A program that must give the same results, under one of the schedules."""
    wanted = list(RELATIONS)
    chance.shuffle(wanted)
    program = random_program(subject.seed, small=True)
    for name, other in related(program, chance, wanted):
        kernels = required(stages.to_kernels, elaborated(str(other), subject.seed))
        schedule = chance.choice(stages.SCHEDULES)
        try:
            run_all(subject, loaded(kernels, schedule), f"related ({name}), {schedule}")
        except Disagreement as wrong:
            raise Disagreement(f"{wrong}\n{other}") from None
        return


def loaded(kernels: CoreProgram, schedule: str) -> Program:
    """The program, ready to run on the default device."""
    text = required(stages.to_host_module, kernels, schedule)
    return required(loaded_module.load, text)


def run_all(
    subject: Subject,
    program: Program,
    what: str,
    settings: Mapping[str, int] | None = None,
) -> None:
    """All runs of the subject, with parameters set for this time. A version whose tiles
    the device has no room for refuses them, which is right."""
    before = dict(program.tuning)
    if settings:
        what = f"{what}, with {dict(settings)}"
    try:
        program.tuning.update(settings or {})
        entry = program.entry("main")
        for number, (given, expected) in enumerate(subject.runs):
            with garbage(BYTES[number % len(BYTES)]):
                got = entry.call(copies(given))
            subject.judge(expected, got, what)
    except MinifutError as error:
        if isinstance(error, UsageError) and UNFIT.match(str(error)):
            return
        raise Disagreement(f"{what}: {type(error).__name__}: {error}") from None
    finally:
        program.tuning.update(before)
