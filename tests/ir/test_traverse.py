"""Walking, free names, substitution, renaming, equality up to names."""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile

import pytest

from minifut.ir import core, fields, kernels, soacs
from minifut.ir.alpha import alpha_equal
from minifut.ir.builder import i64
from minifut.ir.node import replace
from minifut.ir.parser import names_after, parse, parse_program
from minifut.ir.printer import show
from minifut.ir.search import contains
from minifut.ir.sizes import Size
from minifut.ir.traverse import (
    bound_names,
    bound_types,
    free_names,
    map_children,
    own_names,
    rename,
    substitute,
    substitute_sizes,
    used_names,
    walk,
)
from minifut.lowering.accumulators.erase import erase_accumulators
from minifut.names import Name

from .programs import KERNELS_TEXT, SOACS_TEXT

BODY = """{
  let (k: i64, ys: [k]i32) = if c then {n, xs} else {m, zs}
  let t: [n * m]i32 = replicate([n][m], a)
  let u: i32 = loop (acc: i32 = b) for i: i64 < n do {
    let x: i32 = ys[i]
    let v: i32 = add_i32(acc, x)
    return v
  }
  return u, free
}"""


def names(text: str) -> set[Name]:
    return {Name(base, 0) for base in text.split()}


def body(text: str = BODY) -> core.Body:
    return parse(text, "body")  # type: ignore[no-any-return]


def test_free_names_include_those_in_sizes_and_results() -> None:
    assert free_names(body()) == names("c n xs m zs a b free")
    assert set(bound_names(body())) == names("k ys t u acc i x v")
    assert names("k ys n") <= used_names(body())


def test_function_names_are_not_variables() -> None:
    assert free_names(parse("apply f(x)", "exp")) == names("x")


def test_an_atom_needs_itself() -> None:
    read = parse("xs[i, 0i64]", "exp")
    assert [free_names(entry) for entry in read.slice] == [names("i"), set()]


@pytest.mark.parametrize("text", [SOACS_TEXT, KERNELS_TEXT])
def test_whole_programs_are_closed(text: str) -> None:
    assert free_names(parse_program(text)) == set()


def test_walk_gives_parents_first_and_all_statements() -> None:
    found = list(walk(body()))
    statements = [s.pattern[-1].name.base for s in found if isinstance(s, core.Stm)]
    assert statements == ["ys", "t", "u", "x", "v"]
    assert isinstance(found[0], core.Body)


def test_map_children_keeps_what_does_not_change() -> None:
    whole = body()
    assert map_children(whole, lambda node: node) is whole
    last = whole.statements[-1]
    changed = map_children(whole, lambda s: last if s is whole.statements[0] else s)
    assert changed.statements[0] is last
    assert changed.statements[1] is whole.statements[1]


def test_substitute_reaches_atoms_sizes_and_types() -> None:
    changed = substitute(body(), {Name("n", 0): i64(3), Name("a", 0): Name("q", 7)})
    text = show(changed)
    assert "replicate([3][m], q)" in text and "[3 * m]i32" in text
    assert "for i: i64 < 3i64" in text and "then {3i64, xs}" in text
    assert substitute(body(), {}) is not None
    whole = body()
    assert substitute(whole, {Name("elsewhere", 0): i64(1)}) is whole


def test_substitute_sizes_takes_any_size() -> None:
    twice = Size.of(Name("p", 0)) * 2
    text = show(substitute_sizes(body(), {Name("m", 0): twice}))
    assert "replicate([n][2 * p], a)" in text and "[2 * n * p]i32" in text
    assert "else {m, zs}" in text


def test_rename_is_fresh_and_equal_up_to_names() -> None:
    whole = body()
    source = names_after(whole)
    renamed = rename(whole, source)
    assert alpha_equal(renamed, whole) and alpha_equal(whole, renamed)
    assert not set(bound_names(renamed)) & set(bound_names(whole))
    assert free_names(renamed) == free_names(whole)
    assert show(renamed) == show(whole)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("let x: i32 = ys[i]", "let x: i32 = ys[n]"),
        ("return u, free", "return u, other"),
        ("add_i32(acc, x)", "add_i32(x, acc)"),
        ("add_i32(acc, x)", "sub_i32(acc, x)"),
        ("[n * m]i32", "[n]i32"),
        ("then {n, xs}", "then {m, xs}"),
        ("i: i64 < n", "i: i32 < n"),
        ("return u, free", "return u"),
    ],
)
def test_different_bodies_are_not_equal(old: str, new: str) -> None:
    assert old in BODY
    assert not alpha_equal(body(), body(BODY.replace(old, new)))
    assert not alpha_equal(body(BODY.replace(old, new)), body())


def test_a_bound_name_is_not_a_free_one() -> None:
    left = parse("\\(x: i32) -> (i32) {x}", "lambda")
    right = parse("\\(y: i32) -> (i32) {x}", "lambda")
    assert not alpha_equal(left, right) and not alpha_equal(right, left)


def test_every_class_says_what_it_holds() -> None:
    for module in (core, soacs, kernels):
        for cls in vars(module).values():
            if isinstance(cls, type) and fields.is_node(cls):
                held = {name for name, _ in fields.parts(cls)}
                named = set(getattr(cls, "introduces", ()))
                assert named <= held
                for source, targets in getattr(cls, "binds", {}).items():
                    assert {source, *targets} <= held


@pytest.mark.parametrize("text", [SOACS_TEXT, KERNELS_TEXT])
def test_names_kept_with_bodies_are_those_found_by_walking(text: str) -> None:
    """Asked twice, from the outside in and from the inside out."""
    whole = list(walk(parse_program(text)))
    for node in (*whole, *reversed(whole)):
        found: set[Name] = set()
        for inner in walk(node):
            own_names(inner, found)
        assert used_names(node) == found
        assert free_names(node) == found - set(bound_names(node))


def test_names_kept_with_a_body_stay_with_it() -> None:
    whole = parse(BODY, "body")
    before = free_names(whole)
    changed = replace(whole, result=whole.result[:1])
    assert free_names(changed) == before - names("free")
    used_names(whole).clear()
    assert free_names(whole) == before


@pytest.mark.parametrize("text", [SOACS_TEXT, KERNELS_TEXT])
def test_contains_is_a_walk_for_the_class(text: str) -> None:
    program = parse_program(text)
    kinds = {type(node) for node in walk(program)}
    for node in list(walk(program)):
        below = {type(inner) for inner in walk(node)}
        assert {kind for kind in kinds if contains(node, kind)} == below
        assert set(bound_types([node])) == set(bound_names(node))


@pytest.mark.parametrize("ask", [names_after, erase_accumulators])
def test_what_bodies_keep_is_not_walked_for_again(
    ask: Callable[[core.Program], object],
) -> None:
    count = 999
    statements = "let b: i32 = add_i32(a, a)\n" * count
    program = parse_program(
        f"fun main (a: i32) -> (r: i32) {{\n{statements}return a\n}}"
    )
    ask(program)
    profile = Profile()
    profile.runcall(ask, program)
    assert sum(entry.callcount for entry in profile.getstats()) < count
