"""Kernel texts that depend on tile sizes."""

from __future__ import annotations

from minifut.opencl.runtime.templates import expanded

TEXT = """\
head
$for i < ROWS
  $for j < ROWS // 2
    x_${i}_${j} = ${i} + ROWS;
  $end
  row(${i});
$end
$if ROWS % 2 == 0
even
$else
  $if ROWS > 2
  large
  $end
odd
$end
tail"""


def lines(rows: int) -> list[str]:
    return [line.strip() for line in expanded(TEXT, {"ROWS": rows}).split("\n")]


def test_copies_are_made_for_each_index() -> None:
    assert lines(2) == [
        "head",
        "x_0_0 = 0 + ROWS;",
        "row(0);",
        "x_1_0 = 1 + ROWS;",
        "row(1);",
        "even",
        "tail",
    ]


def test_a_count_may_be_zero_and_choices_nest() -> None:
    assert lines(1) == ["head", "row(0);", "odd", "tail"]
    assert lines(3)[-3:] == ["large", "odd", "tail"]


def test_numbers_are_computed_from_indices() -> None:
    text = "$for i < 2\nlow_$[2 * ${i} + 1]\n$end"
    assert expanded(text, {}).split("\n") == ["low_1", "low_3"]


def test_plain_text_stays_as_it_is() -> None:
    assert expanded("a\n  b", {}) == "a\n  b"
