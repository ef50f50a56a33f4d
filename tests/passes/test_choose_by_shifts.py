"""Choices between integer constants give what the cases say, for every number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.ir.core import If, Match
from minifut.ir.traverse import walk
from minifut.passes.pipelines import DEFAULT, find_pass
from tests.passes.test_versions import compiled

CHOSEN = DEFAULT[: DEFAULT.index(find_pass("choose-by-shifts")) + 1]
CHOICES = {
    "bases": (
        "u8",
        "i64",
        "match x case 'A' -> 0 case 'C' -> 1 case 'G' -> 2 case _ -> 3",
    ),
    "below zero": (
        "i8",
        "i32",
        "match x case -3 -> -7 case 2 -> 8 case 0 -> 4 case _ -> -1",
    ),
    "the least number": (
        "i64",
        "u8",
        "match x case -9223372036854775808i64 -> 9 case "
        "-9223372036854775806 -> 1 case _ -> 200",
    ),
    "the greatest number": (
        "u64",
        "i16",
        "match x case 18446744073709551615 -> 1 case "
        "18446744073709551612 -> 2 case _ -> 3",
    ),
    "truth values": (
        "i16",
        "bool",
        "match x case 5 -> true case 7 -> true case _ -> false",
    ),
    "the same twice": (
        "i32",
        "bool",
        "match x case 5 -> true case 7 -> true case _ -> true",
    ),
    "of a shadowed case": (
        "u8",
        "u8",
        "match x case 5 -> 1 case 5 -> 2 case 6 -> 3 case _ -> 0",
    ),
    "comparisons": (
        "u16",
        "u64",
        "if x == 3 then 10 else if 4 == x then 11 else if x == 9 then 12 else 13",
    ),
    "the same compared twice": (
        "i32",
        "i8",
        "if x == 3 then 0 else if x == 3 then 1 else if x == 5 then 2 else 3",
    ),
}
STAYING = {
    "numbers": ("u8", "f32", "match x case 5 -> 0.5 case 7 -> 1.5 case _ -> 2"),
    "one case": ("u8", "i32", "match x case 5 -> 1 case _ -> 0"),
    "cases that are far apart": (
        "i32",
        "i32",
        "match x case 5 -> 1 case 99 -> 2 case _ -> 0",
    ),
    "comparisons of two numbers": (
        "i32",
        "i32",
        "if x == 1 then 0 else if x * x == 9 then 1 else 2",
    ),
}


def source_of(choice: tuple[str, str, str]) -> str:
    taken, given, body = choice
    return f"def main [n] (xs: [n]{taken}): [n]{given} = map (\\x -> {body}) xs"


def branches(choice: tuple[str, str, str]) -> int:
    _, program = compiled(source_of(choice), CHOSEN)
    return sum(isinstance(node, If | Match) for node in walk(program))


@pytest.mark.parametrize("name", CHOICES)
def test_no_branch_is_left(name: str) -> None:
    assert branches(CHOICES[name]) == 0


@pytest.mark.parametrize("name", STAYING)
def test_what_is_no_choice_of_integers_stays(name: str) -> None:
    assert branches(STAYING[name]) > 0


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", CHOICES)
def test_results_are_those_of_the_cases(name: str, schedule: Any) -> None:
    source, kind = source_of(CHOICES[name]), CHOICES[name][0]
    limits = np.iinfo({"u": "uint", "i": "int"}[kind[0]] + kind[1:])
    near = [limits.min + k for k in range(70)] + [limits.max - k for k in range(70)]
    middle = [k for k in range(-70, 200) if limits.min <= k <= limits.max]
    xs = np.array(near + middle, limits.dtype)
    wanted = minifut.compile(source, backend="interpreter").main(xs)
    assert np.array_equal(minifut.compile(source, schedule=schedule).main(xs), wanted)


@pytest.mark.device
def test_variants_choose_variants() -> None:
    source = """
      type t = #a | #b | #c i64 | #d
      def turn (x: t): (t, i32) =
        match x case #a -> (#b, 3) case #b -> (#d, -3) case #c _ -> (#a, 0) case #d -> (#b, 5)
      def main (xs: []i64): []i32 =
        map (\\x -> let t = if x == 0 then #a else if x == 1 then #b else if x == 2 then #d
                           else #c x
                   let (u, k) = turn t
                   in k * (match u case #a -> 1 case #b -> 10 case #c y -> i32.i64 y case #d -> 100))
            xs"""
    xs = np.arange(6)
    wanted = minifut.compile(source, backend="interpreter").main(xs)
    assert np.array_equal(minifut.compile(source).main(xs), wanted)
