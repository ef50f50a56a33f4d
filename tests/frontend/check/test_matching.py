"""Modules are matched with their module types."""

from __future__ import annotations

import pytest

from .checking import check
from .test_errors import refusal

NUMBERS = "module type numbers = { type t val zero: t val add: t -> t -> t }\n"


@pytest.mark.parametrize(
    "module",
    [
        "{ type t = i32 def zero = 0i32 def add (a: t) (b: t) = a + b }",
        "{ type t = [2]f32 def zero: t = [0, 0] def add = map2 (f32.+) }",
        "{ type t = () def zero = () def add 'a (x: a) (_: a) = x }",
        "{ type t = i8 def zero = 1i8 def add = (i8.+) def more = true }",
    ],
)
def test_modules_that_have_the_type(module: str) -> None:
    check(f"{NUMBERS}module m: numbers = {module}\ndef f = m.add m.zero m.zero")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("{ type t = i32 def zero = 0i32 }", "add"),
        ("{ def zero = 0i32 def add (a: i32) (b: i32) = a + b }", "t"),
        ("{ type t = i32 def zero = 0i32 def add (a: t) = a }", "add"),
        ("{ type t = i32 def zero = true def add (a: t) (b: t) = a }", "zero"),
    ],
)
def test_modules_that_have_not(module: str, words: str) -> None:
    fault = refusal(f"{NUMBERS}module m: numbers = {module}")
    assert words in fault.message and fault.location is not None


def test_an_abstract_type_is_opaque_outside() -> None:
    module = "{ type t = i32 def zero = 0i32 def add (a: t) (b: t) = a + b }"
    refusal(f"{NUMBERS}module m: numbers = {module}\ndef f = m.zero + 1i32")
    check(f"{NUMBERS}module m: numbers with t = i32 = {module}\ndef f = m.zero + 1i32")


def test_a_value_may_be_more_general_than_its_specification() -> None:
    check("module m: { val f: i32 -> i32 } = { def f 'a (x: a) = x }")
    refusal("module m: { val f 'a: a -> a } = { def f (x: i32) = x }")


def test_sizes_of_specifications_are_matched() -> None:
    check("module m: { val f [n]: [n]i32 -> [n]i32 } = { def f = map (+ 1i32) }")
    refusal(
        "module m: { val f [n]: [n]i32 -> [n]i32 } = { def f (xs: []i32) = xs[1:] }"
    )
