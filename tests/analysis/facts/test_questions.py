"""What follows from definitions, ranges and conditions, and what does not."""

from __future__ import annotations

import pytest

from minifut.analysis.facts import Facts, proof
from minifut.analysis.facts.forms import difference, number
from minifut.ir.core import Atom, Constant, Function, Param, ScalarOp, Stm
from minifut.ir.parser import parse_program
from minifut.ir.scalars import operator
from minifut.ir.scope import scope_of
from minifut.ir.sizes import Size
from minifut.ir.types import I64
from minifut.names import Name

HEAD = 'entry "main" = main sizes 2 ("k" "i64" "array" 1, "xs" "[]i64" "array" 1)'


def facts_after(statements: str) -> tuple[Facts, dict[str, Name]]:
    """What is known after the statements of a function of n, m, k and xs: [n][m]i64,
    and the names by their texts."""
    program = parse_program(
        f'{HEAD} -> ("" "i64" "array" 1)\n'
        f"fun main (n: i64, m: i64, k: i64, xs: [n][m]i64) -> (r: i64) {{\n"
        f"{statements}\nreturn k\n}}"
    )
    function: Function = program.functions[0]
    facts = Facts(scope_of(program))
    facts.natural_sizes(function.parameters, all_sizes=True)
    names = {str(p.name): p.name for p in function.parameters}
    for statement in function.body.statements:
        tell(facts, statement)
        names |= {str(p.name): p.name for p in statement.pattern}
    return facts, {text.rsplit("_", 1)[0]: name for text, name in names.items()}


def tell(facts: Facts, statement: Stm) -> None:
    facts.define(statement)
    condition: Atom | None = getattr(statement.exp, "condition", None)
    if not statement.pattern and condition is not None:
        facts.assume(condition, True, "a check")


KNOWN = {
    "0 <= k": "let c: bool = le_i64(0i64, k) let () = assert(c, [], [])",
    "n < k": "let c: bool = lt_i64(n, k) let () = assert(c, [], [])",
}
TRUE = {
    "a size": ("", "n", 0),
    "a sum of sizes": ("let x: i64 = add_i64(n, m)", "x", 0),
    "a check": (KNOWN["0 <= k"], "k", 0),
    "above a size": (KNOWN["n < k"], "k", 1),
    "a maximum": ("let x: i64 = max_i64(k, 3i64)", "x", 3),
    "a float that is not negative": (
        "let f: f32 = convert_i64_f32(n) let g: f32 = max_f32(f, 0.5f32)"
        "let x: i64 = convert_f32_i64(g)", "x", 0
    ),
    "a size less itself narrowed": (
        "let y: u32 = convert_i64_u32(n) let z: i64 = convert_u32_i64(y)"
        "let x: i64 = sub_i64(n, z)", "x", 0
    ),
    "a sum found not to wrap after the check of it": (
        "let x: i64 = add_i64(k, 1i64) "
        "let c: bool = le_i64(0i64, x) let () = assert(c, [], []) "
        "let d: bool = lt_i64(x, n) let () = assert(d, [], [])", "x", 0
    ),
    "a mask": ("let x: i64 = and_i64(k, 7i64)", "x", 0),
    "a remainder": ("let x: i64 = mod_i64(k, 8i64)", "x", 0),
    "half a size": ("let h: i64 = div_i64(n, 2i64) let x: i64 = sub_i64(n, h)", "x", 0),
    "a shift": ("let h: i64 = shr_i64(n, 1i64) let x: i64 = sub_i64(n, h)", "x", 0),
    "a shift by any number": (
        "let h: i64 = shr_i64(n, k) let x: i64 = sub_i64(n, h)", "x", 0
    ),
    "a branch": (
        "let c: bool = lt_i64(k, 0i64) let x: i64 = if c then {0i64} else {k}", "x", 0
    ),
    "elements": ("let p: i64 = mul_i64(n, m) let x: i64 = add_i64(p, 1i64)", "x", 1),
}  # fmt: skip
FALSE = {
    "anything": ("", "k", 0),
    "a size less one": ("let x: i64 = sub_i64(n, 1i64)", "x", 0),
    "a size that may be zero": ("", "n", 1),
    "a sum that wraps": (
        KNOWN["0 <= k"] + " let x: i64 = add_i64(k, 1i64)", "x", 0
    ),
    "a product that wraps": (KNOWN["0 <= k"] + " let x: i64 = mul_i64(k, n)", "x", 0),
    "a minimum": ("let x: i64 = min_i64(k, n)", "x", 0),
    "a remainder by zero": ("let x: i64 = mod_i64(k, n)", "x", 1),
    "an absolute value that wraps": ("let x: i64 = abs_i64(k)", "x", 0),
    "a shift of anything": ("let x: i64 = shr_i64(k, n)", "x", 0),
    "a number less itself narrowed": (
        "let y: u32 = convert_i64_u32(k) let z: i64 = convert_u32_i64(y)"
        "let x: i64 = sub_i64(k, z)", "x", 0
    ),
    "narrowed": (
        "let y: i32 = convert_i64_i32(n) let x: i64 = convert_i32_i64(y)", "x", 0
    ),
}  # fmt: skip


def at_least(question: tuple[str, str, int]) -> bool:
    statements, base, least = question
    facts, names = facts_after(statements)
    return facts.proves(Size.of(names[base]) - least) is not None


@pytest.mark.parametrize("what", TRUE)
def test_proved(what: str) -> None:
    assert at_least(TRUE[what])


@pytest.mark.parametrize("what", FALSE)
def test_not_proved(what: str) -> None:
    assert not at_least(FALSE[what])


