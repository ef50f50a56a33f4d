"""What programs say about their kernels and versions."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

pytestmark = pytest.mark.device

SOURCE = """
entry sums [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss
entry other (x: i32): i32 = x + 1
"""
ROWS = np.arange(600, dtype=np.int32).reshape(20, 30)


@pytest.fixture(scope="module")
def program() -> minifut.Program:
    return minifut.compile(SOURCE)


def test_kernels_are_texts_by_name(program: minifut.Program) -> None:
    kernels = program.kernels
    assert any(name.startswith("sums") for name in kernels)
    assert all(f"__kernel void {name}(" in text for name, text in kernels.items())
    assert all(text.startswith("// <text>:") for text in kernels.values())
    assert all(repr(text) == text for text in kernels.values())


def test_an_entry_point_is_meant_by_name_by_itself_or_as_the_only_one(
    program: minifut.Program,
) -> None:
    only = minifut.compile("entry rows [n] (xs: [n]f32): f32 = f32.sum xs")
    xs = np.ones(5, np.float32)
    assert only.versions() == only.versions("rows") == only.versions(only.rows)
    assert only.profile(xs).entry == only.profile(xs, entry=only.rows).entry == "rows"
    assert only.warm_up(only.rows, n=3) == ("rows",)
    assert only.autotune([(xs,)], runs=1).changed == {}


def test_each_version_can_be_forced(program: minifut.Program) -> None:
    versions = program.versions("sums")
    assert len(versions) > 1
    assert len({version.name for version in versions}) == len(versions)
    started = set()
    for version in versions:
        program.tuning.update(version.settings)
        with program.tuning.watch() as seen:
            np.testing.assert_array_equal(program.sums(ROWS), ROWS.sum(1))
        started.add(tuple(sorted(seen.launches)))
    assert len(started) > 1
    program.tuning.reset()


def test_rules_are_named(program: minifut.Program) -> None:
    shown = program.explain()
    assert repr(shown) == shown
    assert "flatten" in shown and "<text>:2:" in shown


def test_unknown_entries_and_other_backends(program: minifut.Program) -> None:
    with pytest.raises(minifut.UsageError, match="there is no entry point 'sun'"):
        program.versions("sun")
    other = minifut.compile(SOURCE, backend="interpreter")
    with pytest.raises(minifut.UsageError, match="has no kernels"):
        other.explain()


@pytest.mark.device
def test_shown_as_printed() -> None:
    """What ends a cell or line is shown by its `repr`."""
    program = minifut.compile("entry main [n] (xs: [n]f32): f32 = f32.sum xs")
    found = program.profile(np.ones(100, np.float32))
    assert repr(found) == str(found)
    tuned = program.autotune([(np.ones(100, np.float32),)], runs=1)
    assert repr(tuned) == tuned.table
    assert repr(program.tuning) == f"Tuning({dict(program.tuning)})"
