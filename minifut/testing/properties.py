"""Properties: entry points that must give true for every candidate.

    -- property: reversed_twice
    #[prop(gen(f),shrink(g),size(10))]
    entry reversed_twice (xs: []i32): bool = ...

Candidates come from the generator, called with the size and a random seed, or are made
by their type. The first that gives false is made smaller: by the shrinker, until it
fails to help several times in a row, or else by generating with smaller sizes and the
same seed. All that is random follows from one seed, which a report shows, so that a
failure can be had again with `--seed`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import ProgramError, UsageError
from minifut.frontend.elaborate.entries import signature
from minifut.testing import candidates
from minifut.testing.candidates import parameter_leaves, result_leaves

if TYPE_CHECKING:
    from minifut.frontend.check import CheckedProgram
    from minifut.frontend.types import Type
    from minifut.ir.core import Function
    from minifut.ir.core import Program as CoreProgram
    from minifut.ir.entries import Entry, EntryType
    from minifut.program import Program

CANDIDATES = 100
SIZE = 50
TRIES = 5
"""of the shrinker without success, until it is left alone"""


@dataclass(frozen=True, slots=True)
class Property:
    """What the attribute of an entry point says."""

    name: str
    generator: str | None = None
    shrinker: str | None = None
    size: int = SIZE


_ATTRIBUTE = re.compile(r"prop(?:\((?P<arguments>.*)\))?\Z", re.DOTALL)
_ARGUMENT = re.compile(r"\s*(\w+)\s*(?:\(\s*([\w']+)\s*\))?\s*(?:,|\Z)")


def read_property(name: str, attributes: Sequence[str]) -> Property:
    """The property of an entry point. Raises `UsageError` for a wrong attribute."""
    found = [match for text in attributes if (match := _ATTRIBUTE.match(text))]
    if len(found) != 1:
        what = "no #[prop] attribute" if not found else "more than one #[prop]"
        raise UsageError(f"{name} is declared as a property, but has {what}")
    text = found[0]["arguments"] or ""
    given: dict[str, str] = {}
    at = 0
    while at < len(text):
        argument = _ARGUMENT.match(text, at)
        if argument is None:
            raise UsageError(f"{name}: #[prop({text})] is not understood")
        given[argument[1]] = argument[2] or ""
        at = argument.end()
    for key in given:
        if key not in ("gen", "shrink", "size"):
            raise UsageError(
                f"{name}: #[prop] knows gen(f), shrink(f) and size(N), not '{key}'"
            )
    size = given.get("size", str(SIZE))
    if not size.isdigit():
        raise UsageError(f"{name}: size({size}) is not a number")
    return Property(name, given.get("gen"), given.get("shrink"), int(size))


class Tester:
    """Tests the properties of one loaded program."""

    def __init__(
        self, program: Program, core: CoreProgram, checked: CheckedProgram, seed: int
    ) -> None:
        self.program = program
        self.seed = seed
        self.entries: dict[str, Entry] = {e.name: e for e in core.entries}
        self.functions: dict[Any, Function] = {f.name: f for f in core.functions}
        self.declarations = {d.name: d for d in checked.entries}

    def test(self, name: str) -> str | None:
        """None if no counterexample is found, else the report. Raises `UsageError` if
        the property, its generator or its shrinker are not of the right types."""
        if name not in self.entries:
            raise UsageError(f"declared as a property, but not an entry point: {name}")
        property_ = read_property(name, self.entries[name].attributes)
        return _Run(self, property_).run()

    def leaf_texts(self, name: str) -> tuple[list[list[str]], list[str]]:
        """The element types and ranks of the leaves of each parameter and all results,
        which do not depend on how types are called."""
        entry = self.entries[name]
        function = self.functions[entry.function]
        groups = parameter_leaves(entry, function)
        takes = [[_leaf_text(leaf) for leaf in group] for group in groups]
        return takes, [_leaf_text(leaf) for leaf in result_leaves(entry, function)]


def _leaf_text(leaf: Any) -> str:
    from minifut.ir.types import element_of, shape_of

    return "[]" * len(shape_of(leaf.type)) + str(element_of(leaf.type))


class _Run:
    """One property; a candidate is a list of leaves."""

    def __init__(self, tester: Tester, property_: Property) -> None:
        self.tester = tester
        self.property = property_
        self.random = np.random.default_rng(tester.seed)
        assert tester.program.opaques is not None
        self.opaques = tester.program.opaques
        self.described, self.type = self.validated()

    # --- types ------------------------------------------------------------------------

    def validated(self) -> tuple[EntryType, Type]:
        """What the property takes. Raises `UsageError` if anything does not fit."""
        tester, name = self.tester, self.property.name
        takes, gives = tester.leaf_texts(name)
        if len(takes) != 1:
            count = f"{len(takes)} parameters" if takes else "no parameter"
            raise UsageError(f"property {name} has {count}; one is expected")
        if gives != ["bool"]:
            shown = _results_text(tester.entries[name])
            raise UsageError(f"property {name} must give a bool, not {shown}")
        given = tester.entries[name].parameters[0]
        number, own = ("u64", ["u64"]), (given.text, takes[0])
        generator, shrinker = self.property.generator, self.property.shrinker
        for what, other, parameters in (
            ("generator", generator, [("i64", ["i64"]), number]),
            ("shrinker", shrinker, [own, number]),
        ):
            if other is None:
                continue
            if other not in tester.entries:
                raise UsageError(f"the {what} of {name} is not an entry point: {other}")
            wanted = [leaves for _, leaves in parameters]
            if tester.leaf_texts(other) != (wanted, takes[0]):
                entry = tester.entries[other]
                texts = [p.text for p in entry.parameters] + [_results_text(entry)]
                expected = [text for text, _ in parameters] + [given.text]
                raise UsageError(
                    f'{what} "{other}" for property "{name}" has the wrong type\n'
                    f"expected: {' -> '.join(expected)}\n"
                    f"actual:   {' -> '.join(texts)}"
                )
        types, _ = signature(tester.declarations[name])
        return given, types[0]

    # --- calls ------------------------------------------------------------------------

    def holds(self, candidate: Sequence[Any]) -> bool:
        """Whether the property is true of a candidate."""
        value = self.value(candidate)
        return bool(self.tester.program.entry(self.property.name)(value))

    def value(self, candidate: Sequence[Any]) -> Any:
        """The candidate as an argument. Arrays are copied: they may be consumed."""
        leaves = (leaf.copy() for leaf in candidate)
        return candidates.put_together(self.described, leaves, self.opaques)

    def made_by(self, name: str, *arguments: Any) -> list[Any]:
        """The candidate that an entry point gives."""
        entry = self.tester.entries[name]
        results = self.tester.program.entry(name).call(arguments)
        return candidates.taken_apart(entry.results, results, self.opaques)

    def generated(self, size: int, seed: int) -> list[Any]:
        """A candidate of a size; equal seeds give equal ones."""
        name = self.property.generator
        if name is None:
            seeds = np.random.default_rng(seed)
            return candidates.generate(self.type, size, seeds)
        return self.made_by(name, np.int64(size), np.uint64(seed))

    def next_seed(self) -> int:
        return int(self.random.integers(1 << 64, dtype=np.uint64, endpoint=False))

    # --- the search -------------------------------------------------------------------

    def run(self) -> str | None:
        """Try candidates until one fails."""
        name, size = self.property.name, self.property.size
        for number in range(1, CANDIDATES + 1):
            seed = self.next_seed()
            try:
                candidate = self.generated(size, seed)
            except ProgramError as error:
                return (
                    f"generator {self.property.generator} failed with size={size} and "
                    f"seed={seed} with error: {error}"
                )
            try:
                good = self.holds(candidate)
            except ProgramError as error:
                shown = candidates.show(self.type, candidate)
                return f"property {name} failed with candidate={shown}: {error}"
            if not good:
                smaller, note = self.shrunk(candidate, seed)
                return (
                    f"property {name} (size={size}, seed={self.tester.seed}) failed "
                    f"after {number} tests{note}\n"
                    f"counterexample: {candidates.show(self.type, smaller)}"
                )
        return None

    def shrunk(self, candidate: list[Any], seed: int) -> tuple[list[Any], str]:
        """A smaller counterexample, and what went wrong with the shrinker."""
        if self.property.shrinker is None:
            return self.regenerated(candidate, seed), ""
        tries = 0
        while tries < TRIES:
            number = self.next_seed()
            try:
                smaller = self.made_by(
                    self.property.shrinker, self.value(candidate), np.uint64(number)
                )
                better = not self.holds(smaller)
            except ProgramError as error:
                note = f"shrinker {self.property.shrinker} with random={number}: "
                return self.regenerated(candidate, seed), f"\n{note}{error}"
            if better:
                candidate, tries = smaller, 0
            else:
                tries += 1
        return candidate, ""

    def regenerated(self, candidate: list[Any], seed: int) -> list[Any]:
        """The smallest counterexample that the same seed gives for a smaller size; the
        search ends where the generator or the property fails otherwise."""
        for size in range(self.property.size - 1, 0, -1):
            try:
                smaller = self.generated(size, seed)
                if not self.holds(smaller):
                    candidate = smaller
            except ProgramError:
                break
        return candidate


def _results_text(entry: Entry) -> str:
    texts = [result.text for result in entry.results]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
