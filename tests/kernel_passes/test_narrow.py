"""Indices of 32 bits: bounds hold, arithmetic stays within them, launches choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minifut
from minifut.ir.sizes import Size, ceil_div, maximum, minimum
from minifut.ir.types import F32, I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes import narrow
from minifut.kernel_passes.narrow.bound import LIMIT
from minifut.kernel_passes.narrow.bounds import Bounds
from minifut.kernel_passes.narrow.order import greatest, is_at_most
from minifut.names import Name, NameSource

N, M, GROUP, YS = Name("n", 1), Name("m", 2), Name("group", 3), Name("ys", 4)
SCALARS = (N, M)
MEMORY = kc.Memory(YS, F32)
Values = dict[Name, int]
Ids = Mapping[str, int]
SMALL = 10_000
"""the limit that numbers are drawn around, as if it were that of 32 bits"""


def variable(name: Name) -> kc.Expression:
    return kc.Variable(name, kc.LONG)


def identity(function: str) -> kc.Expression:
    return kc.Cast(kc.Call(function, (kc.Literal(0, kc.INT),), kc.LONG), kc.LONG)


SIZES = st.sampled_from(
    [
        Size.of(N) * Size.of(M) + 3,
        ceil_div(Size.of(N), maximum(Size.of(M), Size.constant(1))),
        minimum(Size.of(N), Size.of(M) - 5),
        Size.of(N) - Size.of(M) * 2,
    ]
)
LEAVES = st.one_of(
    st.sampled_from([*map(variable, (*SCALARS, GROUP))]),
    st.sampled_from(["get_global_id", "get_local_id"]).map(identity),
    st.integers(0, 9).map(lambda value: kc.Literal(value, kc.LONG)),
    SIZES.map(kc.SizeValue),
)


def combined(parts: st.SearchStrategy[kc.Expression]) -> Any:
    """Sums and the like of expressions, divisions by what is not 0."""
    operators = st.sampled_from(["+", "-", "*", "&"])
    return st.one_of(
        st.builds(lambda s, a, b: kc.Binary(s, a, b, kc.LONG), operators, parts, parts),
        st.builds(lambda a, b: a // positive(b), parts, parts),
        st.builds(lambda a, b: positive(a) % positive(b), parts, parts),
        st.builds(
            lambda name, a, b: kc.Call(name, (a, b), kc.LONG),
            st.sampled_from(["min", "max"]),
            parts,
            parts,
        ),
        st.builds(lambda a, b: kc.Select(a < b, a, b, kc.LONG), parts, parts),
    )


def positive(exp: kc.Expression) -> kc.Expression:
    return kc.Call("max", (exp, kc.Literal(1, kc.LONG)), kc.LONG)


EXPRESSIONS = st.recursive(LEAVES, combined, max_leaves=8)


def value(
    exp: kc.Expression, values: Mapping[Name, int], ids: Mapping[str, int]
) -> int:
    """The value of an expression; a narrow one must fit."""
    found = _value(exp, values, ids)
    if exp.type == kc.INT:
        assert -SMALL <= found < SMALL, (exp, found)
    return found


def _value(exp: Any, values: Mapping[Name, int], ids: Ids) -> int:
    def of(part: kc.Expression) -> int:
        return value(part, values, ids)

    match exp:
        case kc.Variable(name):
            return values[name]
        case kc.Literal(number):
            return int(number)
        case kc.Cast(operand):
            return of(operand)
        case kc.SizeValue(size):
            return size.evaluate(values)
        case kc.Call("min" | "max" as name, operands):
            return {"min": min, "max": max}[name](map(of, operands))
        case kc.Call(name):
            return ids[name]
        case kc.Select(condition, then, otherwise):
            return of(then) if of(condition) else of(otherwise)
        case kc.Binary(symbol, left, right):
            a, b = of(left), of(right)
            quotient = abs(a) // abs(b) * (1 if a * b >= 0 else -1) if b else 0
            return {
                "+": a + b,
                "-": a - b,
                "*": a * b,
                "&": a & b,
                "/": quotient,
                "%": a - quotient * b,
                "<": int(a < b),
                ">": int(a > b),
            }[symbol]
    raise AssertionError(exp)


def after(body: kc.Block, values: Mapping[Name, int], ids: Ids) -> Values:
    """The values of variables after straight code, and the index of its store as that
    of the memory."""
    known = dict(values)
    for statement in body.statements:
        match statement:
            case kc.Declare(kc.Variable(name), init):
                assert init is not None
                known[name] = value(init, known, ids)
            case kc.Store(memory, index):
                known[memory.name] = value(index, known, ids)
    return known


def kernel_of(parts: list[kc.Expression], names: NameSource) -> kc.Kernel:
    """A kernel that stores where sums of the parts say."""
    statements: list[kc.Statement] = []
    index: kc.Expression = kc.Literal(0, kc.LONG)
    for part in parts:
        let = kc.Variable(names.fresh("x"), kc.LONG)
        statements.append(kc.Declare(let, index + part))
        index = let
    statements.append(kc.Store(MEMORY, index, kc.Literal(0.0, kc.VectorType(F32))))
    parameters = tuple(kc.ScalarParameter(name, I64) for name in SCALARS)
    memory = kc.MemoryParameter(MEMORY, True)
    body = kc.Block(tuple(statements))
    return kc.Kernel("k", (*parameters, memory), body, GROUP, False, True)


def drawn(data: st.DataObject, least: int) -> tuple[Values, Ids, Ids]:
    """Values of scalars, of what a work-item is, and of the most that it may be."""
    numbers = st.one_of(
        st.integers(least, 9), st.integers(0, SMALL // 50), st.integers(0, SMALL)
    )
    values = {name: data.draw(numbers) for name in SCALARS} | {GROUP: 16}
    groups = data.draw(st.integers(1, SMALL // 16))
    local = data.draw(st.integers(0, 15))
    ids = {"get_local_id": local, "get_global_id": (groups - 1) * 16 + local}
    return values, ids, {"get_local_id": 16, "get_global_id": groups * 16}


@settings(max_examples=300)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=3), st.data())
def test_bounds_hold(parts: list[kc.Expression], data: st.DataObject) -> None:
    names = NameSource(100)
    kernel = kernel_of(parts, names)
    bounds = Bounds(kernel, names)
    values, ids, most = drawn(data, 0)
    extents = {name: most[function] for (function, _), name in bounds.extents.items()}
    for name, found in after(kernel.body, values, ids).items():
        bound = bounds.known.get(name)
        if bound is not None:
            size = bound.size.evaluate(values | extents)
            assert abs(found) <= size
            assert found >= 0 or not bound.natural
            assert found == size or not bound.exact


@settings(max_examples=300)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=3), st.data())
def test_arithmetic_of_32_bits_is_that_of_64(
    parts: list[kc.Expression], data: st.DataObject
) -> None:
    """Where the bounds are below the limit: numbers are drawn so that they often are,
    and often are not."""
    names = NameSource(100)
    kernel = kernel_of(parts, names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrow, "LIMIT", SMALL)
        found = narrow.narrow_version(kernel, "narrow", names)
    if found is None:
        return
    values, ids, most = drawn(data, -2)
    known = values | {name: most[function] for (function, _), name in found.extents}
    if any(known[name] < 0 for name in found.natural):
        return
    if any(size.evaluate(known) >= SMALL for size in found.sizes):
        return
    body = found.kernel.body
    assert after(body, values, ids)[YS] == after(kernel.body, values, ids)[YS]


def test_sizes_that_others_contain_are_not_compared() -> None:
    n, m = Size.of(N), Size.of(M)
    assert greatest([n, n + 256, maximum(n, m)]) == (n + 256, maximum(n, m))
    assert greatest([n * m, n * m * 2, n]) == (n * m * 2, n)
    assert is_at_most(n // maximum(Size.constant(1), m) * m, n + 1)
    assert is_at_most(minimum(n, m), m) and not is_at_most(m, minimum(n, m))
    assert not is_at_most(n + 1, n) and not is_at_most(maximum(n, m), n)


SOURCE = """
entry main [n][m] (xs: [n][m]i32) (is: [n]i64) =
  (map (\\row -> i32.sum row) xs, scan (+) 0 (map (\\row -> row[0]) xs),
   hist (+) 0 m is (map (\\row -> row[m - 1]) xs), copy (transpose xs),
   tabulate n (\\i -> i * i * 1000003))
