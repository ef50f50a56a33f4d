"""Random conditions on positions in maps, loops of one thread, folds and rows: the
device gives what the interpreter gives, wherever the bounds are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.interpret import run

HEAD = "entry main [n] (k: i64) (l: i64) (xs: [n]i64): "
NESTS = (
    "[n]i64 = let j = i64.min 1 (n - 1) in tabulate n (\\i -> VALUE)",
    """[n]i64 = loop xs for t < 3 do
         let j = t % i64.max 1 n in tabulate n (\\i -> VALUE)""",
    "[n]i64 = map (\\j -> i64.sum (map (\\i -> VALUE) (iota n))) (iota n)",
    "[n][n]i64 = tabulate_2d n n (\\j i -> VALUE)",
)
INDICES = (
    *("i", "i", "i + k", "i - k", "k - i", "l - i + 1", "i - xs[j]", "i + 2 - l"),
    *("n - 1 - i", "xs[j] - i", "i + k - l", "i ^ 1", "2 * i - k"),
    *("i / 2", "(i + k) / 3", "(i - l) / 4", "n - i / 2"),
    *("i64.u8 (u8.i64 (i + 250))", "i64.i16 (i16.i64 (i + 32760))"),
)
BOUNDS = ("0", "n", "k", "l", "xs[j]", "n - 1", "3", "k + l", "xs[0]")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
FAR = np.iinfo(np.int64)
GIVEN = [(3, 5), (0, 0), (-4, 30), (FAR.min, FAR.max), (FAR.max, FAR.min), (1 << 48, 3)]
GIVEN += [(1 << 48, 1 << 49), (-(1 << 48), -(1 << 49))]


class Generator:
    """Writes programs from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        nest = NESTS[seed % len(NESTS)]
        self.text = HEAD + nest.replace("VALUE", self.value(3))

    def condition(self, depth: int) -> str:
        chance = self.random
        if depth and chance.random() < 0.5:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            both = f"({left} {chance.choice(('&&', '||'))} {right})"
            return both if chance.random() < 0.8 else f"(!{both})"
        sides = [chance.choice(INDICES), chance.choice(BOUNDS)]
        chance.shuffle(sides)
        return f"({sides[0]} {chance.choice(COMPARISONS)} {sides[1]})"

    def value(self, depth: int) -> str:
        chance = self.random
        kind = chance.random()
        if depth and kind < 0.6:
            then, otherwise = self.value(depth - 1), self.value(depth - 1)
            return f"(if {self.condition(2)} then {then} else {otherwise})"
        index = chance.choice(INDICES)
        if kind < 0.8:
            return f"(let q = {index} in if 0 <= q && q < n then xs[q] + 1 else 5)"
        return chance.choice(("xs[i]", f"xs[{index}]", "k", "l * 2", "i - 3"))


def arguments() -> Iterator[list[Any]]:
    for n in (0, 1, 3, 40, 70):
        xs = np.arange(n, dtype=np.int64) * 5 % 23 - 3
        for numbers in (*GIVEN, (1, n - 1), (n, 2)):
            yield [*map(np.int64, numbers), xs]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("seed", range(8))
def test_results_are_those_of_the_interpreter(seed: int) -> None:
    text = Generator(seed).text
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text)
    if seed % 8 > 3:  # the host runs the loop
        for name in list(program.tuning):
            if name.endswith(".host"):
                program.tuning[name] = 0
    for given in arguments():
        try:
            (wanted,) = run(core, "main", given)
        except ProgramError:  # which of several points is found may differ
            with pytest.raises(ProgramError):
                np.asarray(program.main(*given))
        else:
            np.testing.assert_array_equal(program.main(*given), wanted)
