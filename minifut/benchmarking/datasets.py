"""Data sets of a program: inputs of its test blocks, or data files.

    for data in data_sets(path, Selection()):
        arguments = data.arguments(program)
        expected = data.expected(oracle)         # None: anything will do

Names are those that `futhark bench` reports: the case's own name, the path of a data
file without `.gz`, the types of random values, and for values in the block their number
and text, as `#0 ("10i64")`. Cases that must fail are no data sets, unless requested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from minifut.errors import UsageError
from minifut.testing import blocks

if TYPE_CHECKING:
    from minifut.program import Program

BENCH = frozenset({"nobench", "disable"})
TUNE = frozenset({"notune", "disable"})

LONGEST_NAME = 50


@dataclass(frozen=True, slots=True)
class Selection:
    """Which data sets are wanted.

    `excluded` are the tags that set a case aside (`BENCH`, `TUNE`, and what the user
    adds; `no_BACKEND` always does), `entries` the only entry points (empty: all).
    `spec_file` holds the blocks instead of the program, without comment marks. `data`
    are data files that take the place of all blocks. `failing` takes cases that must
    fail, too.
    """

    excluded: frozenset[str] = BENCH
    entries: frozenset[str] = frozenset()
    backend: str = "opencl"
    spec_file: Path | None = None
    data: tuple[Path, ...] = ()
    failing: bool = False

    def sets_aside(self, tags: Sequence[str]) -> bool:
        """Whether a case or a program with these tags is not wanted."""
        return not (self.excluded | {f"no_{self.backend}"}).isdisjoint(tags)


class Data(Protocol):
    """Arguments of an entry point, with a name."""

    @property
    def entry(self) -> str: ...
    @property
    def name(self) -> str: ...
    def arguments(self, program: Program) -> list[Any]:
        """The values for the entry point. Raises `UsageError`."""

    def expected(self) -> list[Any] | None:
        """The results, if they are known."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A case of an entry point of the program at the path."""

    path: Path
    entry: str
    name: str
    case: blocks.RunCase

    @property
    def program_name(self) -> str:
        """What results of the entry point are filed under: `prog.fut:entry`."""
        return str(self.path) if self.entry == "main" else f"{self.path}:{self.entry}"

    def arguments(self, program: Program) -> list[Any]:
        """The values for the entry point. Raises `UsageError`."""
        from minifut.testing.judge import case_arguments

        entry = program.entry(self.entry)
        return case_arguments(program, entry, self.case.input, self.path.parent)

    def expected(
        self, oracle: Callable[[DataSet], list[Any] | None] | None = None
    ) -> list[Any] | None:
        """The results as given, or those of the oracle for `auto output`."""
        from minifut.testing.judge import literal_values

        output = self.case.output
        if isinstance(output, blocks.ValuesText | blocks.ValuesFile):
            return literal_values(output, self.path.parent)
        if output == "auto" and oracle is not None:
            return oracle(self)
        return None


def data_sets(path: Path, selection: Selection) -> list[DataSet]:
    """The data sets of a program, in the order of the file."""
    if selection.data:
        entries = sorted(selection.entries) or ["main"]
        return [_of_file(path, e, d) for e in entries for d in selection.data]
    spec = _spec(path, selection)
    if spec.compile_error is not None or selection.sets_aside(spec.tags):
        return []
    found: list[DataSet] = []
    for block in spec.blocks:
        for entry in block.entries:
            if selection.entries and entry not in selection.entries:
                continue
            for number, case in enumerate(block.cases):
                if isinstance(case.output, blocks.FailsWith) and not selection.failing:
                    continue
                if not selection.sets_aside(case.tags):
                    name = case_name(case, number)
                    found.append(DataSet(path, entry, name, case))
    return found


def check_chosen(paths: Iterable[Path], selection: Selection) -> None:
    """Refuse entry points that no block tests."""
    if selection.entries and not selection.data:
        specs = [_spec(path, selection) for path in paths]
        blocks.check_entries(sorted(selection.entries), specs)


def case_name(case: blocks.RunCase, number: int) -> str:
    """What Futhark's tools call the case of that number (from 0) in its block."""
    match case.input:
        case blocks.ValuesText(text) if not case.is_named:
            text = " ".join(text.split())
            if len(text) > LONGEST_NAME:
                text = text[:LONGEST_NAME] + "..."
            return f'#{number} ("{text}")'
        case blocks.RandomValues(text) if not case.is_named:
            return " ".join(text.split())
    return case.name


def _spec(path: Path, selection: Selection) -> blocks.RunSpec:
    from minifut.stages import read_source

    if selection.spec_file is None:
        return blocks.read_spec(str(path), read_source(path).text)
    text = read_source(selection.spec_file).text
    return blocks.read_bare_spec(str(selection.spec_file), text)


def _of_file(path: Path, entry: str, data: Path) -> DataSet:
    if not data.is_file():
        wrong = "is no file" if data.exists() else "there is no such file"
        raise UsageError(f"--data: {data}: {wrong}")
    name = str(data).removesuffix(".gz")
    case = blocks.RunCase(
        name, (), blocks.ValuesFile(str(data.resolve())), "any", 1, True
    )
    return DataSet(path, entry, name, case)
