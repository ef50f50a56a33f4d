"""Scans of which only the end is read become reductions, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Program
from minifut.ir.parser import names_after
from minifut.ir.soacs import Scan
from minifut.ir.traverse import walk
from minifut.passes.pipelines import DEFAULT, FOLD_SCANS
from tests.passes.meaning import assert_same, outcome

FOLDED = {
    "the last element": "last (scan (+) 0 xs)",
    "if there is one": "let s = scan (+) 0 xs in if n == 0 then 0 else s[n - 1]",
    "twice": "let s = scan (+) 0 xs in s[n - 1] * last s",
    "of pairs": """let (a, b) = unzip (scan (\\(a, b) (c, d) -> (a + c, i64.max b d))
        (0, i64.lowest) (zip xs (map (* 2) xs))) in last a - last b""",
    "of rows": """i64.sum (map (\\i -> last (scan (+) 0 (map (* i) xs))) (iota n))""",
    "in a loop": "loop s = 0 for i < 3 do s + last (scan i64.max i64.lowest (map (* i) xs))",
}
KEPT = {
    "another element": "let s = scan (+) 0 xs in s[n - 1] + s[n - 2]",
    "all elements": "let s = scan (+) 0 xs in i64.sum (map (* s[n - 1]) s)",
    "an end that varies": "i64.sum (map (\\i -> (scan (+) 0 xs)[i]) (iota n))",
}


def before_and_after(text: str) -> tuple[Program, Program]:
    head = "entry main [n] (xs: [n]i64): i64 = "
    program = stages.to_core(stages.check(Source("program.fut", head + text)))
    names = names_after(program)
    for step in DEFAULT[: DEFAULT.index(FOLD_SCANS)]:
        program = step.function(program, names)
    return program, FOLD_SCANS.function(program, names)


@pytest.mark.parametrize("text", FOLDED.values(), ids=FOLDED)
def test_scans_become_reductions(text: str) -> None:
    before, after = before_and_after(text)
    assert not any(isinstance(node, Scan) for node in walk(after))
    for n in (1, 7):
        arguments = [np.random.default_rng(n).integers(-9, 9, n)]
        assert_same(outcome(before, arguments), outcome(after, arguments), text)


def test_of_several_scans_one_is_reduced() -> None:
    _, after = before_and_after("""
        let (a, b, c) = unzip3 (map (\\x -> (x, x * x, 3 * x)) xs)
        let (s, t, u) = (scan (+) 0 a, scan (+) 1 b, scan (*) 1 c)
        in i64.sum s + last t + i64.sum u""")
    assert len([node for node in walk(after) if isinstance(node, Scan)]) == 2


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_is_read_elsewhere_is_stored(text: str) -> None:
    before, after = before_and_after(text)
    assert after is before
