"""What the test blocks of a program say."""

from __future__ import annotations

import pytest

from minifut.errors import UsageError
from minifut.testing.blocks import (
    FailsWith,
    RandomValues,
    RunSpec,
    ScriptValues,
    ValuesFile,
    ValuesText,
    read_spec,
)

PROGRAM = """-- A description, which does not count.
-- ==
-- tags { slow no_opencl }
-- entry: f g
-- input { [1,
--   2] } output { 3 }
-- "named" nobench compiled input @ data/a.in.gz
-- output @ data/a.out
-- random input { [10]i32 5i64 } auto output
-- script input { g "}" 3 }
-- input { 0 }
-- error: division.*zero
-- structure gpu { SegMap 1 /If 2 }
-- warning: unused
def x = 1
--==
-- == input { not at the start of a line counts here } output { 1 }
  -- ==
"""


def test_a_block_with_everything() -> None:
    spec = read_spec("a.fut", PROGRAM.replace("-- == input {", "--  == input {"))
    assert spec.tags == ("slow", "no_opencl") and spec.compile_error is None
    (block,) = spec.blocks
    assert block.entries == ("f", "g") and block.warnings == ("unused",)
    one, two, three, four, five = block.cases
    assert one.input == ValuesText("[1,\n   2]") and one.output == ValuesText("3")
    assert (one.name, one.line) == ("[1, 2]", 5)
    assert two.name == "named" and two.tags == ("nobench", "compiled")
    assert two.input == ValuesFile("data/a.in.gz")
    assert two.output == ValuesFile("data/a.out")
    assert three.input == RandomValues("[10]i32 5i64") and three.output == "auto"
    assert four.input == ScriptValues('g "}" 3') and four.output == "any"
    assert five.output == FailsWith("division.*zero")


def test_no_block() -> None:
    assert read_spec("a.fut", "--==\n -- ==\ndef x = 1") == RunSpec()


def test_a_compile_error() -> None:
    spec = read_spec("a.fut", "-- ==\n-- error: [Cc]onsum.*\n\ndef x = 1")
    assert spec.compile_error == "[Cc]onsum.*"
    assert read_spec("a.fut", "-- == error:\n").compile_error == ""


def test_several_blocks() -> None:
    text = "-- ==\n-- input {}\n\n-- ==\n-- entry: f\n-- input { 1 }\n-- output { 1 }\n"
    first, second = read_spec("a.fut", text).blocks
    assert first.entries == ("main",) and second.entries == ("f",)
    assert first.cases[0].output == "any"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- ==\n-- input 1", "a.fut:2: in a test block: '{' or '@' was expected"),
        ("-- ==\n-- input { [1", "a.fut:2: in a test block: this '{' is not closed"),
        ("-- ==\n-- inputs { 1 }", "a.fut:2: in a test block: 'inputs { 1 }' was not"),
        ("-- ==\n-- error: a\n-- input { 1 }", "a.fut:3"),
        ("-- ==\n-- error: a\n\n-- ==\n-- input { 1 }", "one block only"),
        ('-- ==\n-- "a" input {}\n-- "a" input {}', "two cases of one block"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_spec("a.fut", text)
    assert message in str(caught.value)
