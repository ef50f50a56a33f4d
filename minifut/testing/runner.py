"""Run the test blocks of programs: each is compiled once and all its cases are run.

A failure of one program, even inside minifut, never keeps others from running.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minifut import compiler, loaded_module, stages
from minifut.errors import CompileError, InternalError, MinifutError, UsageError
from minifut.testing.blocks import (
    FailsWith,
    RunCase,
    RunSpec,
    TestBlock,
    ValuesFile,
    ValuesText,
    check_entries,
    read_spec,
)
from minifut.testing.judge import (
    case_arguments,
    judge_failure,
    judge_message,
    judge_values,
    literal_values,
    located_text,
)
from minifut.testing.oracle import Oracle
from minifut.testing.time_limit import REPEATED_AFTER, TimeLimit, time_limit

if TYPE_CHECKING:
    from minifut.frontend.check import CheckedProgram
    from minifut.ir.core import Program as CoreProgram
    from minifut.program import EntryPoint, Program

MOST_LINES = 30
"""of a message"""
SET_ASIDE = frozenset({"disable", "notest"})


@dataclass(frozen=True, slots=True)
class TestOptions:
    """What to test on, which entry points (none: all), and how long it may take to
    compile a program, to run a case, and to test a property."""

    __test__ = False

    compile: stages.Options = field(default_factory=stages.Options)
    entries: frozenset[str] = frozenset()
    seconds: float | None = None
    excluded: frozenset[str] = frozenset()
    """tags of cases and programs that are not to be run"""
    seed: int = 0
    """what the random values of properties follow from"""
    compile_only: bool = False

    def sets_aside(self, tags: Iterable[str]) -> bool:
        """Whether the tags say that this backend is not to be tested."""
        unwanted = SET_ASIDE | self.excluded | {f"no_{self.compile.backend}"}
        if self.compile.backend == "interpreter":
            unwanted |= {"compiled"}
        return not unwanted.isdisjoint(tags)


@dataclass(slots=True)
class Report:
    """The outcome for one program."""

    path: Path
    failures: list[str] = field(default_factory=list)
    runs: int = 0
    is_set_aside: bool = False
    is_stuck: bool = False
    """a kernel goes on and keeps the device busy"""
    seconds: float = 0.0


def find_programs(paths: Iterable[Path]) -> list[Path]:
    """The programs named, and those in the folders named, in order."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*.fut") if p.is_file())
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"{path}: there is no such file or folder")
    return found


def check_tested(paths: Iterable[Path], options: TestOptions) -> None:
    """Refuse entry points that no program has tests of."""
    if not options.entries:
        return
    specs = []
    for path in paths:
        # Errors in a program are reported when its tests run.
        with suppress(MinifutError):
            specs.append(read_spec(str(path), stages.read_source(path).text))
    check_entries(sorted(options.entries), specs)


def run_program(path: Path, options: TestOptions) -> Report:
    """Test one program."""
    report = Report(path)
    start = time.perf_counter()
    try:
        _Run(path, options, report).run()
    except TimeLimit:
        report.failures.append(f"took more than {options.seconds:g} s to compile")
    except InternalError as error:
        report.failures.append(_shorten(str(error)))
    except (MinifutError, MemoryError) as error:
        report.failures.append(_shorten(str(error) or "out of memory"))
    except Exception as error:
        report.failures.append(f"internal error: {_trace(error)}")
    report.seconds = time.perf_counter() - start
    return report


