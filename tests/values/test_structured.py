"""Tuples, records, sums and arrays of them: given and taken in all their forms, on both
backends, and as text."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import StructArray, Variant
from minifut.ir.entries import EntryType
from minifut.values.structured import close_value
from minifut.values.structured_arguments import open_value, whole_leaves
from minifut.values.structured_text import (
    binary_of_leaves,
    format_structured,
    read_structured,
)

SOURCE = """
type vec = {x: f32, y: i32}
type~ shape = #circle f32 | #rect f32 f32 | #poly ([]vec) | #point
type small = #a f32 | #b i32 | #c
type opt 'a = #none | #some a
entry make (n: i64): [n]vec = map (\\i -> {x = f32.i64 i, y = i32.i64 i}) (iota n)
entry total [n] (vs: [n]vec): (f32, i32) = (f32.sum (map (.x) vs), i32.sum (map (.y) vs))
entry pairs [n] (ps: [n](i32, (f32, bool))): [n](f32, i32) =
  map (\\(a, (b, c)) -> (if c then b else -b, a)) ps
entry next (s: shape): shape =
  match s
  case #circle r -> #rect r r
  case #rect a b -> #circle (a*b)
  case #poly _ -> #point
  case #point -> #poly [{x = 1, y = 2}]
entry flip [n] (ss: [n]small): [n]small =
  map (\\s -> match s
             case #a x -> #b (i32.f32 x)
             case #b i -> #a (f32.i32 i)
             case #c -> #c) ss
entry grid (n: i64) (m: i64): [n][m]vec =
  tabulate_2d n m (\\i j -> {x = f32.i64 i, y = i32.i64 j})
entry grid_sum [n][m] (g: [n][m]vec): i32 = i32.sum (map (\\r -> i32.sum (map (.y) r)) g)
entry maybe [n] (o: opt ([n]i32)) (xs: [n]i32): i32 =
  match o case #none -> i32.sum xs case #some ys -> i32.sum (map2 (*) xs ys)
entry nested [n] (o: [n]{p: vec, q: [2]vec}): [n]i32 =
  map (\\v -> v.p.y + v.q[0].y + v.q[1].y) o
entry consume [n] (vs: *[n]vec): *[n]vec = vs with [0] = {x = 7, y = 7}
"""

PAIRS = np.dtype([("number", "i4"), ("rest", [("value", "f4"), ("sign", "?")])])
BACKENDS = [pytest.param("opencl", marks=pytest.mark.device), "interpreter"]


@pytest.fixture(scope="module", params=BACKENDS)
def program(request: pytest.FixtureRequest) -> minifut.Program:
    return minifut.compile(SOURCE, backend=request.param)


def test_an_array_of_records(program: minifut.Program) -> None:
    made = program.make(4)
    assert isinstance(made, StructArray)
    assert (len(made), made.shape, made.fields) == (4, (4,), ("x", "y"))
    assert repr(made) == "<array of type [4]vec>"
    np.testing.assert_array_equal(made["y"], np.arange(4, dtype=np.int32))
    assert made[2] == {"x": 2.0, "y": 2}
    assert [element["y"] for element in made[1:3]] == [1, 2]
    assert list(dict(made)) == ["x", "y"]
    table = np.asarray(made)
    assert table.dtype == np.dtype([("x", "f4"), ("y", "i4")])
    assert table[3].item() == (3.0, 3)
    with pytest.raises(KeyError):
        made["z"]


@pytest.mark.parametrize(
    "form",
    [
        lambda made: made,
        dict,
        np.asarray,
        list,
        lambda made: tuple(made),
        lambda made: np.asarray(made)[::-1],
        lambda made: np.asarray(made).astype([("y", ">i4"), ("x", ">f4")])[["y", "x"]],
        lambda made: made[np.array([3, 2, 1, 0])],
    ],
    ids=["own", "dict", "structured", "list", "tuple", "strided", "swapped", "taken"],
)
def test_forms_of_arrays_of_records(program: minifut.Program, form: Any) -> None:
    assert program.total(form(program.make(4))) == (6.0, 6)


def test_no_elements(program: minifut.Program) -> None:
    assert program.total([]) == (0.0, 0)
    assert len(program.flip([])) == 0


def test_arrays_of_tuples(program: minifut.Program) -> None:
    for given in (
        [(1, (2.0, True)), (3, (4.0, False))],
        (np.int32([1, 3]), (np.float32([2, 4]), np.array([True, False]))),
        np.array([(1, (2, True)), (3, (4, False))], PAIRS),
    ):
        result = program.pairs(given)
        assert list(result) == [(2.0, 1), (-4.0, 3)]
        assert result.fields == ("0", "1")


def test_sums(program: minifut.Program) -> None:
    value = Variant("circle", 2.0)
    for wanted in (Variant("rect", 2.0, 2.0), Variant("circle", 4.0)):
        value = program.next(value)
        assert value == wanted
    match program.next(Variant("#point")):
        case Variant("poly", (points,)):
            assert list(points) == [{"x": 1.0, "y": 2}]
        case other:
            pytest.fail(repr(other))
    assert program.next(Variant("poly", points)) == Variant("point")
    assert program.next(Variant("poly", [{"x": 1, "y": 1}])) == Variant("point")


def test_arrays_of_sums(program: minifut.Program) -> None:
    given = [Variant("a", 2.5), Variant("b", 3), Variant("c")]
    flipped = program.flip(given)
    wanted = [Variant("b", 2), Variant("a", 3.0), Variant("c")]
    assert list(flipped) == wanted
    assert np.asarray(flipped).tolist() == wanted
    assert list(program.flip(flipped)) == [Variant("a", 2.0), Variant("b", 3), given[2]]
    assert list(program.flip(np.asarray(flipped)))[2] == given[2]


def test_arrays_with_two_dimensions(program: minifut.Program) -> None:
    grid = program.grid(2, 3)
    assert grid.shape == (2, 3)
    assert grid[1, 2] == {"x": 1.0, "y": 2}
    for given in (grid, np.asarray(grid), dict(grid), [list(row) for row in grid]):
        assert program.grid_sum(given) == 6


GRID = "entry same [n][m] (g: [n][m]{v: [2]i32, x: f32}): [n][m]{v: [2]i32, x: f32} = g"
MASK = np.arange(12).reshape(4, 3) % 5 < 2


@pytest.mark.parametrize(
    "key",
    [
        np.s_[1],
        np.s_[:, 1],
        np.s_[..., 0],
        np.s_[0, ...],
        np.s_[::2, ::-1],
        np.s_[:, 1:1],
        np.s_[None, 1],
        np.s_[[0, 2]],
        np.s_[:, [0, 2]],
        np.s_[[0, 2], [1, 1]],
        np.s_[MASK],
        np.s_[1, 2],
        np.s_[-1, -1, ...],
    ],
)
def test_parts_are_those_of_a_structured_array(key: Any) -> None:
    grid = np.zeros((4, 3), [("v", "i4", (2,)), ("x", "f4")])
    grid["x"] = np.arange(12).reshape(4, 3)
    grid["v"] = np.arange(24).reshape(4, 3, 2)
    made = minifut.compile(GRID, backend="interpreter").same(grid)
    part, wanted = made[key], grid[key]
    for field in ("v", "x"):
        np.testing.assert_array_equal(part[field], wanted[field])
        both = (field, *(key if isinstance(key, tuple) else (key,)))
        np.testing.assert_array_equal(made[both], grid[field][key])
    if isinstance(part, StructArray):
        assert part.shape == wanted.shape
        np.testing.assert_array_equal(np.asarray(part), wanted)
    assert "x" in made and "y" not in made


@pytest.mark.parametrize("key", [4, (0, 0, 0), 1.5, np.s_[:, 3]])
def test_parts_that_are_not_there(key: Any) -> None:
    grid = np.zeros((4, 3), [("v", "i4", (2,)), ("x", "f4")])
    with pytest.raises(IndexError):
        minifut.compile(GRID, backend="interpreter").same(grid)[key]


def test_sizes_of_payloads_that_are_not_there(program: minifut.Program) -> None:
    xs = np.arange(3, dtype=np.int32)
    assert program.maybe(Variant("none"), xs) == 3
    assert program.maybe(Variant("some", [1, 2, 3]), xs) == 8


def test_records_in_records(program: minifut.Program) -> None:
    vec = [("x", "f4"), ("y", "i4")]
    given = np.zeros(3, [("p", vec), ("q", vec, (2,))])
    given["p"]["y"] = 1
    given["q"]["y"] = [1, 2]
    np.testing.assert_array_equal(program.nested(given), [4, 4, 4])


def test_what_is_consumed_stays_as_it_was(program: minifut.Program) -> None:
    made = program.make(2)
    assert program.consume(made)[0] == {"x": 7.0, "y": 7}
    assert made[0] == {"x": 0.0, "y": 0}


@pytest.mark.device
def test_fields_stay_on_the_device() -> None:
    program = minifut.compile(SOURCE)
    made = program.make(4, device=True)
    assert "device array" in repr(made["x"])
    assert program.total(made) == (6.0, 6)
    assert made[3] == {"x": 3.0, "y": 3}
    assert np.asarray(made)["y"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("total", {"x": [1.0]}, "a dict of x, y, a list of elements or a structured"),
        ("total", 3, "a dict of x, y"),
        ("total", {"x": [1.0], "z": [1]}, "without y; there is no field 'z'"),
        ("total", [{"x": 1.0, "y": 1}, {"x": 1.0}], r"vs\[1\]"),
        ("total", {"x": np.float32([1]), "y": np.float32([1])}, "i32"),
        ("pairs", [(1, 2, 3)], "a tuple of 2"),
        ("next", Variant("oval", 1.0), r"a Variant of #circle f32 \| #point"),
        (
            "next",
            Variant("circle"),
            r"a payload of 1 \(#circle f32\), got Variant\('circle'\)",
        ),
        ("next", Variant("circl", 1.0), "did you mean 'circle'"),
        ("next", 1.0, r'write minifut.Variant\("circle", ..\)'),
        ("flip", np.zeros(2), "a list of Variants"),
        ("flip", [Variant("c"), Variant("b", 1.5)], r"\bss?\b.*i32"),
        ("total", [{"x": 1, "y": 2}, {"x": 1, "y": 2.5}], r"\bvs\b.*i32"),
        ("grid_sum", [[{"x": 1, "y": 2}], []], "argument g: expected rows of equal le"),
        ("grid_sum", [[], [{"x": 1, "y": 2}]], "argument g: .* must be padded"),
    ],
)
def test_wrong_values(
    program: minifut.Program, name: str, given: Any, words: str
) -> None:
    with pytest.raises(minifut.ArgumentError, match=words):
        program[name](given)


def test_rows_of_different_lengths() -> None:
    """Also where the elements of some rows have nothing there."""
    source = """
      entry deep [n][m][k] (g: [n][m][k]{x: f32, y: i32}) = (n, m, k)
      entry sums [n][m] (s: [n][m](#a i32 | #b f32)): [n][m]bool =
        map (map (\\c -> match c case #a _ -> true case #b _ -> false)) s
    """
    program = minifut.compile(source, backend="interpreter")
    e, a, b = {"x": 1, "y": 2}, Variant("a", 1), Variant("b", 1)
    assert program.deep([[[e]], [[e]]]) == (2, 1, 1)
    assert program.deep([[[]], [[]]]) == (2, 1, 0)
    assert program.deep([[], []]) == (2, 0, 0)
    assert program.sums([[a, b], [b, b]]).tolist() == [[True, False], [False] * 2]
    for ragged in ([[[e], []], [[e], [e]]], [[[e], [e]], []], [[[]], []]):
        with pytest.raises(minifut.ArgumentError, match="rows of equal lengths"):
            program.deep(ragged)
    for ragged in ([[a], []], [[a], [a, b]], [[b], [a, a]]):
        with pytest.raises(minifut.ArgumentError, match=r"equal lengths|regular array"):
            program.sums(ragged)


@pytest.mark.device
def test_fields_of_elements_are_located() -> None:
    program = minifut.compile(SOURCE)
    elements = [{"x": 1, "y": 2}, {"x": 1, "y": 2.5}]
    with pytest.raises(
        minifut.ArgumentError, match=r"argument vs\.y: expected \[\]i32"
    ):
        program.total(elements)
    with pytest.raises(minifut.ArgumentError, match=r"argument ss\.#b\.0: expected"):
        program.flip([Variant("c"), Variant("b", 1.5)])


# --- random types ---------------------------------------------------------------------


def random_type(source: random.Random, depth: int, name: str = "") -> EntryType:
    kinds = ["array", "tuple", "record", "array_of", "sum"] if depth else ["array"]
    kind = source.choice(kinds)
    if kind == "array":
        element = source.choice(["i32", "f32", "bool", "u8", "f64"])
        rank = source.choice([0, 0, 1, 2])
        return EntryType(name, "[]" * rank + element, kind, 1)
    if kind == "array_of":
        part = random_type(source, depth - 1)
        while part.kind == "array":
            part = random_type(source, depth)
        return EntryType(name, "[]" + part.text, kind, part.leaves, False, (part,))
    if kind == "sum":
        return random_sum(source, depth, name)
    count = source.choice([1, 2, 3])
    names = [str(i) if kind == "tuple" else f"f{i}" for i in range(count)]
    parts = tuple(random_type(source, depth - 1, own) for own in names)
    leaves = sum(part.leaves for part in parts)
    return EntryType(name, f"t{source.random()}", kind, leaves, False, parts)


def random_sum(source: random.Random, depth: int, name: str) -> EntryType:
    parts, at = [], 1
    for constructor in ("a", "b", "c")[: source.choice([1, 2, 3])]:
        payload = tuple(
            random_type(source, depth - 1, str(i))
            for i in range(source.choice([0, 1, 2]))
        )
        leaves = sum(part.leaves for part in payload)
        slots = tuple(range(at, at + leaves))
        at += leaves
        text = f"#{constructor}"
        parts.append(
            EntryType(constructor, text, "constructor", leaves, False, payload, slots)
        )
    return EntryType(name, f"s{source.random()}", "sum", at, False, tuple(parts))


def random_leaves(
    type_: EntryType, seeds: np.random.Generator, outer: tuple[int, ...]
) -> list[Any]:
    if type_.kind == "array":
        element = type_.text.lstrip("[]")
        shape = (*outer, *[2] * type_.text.count("["))
        dtype = {"i32": "i4", "f32": "f4", "bool": "?", "u8": "u1", "f64": "f8"}[
            element
        ]
        return [seeds.integers(0, 2, shape).astype(dtype)[()]]
    if type_.kind == "array_of":
        return random_leaves(type_.parts[0], seeds, (*outer, 2))
    found = (
        []
        if type_.kind != "sum"
        else [np.asarray(seeds.integers(0, len(type_.parts), outer)).astype("u1")[()]]
    )
    for part in type_.parts:
        found += random_leaves(part, seeds, outer)
    return found


def opaque(*_: Any) -> Any:
    raise AssertionError


@pytest.mark.parametrize("seed", range(60))
def test_values_text_and_binary_hold_all_there_is(seed: int) -> None:
    type_ = random_type(random.Random(seed), 3)
    leaves = random_leaves(type_, np.random.default_rng(seed), ())
    text = format_structured(type_, leaves)
    value = close_value(type_, leaves, opaque)
    found = whole_leaves(type_, open_value(type_, value, "v", opaque))
    data = binary_of_leaves(found)
    for again, end in (
        read_structured(type_, text.encode(), 0, opaque),
        read_structured(type_, data, 0, opaque),
    ):
        assert end in (len(text.encode()), len(data))
        assert shown(type_, again) == shown(type_, value) == text


def shown(type_: EntryType, value: Any) -> str:
    """The text of a value from its leaves; those of absent constructors are filled."""
    opened = open_value(type_, value, "v", opaque)
    return format_structured(type_, whole_leaves(type_, opened))
