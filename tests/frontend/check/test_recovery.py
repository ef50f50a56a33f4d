"""Several errors in one run."""

from __future__ import annotations

import pytest

from minifut.errors import CompileError

from .checking import check


def lines(text: str, **files: str) -> list[int]:
    """The lines of all errors, in the order they are told."""
    with pytest.raises(CompileError) as caught:
        check(text, **files)
    faults = (caught.value, *caught.value.others)
    return [fault.location.line for fault in faults if fault.location is not None]


def test_independent_declarations_are_all_checked() -> None:
    text = """\
def f (x: i32) = x + true
type t = i23
def g (xs: []i32) = xs with [0] = 1
module m : { val y : i32 } = { def x = 1i32 }
def fine (x: i32) = x
def h (z: i32) = z + "c"
"""
    assert lines(text) == [1, 2, 3, 4, 6]


def test_what_rests_on_a_fault_is_left_out() -> None:
    text = """\
def f (x: i32) = x + true
def g (y: i32) = f y + "a"
def (+.) (x: i32) (y: i32) = g x + true
def h = 1i32 +. 2 + true
module type s = { val x : nothing }
local module m : s = { def x = true }
"""
    assert lines(text) == [1, 5]


def test_definitions_of_one_name_twice_do_not_hide_other_faults() -> None:
    text = "def f = 1i32\ndef f = 2i32\ndef g (x: i32) : bool = x\n"
    assert lines(text) == [2, 3]


def test_nothing_is_said_after_names_got_lost() -> None:
    text = 'def f : i32 = true\nimport "other"\ndef g = h 1i32\n'
    assert lines(text, other="def h (x: i32) = y") == [1, 1]
    assert lines("open nowhere\ndef g = h 1i32\n") == [1]


def test_the_scope_is_as_before_the_fault() -> None:
    text = "module m = { def x = 1i32 def y = z }\ndef g (x: bool) = x && y\n"
    assert lines(text) == [1, 2]


def test_count_and_limit() -> None:
    with pytest.raises(CompileError) as caught:
        check("def a = b\ndef c = d\n")
    assert str(caught.value).endswith("\n\n2 errors")
    assert "2 errors" not in caught.value.text()
    with pytest.raises(CompileError) as caught:
        check("\n".join(f"def a{i} : i32 = true" for i in range(12)))
    told = str(caught.value)
    assert told.count(": error:") == 10
    assert told.endswith("12 errors, the first ones are shown")


def test_defaults_are_reported_where_they_matter() -> None:
    text = """\
def other x = x + 2
def scale a = a * 2
def f = scale 1.5
"""
    with pytest.raises(CompileError) as caught:
        check(text)
    assert "Note: main.fut:2:" in caught.value.message
    assert "Note: main.fut:1:" not in caught.value.message


def test_abstract_types_show_their_module() -> None:
    text = """\
module type shape = { type t val make : i32 -> t val area : t -> i32 }
module a : shape = { type t = i32 def make x = x def area x = x }
module b : shape = a
def f = a.area (b.make 1)
"""
    with pytest.raises(CompileError) as caught:
        check(text)
    assert "Expected: a.t\nActual:   b.t" in caught.value.message