"""


@pytest.mark.device
@pytest.mark.parametrize("limit", [0, 1 << 20, LIMIT])
def test_launches_choose_by_their_sizes(
    limit: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(narrow, "LIMIT", limit)
    monkeypatch.setattr(narrow, "LONGEST", 100)
    monkeypatch.setenv("MINIFUT_DEBUG", "kernels")
    # a text that was compiled before is not compiled again
    program = minifut.compile(f"-- below {limit}{SOURCE}", schedule="gpu")
    random = np.random.default_rng(1)
    for n, m in ((3, 40), (400, 3000), (0, 2)):
        xs = random.integers(-9, 9, (n, m)).astype(np.int32)
        places = random.integers(-1, m + 1, n)
        capfd.readouterr()
        sums, prefixes, counts, turned, squares = program.main(xs, places)
        built = capfd.readouterr().err
        if n:
            assert ("transpose_narrow" in built) == (n * m < limit)
        np.testing.assert_array_equal(sums, xs.sum(1))
        np.testing.assert_array_equal(prefixes, np.cumsum(xs[:, 0]))
        wanted = [xs[places == at, m - 1].sum() for at in range(m)]
        np.testing.assert_array_equal(counts, wanted)
        np.testing.assert_array_equal(turned, xs.T)
        np.testing.assert_array_equal(squares, np.arange(n) ** 2 * 1000003)