class _Run:
    """One program with what is known about it while its tests run."""

    def __init__(self, path: Path, options: TestOptions, report: Report) -> None:
        self.path = path
        self.options = options
        self.report = report
        self.source = stages.read_source(path)
        self.spec = RunSpec()
        self.core: CoreProgram | None = None
        self.oracle: Oracle | None = None
        self.tuned = compiler.tuned_values(path, options.compile)
        self.parameters = {**self.tuned, **options.compile.parameters}

    def run(self) -> None:
        self.spec = read_spec(str(self.path), self.source.text)
        if self.options.sets_aside(self.spec.tags):
            self.report.is_set_aside = True
        elif self.spec.compile_error is not None:
            self.run_rejected(self.spec.compile_error)
        else:
            self.run_blocks()

    def run_rejected(self, regex: str) -> None:
        """The program must be refused, with the right words."""
        try:
            self.compile(wanted=False)
        except CompileError as error:
            self.fail(judge_message(located_text(error), regex, "a compile error"))
        else:
            self.fail("compiled, though it must be rejected")

    def compile(self, wanted: bool) -> tuple[CheckedProgram, Program | None]:
        """All stages; the program is loaded only if something will be run."""
        with time_limit(self.options.seconds, REPEATED_AFTER):
            return self.compile_and_load(wanted)

    def compile_and_load(self, wanted: bool) -> tuple[CheckedProgram, Program | None]:
        checked = stages.check(self.source)
        self.core = stages.to_core(checked)
        options = self.options.compile
        if options.backend == "interpreter":
            return checked, self.interpreted() if wanted else None
        if options.backend == "sequential":
            return checked, self.sequential_or_interpreted() if wanted else None
        schedule = options.schedule or compiler.device_kind(options.device)
        kernels = stages.to_kernels(self.core)
        module = stages.to_host_module(kernels, schedule, self.path.stem)
        if not wanted:
            return checked, None
        return checked, loaded_module.load(
            module,
            options.device,
            options.parameters,
            all_known=False,
            tuned=self.tuned,
            max_memory=options.max_memory,
        )

    def interpreted(self, steps: int | None = None) -> Program:
        from minifut.interpreted import interpreted_program

        assert self.core is not None
        return interpreted_program(self.core, self.parameters, steps)

    def sequential(self) -> Program:
        from minifut.sequential.load import sequential_program

        assert self.core is not None
        options = self.options.compile
        return sequential_program(self.core, options, self.path.stem, self.tuned)

    def sequential_or_interpreted(self) -> Program:
        from minifut.sequential.lower import NotSequential

        try:
            return self.sequential()
        except NotSequential:
            return self.interpreted()

    def run_blocks(self) -> None:
        blocks = [] if self.options.compile_only else self.spec.blocks
        wanted = any(block.cases or block.properties for block in blocks)
        checked, program = self.compile(wanted)
        said = "\n".join(str(warning) for warning in checked.warnings)
        for block in self.spec.blocks:
            for regex in block.warnings:
                self.fail(judge_message(said, regex, "a warning"))
            if program is not None:
                self.run_block(program, block)
                self.run_properties(program, checked, block)

    def run_block(self, program: Program, block: TestBlock) -> None:
        chosen = self.options.entries
        for name in block.entries:
            if chosen and name not in chosen:
                continue
            for case in block.cases:
                if self.report.is_stuck:
                    return
                if not self.options.sets_aside(case.tags):
                    self.report.runs += 1
                    self.run_case(program, name, case)

    def run_properties(
        self, program: Program, checked: CheckedProgram, block: TestBlock
    ) -> None:
        """The properties of a block."""
        if not block.properties:
            return
        from minifut.testing.properties import Tester

        assert self.core is not None
        tester = Tester(program, self.core, checked, self.options.seed)
        for name in block.properties:
            if self.report.is_stuck:
                return
            if not self.options.entries or name in self.options.entries:
                self.report.runs += 1
                self.fail(self.caught(partial(tester.test, name), f"{name} "))

    def run_case(self, program: Program, name: str, case: RunCase) -> None:
        """One case of one entry point; a failure is noted and the others go on."""

        def judged() -> str | None:
            entry = program.entry(name)
            return self.judge(entry, self.arguments(program, entry, case), case)

        wrong = self.caught(judged)
        where = f"{name}, {case.name!r} (line {case.line})"
        self.fail(wrong and f"{where}: {_shorten(wrong)}")

    def arguments(
        self, program: Program, entry: EntryPoint, case: RunCase
    ) -> list[Any]:
        return case_arguments(program, entry, case.input, self.path.parent)

    def judge(
        self, entry: EntryPoint, arguments: list[Any], case: RunCase
    ) -> str | None:
        """Run and compare."""
        if isinstance(case.output, FailsWith):
            return judge_failure(entry, arguments, case.output.regex)
        expected = None
        if isinstance(case.output, ValuesText | ValuesFile):
            expected = literal_values(case.output, self.path.parent)
        elif case.output == "auto":
            expected = self.expected_by_oracle(entry.name, case)
        got = entry.call(arguments)
        return None if expected is None else judge_values(got, expected)

    def expected_by_oracle(self, name: str, case: RunCase) -> list[Any] | None:
        """What another way of running the program gives for the same input."""
        if self.oracle is None:
            itself = self.options.compile.backend == "sequential"
            other = None if itself else self.sequential
            self.oracle = Oracle(self.core, self.interpreted, other, self.parameters)

        def arguments(program: Program, entry: EntryPoint) -> list[Any]:
            return self.arguments(program, entry, case)

        return self.oracle.expected(name, case, self.path.parent, arguments)

    def caught(self, judge: Callable[[], str | None], what: str = "") -> str | None:
        """What a judgement says, or what kept it from being made; `what` took too long
        if it did."""
        try:
            with time_limit(self.options.seconds, REPEATED_AFTER):
                return judge()
        except TimeLimit as limit:
            self.report.is_stuck = limit.is_stuck
            return f"{what}took more than {self.options.seconds:g} s"
        except InternalError as error:
            return str(error)
        except (MinifutError, MemoryError) as error:
            return str(error) or "out of memory"
        except Exception as error:
            return f"internal error: {_trace(error)}"

    def fail(self, message: str | None) -> None:
        if message:
            self.report.failures.append(message)


def _trace(error: Exception) -> str:
    last = traceback.format_exception(error)[-4:]
    return "".join(last).strip()


def _shorten(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= MOST_LINES:
        return text
    left = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], f"... ({left} more lines)"])
