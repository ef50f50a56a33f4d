"""The algebra of sizes against plain numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minifut.ir.parser import parse
from minifut.ir.printer import show
from minifut.ir.sizes import ONE, ZERO, Size, ceil_div, maximum, minimum, product
from minifut.names import Name

NAMES = [Name("n", 0), Name("m", 0), Name("k", 3)]
N, M, K = (Size.of(name) for name in NAMES)


def combined(inner: st.SearchStrategy[Size]) -> st.SearchStrategy[Size]:
    pairs = st.tuples(inner, inner)
    divisor = st.integers(1, 9).map(Size.constant)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: minimum(*p)),
        pairs.map(lambda p: maximum(*p)),
        st.tuples(inner, divisor).map(lambda p: p[0] // p[1]),
        st.tuples(inner, divisor).map(lambda p: ceil_div(*p)),
    )


LEAVES = st.one_of(st.sampled_from([N, M, K]), st.integers(-9, 9).map(Size.constant))
SIZES = st.recursive(LEAVES, combined, max_leaves=8)
VALUES = st.fixed_dictionaries({name: st.integers(0, 20) for name in NAMES})


@given(SIZES, SIZES, VALUES)
def test_operations_agree_with_numbers(
    a: Size, b: Size, values: dict[Name, int]
) -> None:
    x, y = a.evaluate(values), b.evaluate(values)
    assert (a + b).evaluate(values) == x + y
    assert (a - b).evaluate(values) == x - y
    assert (a * b).evaluate(values) == x * y
    assert minimum(a, b).evaluate(values) == min(x, y)
    assert maximum(a, b).evaluate(values) == max(x, y)
    assert (a // 7).evaluate(values) == x // 7
    assert ceil_div(a, 7).evaluate(values) == -(-x // 7)


@given(SIZES, SIZES, SIZES)
def test_normal_forms_are_equal(a: Size, b: Size, c: Size) -> None:
    assert a + b == b + a and a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert a * (b + c) == a * b + a * c
    assert a - a == ZERO and a * ONE == a
    assert minimum(a, b) == minimum(b, a)


@given(SIZES, st.sampled_from([N, 2 * N, N * M, N + M]))
def test_parts_are_all_of_a_size(a: Size, divisor: Size) -> None:
    fixed, moving = a.split({NAMES[0]})
    assert fixed + moving == a and NAMES[0] not in fixed.names()
    assert all(NAMES[0] in Size((term,)).names() for term in moving.terms)
    whole, rest = a.divided(divisor)
    assert whole * divisor + rest == a


@given(SIZES, VALUES)
def test_substitution_agrees_with_evaluation(a: Size, values: dict[Name, int]) -> None:
    numbers = {name: Size.constant(number) for name, number in values.items()}
    assert a.substitute(numbers).as_constant == a.evaluate(values)
    assert a.substitute({Name("other", 9): ONE}) is a
    shifted = a.substitute({NAMES[0]: N + 1})
    assert shifted.evaluate(values) == a.evaluate(
        values | {NAMES[0]: values[NAMES[0]] + 1}
    )


@given(SIZES)
def test_sizes_read_back(a: Size) -> None:
    assert parse(show(a, renumber=False), "size") == a


def test_simplifications() -> None:
    assert (N * 6) // 3 == N * 2 and ceil_div(N, N) == ONE
    assert product((N, M, N)) == N * N * M and product(()) == ONE
    assert minimum(minimum(N, M), N) == minimum(M, N)
    assert (N + 3 - 3).as_name == NAMES[0] and (N * 0).as_constant == 0
