"""Accumulators: printed, verified, interpreted."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import InternalError
from minifut.ir.accumulators import AccInput
from minifut.ir.alpha import alpha_equal
from minifut.ir.builder import Builder, constant
from minifut.ir.core import Body, Function, Param, Program
from minifut.ir.dialect import KERNELS, SOACS
from minifut.ir.interpret import run
from minifut.ir.parser import parse_program
from minifut.ir.printer import show
from minifut.ir.scope import scope_of
from minifut.ir.sizes import Size
from minifut.ir.soacs import map_
from minifut.ir.traverse import free_names, rename, walk
from minifut.ir.types import F32, I64, AccType, ArrayType, array_of, row_type
from minifut.ir.verify import verify
from minifut.names import Name, NameSource

PLUS = r"\(p: f32, q: f32) -> (f32) { let s: f32 = add_f32(p, q) return s }"
ENTRY = (
    'entry "main" = main sizes 2 ("xs" "[]f32" "array" 1, "is" "[]i64" "array" 1, '
    '"vs" "[]f32" "array" 1) -> ("" "[]f32" "array" 1)'
)
HEAD = f"{ENTRY} fun main (k: i64, n: i64, xs: [k]f32, is: [n]i64, vs: [n]f32)"


def with_acc(body: str, operator: str = f", (0.0f32), {PLUS}") -> str:
    """A program whose accumulator `a` the body uses, leaving it in `z`."""
    return (
        f"{HEAD} -> (ys: [k]f32) {{ let c: bool = lt_i64(k, n) "
        f"let ys_1: [k]f32 = with_acc((acc([k], (xs){operator})), "
        rf"\(a: acc a [k] (f32)) -> (acc a [k] (f32)) {{ {body} return z }}) "
        "return ys_1 }"
    )


A = "acc a [k] (f32)"
MAP = (
    rf"let z: {A} = map(n, (a, is, vs), \(b: {A}, i: i64, v: f32) -> ({A}) {{ "
    f"let d: {A} = update_acc(b, (i), (v)) return d }})"
)
LOOP = (
    f"let z: {A} = loop (b: {A} = a) for j: i64 < n do {{ let i: i64 = is[j] "
    f"let v: f32 = vs[j] let d: {A} = update_acc(b, (i), (v)) return d }}"
)
BRANCH = (
    f"let b: {A} = if c then {{ let e: {A} = update_acc(a, (0i64), (1.0f32)) "
    f"return e }} else {{a}} let z: {A} = update_acc(b, (1i64), (2.0f32))"
)
NESTED = (
    rf"let z: {A} = map(n, (a, is), \(b: {A}, i: i64) -> ({A}) {{ "
    rf"let d: {A} = map(n, (b, vs), \(e: {A}, v: f32) -> ({A}) {{ "
    f"let f: {A} = update_acc(e, (i), (v)) return f }}) return d }})"
)
SEGMAP = (
    f"let z: {A} = segmap grid (g < n) -> ({A}) {{ let i: i64 = is[g] "
    f"let v: f32 = vs[g] let d: {A} = update_acc(a, (i), (v)) return returns d }}"
)


def expected(indices: np.ndarray, values: np.ndarray, into: np.ndarray) -> np.ndarray:
    result = into.copy()
    for index, value in zip(indices, values, strict=True):
        if 0 <= index < len(result):
            result[index] += value
    return result


XS = np.arange(5, dtype=np.float32)
IS = np.array([0, 4, 4, -1, 5, 2, 0], np.int64)
VS = np.array([1, 2, 4, 8, 16, 32, 64], np.float32)


@pytest.mark.parametrize("body", [MAP, LOOP])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_updates_are_combined_and_those_out_of_bounds_left_out(
    body: str, count: int
) -> None:
    program = parse_program(with_acc(body))
    verify(program, SOACS)
    (found,) = run(program, "main", [XS, IS[:count], VS[:count]])
    np.testing.assert_array_equal(found, expected(IS[:count], VS[:count], XS))
    assert XS[0] == 0, "the initial contents stay what they were"


def test_a_segmented_map_updates_what_it_gets_from_outside() -> None:
    program = parse_program(with_acc(SEGMAP))
    verify(program, KERNELS)
    (found,) = run(program, "main", [XS, IS, VS])
    np.testing.assert_array_equal(found, expected(IS, VS, XS))


def test_a_branch_may_leave_an_accumulator_as_it_is() -> None:
    program = parse_program(with_acc(BRANCH))
    verify(program, SOACS)
    for count, first in ((7, 1), (5, 0)):
        (found,) = run(program, "main", [XS, IS[:count], VS[:count]])
        np.testing.assert_array_equal(found, XS + np.float32([first, 2, 0, 0, 0]))


def test_nested_maps_pass_an_accumulator_in_and_out() -> None:
    program = parse_program(with_acc(NESTED))
    verify(program, SOACS)
    (found,) = run(program, "main", [XS, IS, VS])
    everywhere = np.repeat(IS, len(VS))
    np.testing.assert_array_equal(found, expected(everywhere, np.tile(VS, 7), XS))


def test_without_operator_a_value_takes_the_place() -> None:
    program = parse_program(with_acc(MAP, operator=""))
    verify(program, SOACS)
    (found,) = run(program, "main", [XS, IS, VS])
    np.testing.assert_array_equal(found, np.float32([64, 1, 32, 3, 4]))


def test_rows_and_several_arrays_are_updated_together() -> None:
    program = parse_program(
        'entry "main" = main sizes 2 ("xs" "[][]i32" "array" 1, "ys" "[]i8" "array" 1, '
        '"is" "[]i64" "array" 1) -> ("" "[][]i32" "array" 1, "" "[]i8" "array" 1) '
        "fun main (k: i64, n: i64, xs: [k][2]i32, ys: [k]i8, is: [n]i64) -> "
        "(r: [k][2]i32, s: [k]i8) { let zero: [2]i32 = replicate([2], 0i32) "
        "let one: [2]i32 = replicate([2], 1i32) let (t: [k][2]i32, u: [k]i8) = "
        "with_acc((acc([k], (xs, ys), (zero, 0i8), "
        r"\(a: [2]i32, b: i8, c: [2]i32, d: i8) -> ([2]i32, i8) { "
        r"let e: [2]i32 = map(2, (a, c), \(f: i32, g: i32) -> (i32) { "
        "let h: i32 = add_i32(f, g) return h }) let i: i8 = max_i8(b, d) "
        r"return e, i })), \(q: acc q [k] ([2]i32, i8)) -> (acc q [k] ([2]i32, i8)) { "
        r"let w: acc q [k] ([2]i32, i8) = map(n, (q, is), \(x: acc q [k] ([2]i32, i8), "
        "y: i64) -> (acc q [k] ([2]i32, i8)) { let z: acc q [k] ([2]i32, i8) = "
        "update_acc(x, (y), (one, 5i8)) return z }) return w }) return t, u }"
    )
    verify(program, SOACS)
    ints = np.arange(6, dtype=np.int32).reshape(3, 2)
    small = np.int8([9, 1, 1])
    rows, best = run(program, "main", [ints, small, np.int64([1, 1, 0, 3])])
    np.testing.assert_array_equal(rows, [[1, 2], [4, 5], [4, 5]])
    np.testing.assert_array_equal(best, [9, 5, 1])


WRONG = [
    (f"let b: {A} = update_acc(a, (0i64), (1.0f32)) let z: {A} = a", "used twice"),
    (f"let z: {A} = a let b: {A} = a", "used twice"),
    (f"let z: {A} = update_acc(a, (0i64), (1i32))", "the values: i32"),
    (f"let z: {A} = update_acc(a, (0i32), (1.0f32))", "the indices: i32"),
    (f"let z: {A} = update_acc(a, (0i64, 0i64), (1.0f32))", "the indices: 2 values"),
    ("let z: acc a [n] (f32) = a", "the pattern"),
    (
        f"let z: {A} = if c then {{ let e: {A} = a return e }} else {{ "
        f"let e_1: {A} = a let e_2: {A} = update_acc(e_1, (0i64), (0.0f32)) "
        "return e_1 }",
        "used twice",
    ),
    (
        rf"let x: [n]f32 = map(n, (vs), \(v: f32) -> (f32) {{ "
        f"let d: {A} = update_acc(a, (0i64), (v)) return v }}) let z: {A} = a",
        "captured",
    ),
    (
        f"let x: i64 = loop (y: i64 = n) for j: i64 < n do {{ "
        f"let d: {A} = update_acc(a, (j), (0.0f32)) return j }} let z: {A} = a",
        "captured",
    ),
    (
        f"let b: {A} = update_acc(a, (0i64), (1.0f32)) "
        f"let d: {A} = if c then {{b}} else {{b}} let z: {A} = if c then {{d}} else {{"
        f"let e: {A} = d let e_1: {A} = update_acc(e, (0i64), (1.0f32)) return d}}",
        "used twice",
    ),
]


@pytest.mark.parametrize(("body", "message"), WRONG)
def test_what_is_wrong_is_named(body: str, message: str) -> None:
    with pytest.raises(InternalError, match=message.replace("(", r"\(")):
        verify(parse_program(with_acc(body)), SOACS)


def test_an_accumulator_is_not_dropped() -> None:
    program = (
        "fun f (k: i64, xs: [k]f32) -> () { let (ys: [k]f32) = with_acc((acc([k], (xs)), "
        r"acc([k], (xs))), \(a: acc a [k] (f32), b: acc b [k] (f32)) -> "
        "(acc a [k] (f32), acc b [k] (f32)) { let z: acc b [k] (f32) = b "
        "return a, a }) return }"
    )
    with pytest.raises(InternalError):
        verify(parse_program(program), SOACS)


@pytest.mark.parametrize("body", [MAP, LOOP, BRANCH, NESTED, SEGMAP])
def test_printed_programs_read_back_and_rename(body: str) -> None:
    program = parse_program(with_acc(body))
    again = parse_program(show(program))
    assert alpha_equal(program, again)
    assert show(again) == show(program)
    copied = rename(program, NameSource(1000))
    assert alpha_equal(program, copied)
    roots = {t.root for t in scope_of(copied).values() if isinstance(t, AccType)}
    assert roots and all(root.tag >= 1000 for root in roots)


def test_an_accumulator_names_its_root() -> None:
    program = parse_program(with_acc(MAP))
    update = next(s for s in walk(program) if type(s).__name__ == "UpdateAcc")
    root = Name("a", 0)
    assert root not in free_names(program)
    assert free_names(Param(update.accumulator, scope_of(program)[root])) == {
        root,
        Name("k", 0),
    }


def test_an_accumulator_has_no_dimensions() -> None:
    size = Size.of(Name("n", 1))
    type_ = AccType(Name("a", 2), (size,), (F32,))
    assert array_of(type_, (size, size)) == type_
    assert row_type(type_) == type_


def test_the_builder_makes_accumulators() -> None:
    names = NameSource(100)
    size, count = Name("k", 1), Name("n", 2)
    xs = Param(Name("xs", 3), ArrayType(F32, (Size.of(size),)))
    is_ = Param(Name("is", 4), ArrayType(I64, (Size.of(count),)))
    vs = Param(Name("vs", 5), ArrayType(F32, (Size.of(count),)))
    sizes = (Param(size, I64), Param(count, I64))
    build = Builder(names, scope_of(xs, is_, vs, *sizes))
    plus = build.function((F32, F32), lambda inner, x, y: inner.add(x, y))
    item = AccInput((Size.of(size),), (xs.name,), (constant(0, F32),), plus)

    def updates(inner: Builder, acc: Name) -> list[Name]:
        function = inner.function(
            (inner.type(acc), I64, F32),
            lambda point, a, i, v: point.update_acc(a, (i,), (v,)),
        )
        exp = map_(Size.of(count), (acc, is_.name, vs.name), function)
        return list(inner.let_many(exp))

    results = build.with_acc((item,), updates, ("ys",))
    body = Body(tuple(build.statements), results)
    returned = (Param(names.fresh("r"), xs.type),)
    parsed = parse_program(with_acc(MAP))
    function = Function(Name("main", 0), (*sizes, xs, is_, vs), returned, body)
    program = Program(parsed.entries, (), (function,))
    verify(program, SOACS)
    (found,) = run(program, "main", [XS, IS, VS])
    np.testing.assert_array_equal(found, expected(IS, VS, XS))