def test_what_is_learnt_in_a_scope_ends_with_it() -> None:
    facts, names = facts_after("let c: bool = le_i64(0i64, k)")
    with facts.inner():
        facts.assume(names["c"], True, "the branch")
        assert facts.proves(Size.of(names["k"])) is not None
        assert facts.range_of(names["k"])[0] == 0
    assert facts.proves(Size.of(names["k"])) is None
    with facts.inner():
        facts.assume(names["c"], False, "the branch")
        assert facts.nonzero(names["k"]) is not None


def test_a_proof_lists_the_facts_that_it_used() -> None:
    facts, names = facts_after(KNOWN["n < k"] + " let d: i64 = sub_i64(k, n)")
    proof = facts.proves(Size.of(names["d"]) - 1)
    assert proof is not None
    assert any("a check" in str(fact) for fact in proof)


def test_indices_are_inside() -> None:
    facts, names = facts_after("")
    i, j = Name("i", 1000), Name("j", 1001)
    n, m = Size.of(names["n"]), Size.of(names["m"])
    with facts.inner():
        facts.run_over(i, facts.form(n), "the map")
        facts.run_over(j, facts.form(m), "the map")
        assert facts.inside((i, j), (n, m)) is not None
        assert facts.inside((j, i), (n, m)) is None
        assert facts.proves(n * m - 1 - Size.of(i) * m - Size.of(j)) is not None
        assert facts.inside((Constant(0, I64), j), (n, m)) is not None


@pytest.mark.parametrize(("by", "less"), [("2i64", 0), ("3i64", 0), ("m", 0), ("m", 1)])
def test_positions_of_a_product_divided_by_a_factor(by: str, less: int) -> None:
    """i / m is below n for i below n m, whether m is a number or a size."""
    facts, names = facts_after(f"let p: i64 = mul_i64(n, {by})")
    i, q = Name("i", 1000), Name("q", 1001)
    facts.types |= {i: I64, q: I64}
    divisor = names["m"] if by == "m" else Constant(int(by[:-3]), I64)
    with facts.inner():
        facts.run_over(i, facts.form(names["p"]), "the map")
        divide = ScalarOp(operator("div", I64), (i, divisor))
        facts.define(Stm((Param(q, I64),), divide))
        shown = facts.below(q, difference(facts.form(names["n"]), number(less)))
        assert (shown is not None) is (less == 0)


@pytest.mark.parametrize(("by", "least"), [(2, 2), (3, 3), (1, 1)])
def test_points_of_a_quotient_say_how_large_the_whole_is(by: int, least: int) -> None:
    """Of n / 3 points there is one only if n is at least 3."""
    facts, names = facts_after(f"let q: i64 = div_i64(n, {by}i64)")
    half = Size.of(names["n"]) // by
    for width in (facts.form(names["q"]), facts.form(half)):
        with facts.inner():
            facts.run_over(Name("i", 1000), width, "the map")
            assert facts.proves(Size.of(names["n"]) - least) is not None
            assert facts.proves(Size.of(names["n"]) - least - 1) is None
        assert facts.proves(Size.of(names["n"]) - 1) is None


def test_a_disjunction_is_resolved_when_one_part_fails() -> None:
    facts, names = facts_after(
        "let e: bool = le_i64(n, 0i64) let c: bool = le_i64(5i64, k)"
        " let o: bool = or_bool(e, c) let () = assert(o, [], [])"
    )
    k, n = Size.of(names["k"]), Size.of(names["n"])
    assert facts.proves(k - 5) is None
    with facts.inner():
        facts.run_over(Name("i", 1000), facts.form(n), "the map")
        assert facts.proves(k - 5) is not None


def test_what_is_not_proved_is_looked_for_again_when_something_is_learnt() -> None:
    facts, names = facts_after(
        "let c: bool = le_i64(0i64, k) let d: bool = le_i64(1i64, k)"
    )
    k = names["k"]
    assert facts.natural_atom(k) is None
    assert facts.natural_atom(k) is None
    with facts.inner():
        facts.assume(names["c"], True, "a branch")
        assert facts.natural_atom(k) is not None
        assert facts.nonzero(k) is None
        with facts.inner():
            facts.assume(names["d"], True, "a branch")
            assert facts.nonzero(k) is not None
        assert facts.nonzero(k) is None
    assert facts.natural_atom(k) is None


def test_what_was_looked_for_before_a_scope_is_remembered_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts, names = facts_after(
        "let c: bool = le_i64(5i64, m) let x: i64 = mod_i64(k, m)"
    )
    searches: list[object] = []
    shows = proof._Search.shows

    def counted(search: object, goal: object, depth: int) -> bool:
        searches.append(goal)
        return shows(search, goal, depth)  # type: ignore[arg-type]

    monkeypatch.setattr(proof._Search, "shows", counted)
    assert facts.natural_atom(names["k"]) is None
    first = len(searches)
    assert first > 0
    with facts.inner():
        facts.assume(names["c"], True, "a branch")
    assert facts.natural_atom(names["k"]) is None
    assert len(searches) == first


def test_a_disjunction_that_is_resolved_resolves_others() -> None:
    """In any order in which they were met."""
    parts = [
        "let a: bool = le_i64(n, 0i64) let b: bool = le_i64(5i64, m)"
        " let o: bool = or_bool(a, b) let () = assert(o, [], [])",
        "let c: bool = le_i64(m, 3i64) let d: bool = le_i64(7i64, k)"
        " let q: bool = or_bool(c, d) let () = assert(q, [], [])",
    ]
    for order in (parts, parts[::-1]):
        facts, names = facts_after(" ".join(order))
        k = facts.form(names["k"])
        assert facts.proves(difference(k, number(7))) is None
        with facts.inner():
            facts.run_over(Name("i", 1000), facts.form(names["n"]), "the map")
            assert facts.proves(difference(k, number(7))) is not None
        assert facts.proves(difference(k, number(7))) is None
