"""The operator table: integers against Python's numbers, identities, text forms."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minifut.ir import scalars
from minifut.ir.constant_folding import ARITHMETIC, fold
from minifut.ir.core import Constant
from minifut.ir.scalar_meaning import apply, dtype_of
from minifut.ir.scalar_opencl import spelling
from minifut.ir.scalar_table import Identities, OperatorCost, Row
from minifut.ir.scalars import (
    OPERATORS,
    Operator,
    all_operators,
    convert,
    identities,
    integer_range,
    known_truth,
    operator,
    operator_cost,
    parse_operator,
    partials,
)
from minifut.ir.types import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    INTEGERS,
    U8,
    U32,
    U64,
    ScalarType,
)
from minifut.lowering.host.operators import host_text


def wrapped(number: int, type_: ScalarType) -> int:
    number %= 2**type_.bits
    greatest = integer_range(type_)[1]
    return number if number <= greatest else number - 2**type_.bits


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def expected(name: str, x: int, y: int, type_: ScalarType) -> int:
    bits = type_.bits
    shift = y % 2**bits
    match name:
        case "div":
            return x // y if y else 0
        case "mod":
            return x % y if y else 0
        case "quot":
            return truncated(x, y) if y else 0
        case "rem":
            return x - truncated(x, y) * y if y else 0
        case "pow":
            return pow(x, y, 2**bits) if y >= 0 else 0
        case "shl":
            return x << shift if shift < bits else 0
        case "shr":
            return x >> min(shift, bits)
        case "mul_hi":
            return (x * y) >> bits
        case "min":
            return min(x, y)
        case "max":
            return max(x, y)
    symbol = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
    return int(eval(f"x {symbol[name]} y", {"x": x, "y": y}))


BINARY = ("add", "sub", "mul", "div", "mod", "quot", "rem", "pow", "min", "max", "and",
          "or", "xor", "shl", "shr", "mul_hi")  # fmt: skip


@st.composite
def integers(draw: st.DrawFn) -> tuple[ScalarType, int, int]:
    type_ = draw(st.sampled_from(INTEGERS))
    least, greatest = integer_range(type_)
    number = st.one_of(
        st.integers(least, greatest),
        st.integers(max(-9, least), 70),
        st.sampled_from([least, greatest]),
    )
    return type_, draw(number), draw(number)


@given(integers())
def test_integer_arithmetic_wraps_and_is_total(
    case: tuple[ScalarType, int, int],
) -> None:
    type_, x, y = case
    left, right = Constant(x, type_), Constant(y, type_)
    for name in BINARY:
        found = fold(operator(name, type_), left, right)
        assert found.value == wrapped(expected(name, x, y, type_), type_), name


@given(integers())
def test_integer_functions(case: tuple[ScalarType, int, int]) -> None:
    type_, x, y = case
    unsigned = x % 2**type_.bits
    low = (unsigned & -unsigned).bit_length() - 1
    answers = {
        "neg": -x,
        "not": ~x,
        "abs": abs(x),
        "sgn": (x > 0) - (x < 0),
        "popc": unsigned.bit_count(),
        "clz": type_.bits - unsigned.bit_length(),
        "ctz": low if unsigned else type_.bits,
    }
    for name, answer in answers.items():
        op = operator(name, type_)
        found = fold(op, Constant(x, type_))
        assert found.value == wrapped(answer, op.result), name
    high = fold(operator("mad_hi", type_), *[Constant(v, type_) for v in (x, y, y)])
    assert high.value == wrapped(((x * y) >> type_.bits) + y, type_)


def values(type_: ScalarType) -> np.ndarray:
    dtype = dtype_of(type_)
    random = np.random.default_rng(3)
    if type_.kind == "bool":
        return np.array([False, True] * 12)
    if type_.is_integer:
        least, greatest = integer_range(type_)
        edges = np.array([0, 1, 2, 3, least, greatest, greatest - 1, 7], dtype)
        return np.concatenate(
            [edges, random.integers(least, greatest, 16, dtype=dtype, endpoint=True)]
        )
    edges = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5], dtype)
    return np.concatenate([edges, (random.normal(size=16) * 9).astype(dtype)])


@pytest.mark.parametrize("op", all_operators(), ids=str)
def test_scalars_and_arrays_agree_and_have_the_result_type(op: Operator) -> None:
    random = np.random.default_rng(5)
    operands = [random.permutation(values(t)) for t in op.operands]
    whole = apply(op, *operands)
    assert whole.dtype == dtype_of(op.result)
    for i, found in enumerate(whole):
        single = apply(op, *[operand[i] for operand in operands])
        assert isinstance(single, np.generic) and single.dtype == whole.dtype
        np.testing.assert_allclose(single, found, rtol=2e-3)


def test_text_forms_read_back() -> None:
    for op in all_operators():
        assert parse_operator(str(op)) is op
    assert str(convert(I32, F64)) == "convert_i32_f64"
    assert parse_operator("add_bool") is None
    assert parse_operator("convert_i32_text") is None


@pytest.mark.parametrize("op", OPERATORS.values(), ids=str)
def test_identities_hold(op: Operator) -> None:
    known = identities(op)
    if len(op.operands) != 2 or op.operands[0] != op.operands[1]:
        assert known == type(known)()
        return
    dtype = dtype_of(op.operands[0])
    xs, ys = values(op.operands[0]), np.roll(values(op.operands[0]), 5)

    def check(found: np.ndarray, answer: object) -> None:
        wanted = np.broadcast_to(np.asarray(answer, dtype_of(op.result)), found.shape)
        np.testing.assert_array_equal(found, wanted)

    if known.left_neutral is not None:
        check(apply(op, dtype.type(known.left_neutral), xs), xs)
    if known.right_neutral is not None:
        check(apply(op, xs, dtype.type(known.right_neutral)), xs)
    if known.left_absorbing is not None:
        check(apply(op, dtype.type(known.left_absorbing), xs), known.left_absorbing)
    if known.right_absorbing is not None:
        check(apply(op, xs, dtype.type(known.right_absorbing)), known.right_absorbing)
    if known.equal_operands is not None:
        check(apply(op, xs, xs), known.equal_operands)
    if known.idempotent:
        check(apply(op, xs, xs), xs)
    if known.commutative:
        check(apply(op, xs, ys), apply(op, ys, xs))


TRUTHS = [op for op in OPERATORS.values() if {*op.operands, op.result} == {BOOL}]


@pytest.mark.parametrize("op", TRUTHS, ids=str)
def test_what_is_known_of_truths_holds_whatever_the_others_are(op: Operator) -> None:
    for known in product((False, True, None), repeat=len(op.operands)):
        found = known_truth(op.name, known)
        whole = product(*((False, True) if v is None else (v,) for v in known))
        outcomes = {bool(apply(op, *map(np.bool_, each))) for each in whole}
        assert found is None or outcomes == {found}
    assert known_truth("and", (None, False)) is False
    assert known_truth("or", (True, None)) is True


def test_floats_are_computed_in_their_own_type() -> None:
    third = apply(operator("div", F32), np.float32(1), np.float32(3))
    assert third.dtype == np.float32 and float(third) != 1 / 3
    half = apply(operator("add", F16), np.float16(2048), np.float16(1))
    assert half == np.float16(2048)


def test_the_rest_of_floats_has_the_sign_of_the_dividend() -> None:
    for name in ("mod", "rem"):
        found = apply(operator(name, F64), *np.array([[-7.5, 7.5], [2.0, -2.0]]))
        assert found.tolist() == [-1.5, 1.5]


@pytest.mark.parametrize(
    ("number", "target", "answer"),
    [
        (1e30, I32, 2**31 - 1), (-1e30, I32, -(2**31)), (-1.9, I32, -1),
        (math.nan, I32, 0), (math.inf, I64, 0), (1e19, I64, 2**63 - 1),
        (-1.0, U8, 255), (-1.9, U64, 2**64 - 1), (-200.0, U8, 128), (-0.5, U8, 0),
        (300.0, U8, 255), (127.9, I8, 127), (3e9, U32, 3 * 10**9),
    ],
)  # fmt: skip
def test_floats_to_integers(number: float, target: ScalarType, answer: int) -> None:
    assert fold(convert(F64, target), Constant(number, F64)).value == answer


def test_a_row_makes_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns of one row are all that is known of an operator."""
    row = Row(
        (I32, F32), "difference", "xxx", "subtract", "1; -1", "wrap({0} - {1})",
        host="same", cost=OperatorCost.DIVISION, laws=Identities(equal_operands=0),
    )  # fmt: skip
    for type_ in row.types:
        monkeypatch.setitem(scalars.ROWS, (row.name, type_.name), row)
        made = scalars.operator_of(row, type_)
        monkeypatch.setitem(OPERATORS, (row.name, type_.name), made)
    known = operator("difference", I32)
    assert parse_operator("difference_i32") is known
    assert fold(known, Constant(-(2**31), I32), Constant(1, I32)).value == 2**31 - 1
    assert spelling(known).text("a", "b") == "(int)((uint)a - (uint)b)"
    assert (
        spelling(known).text("a", "b", width=4) == "as_int4(as_uint4(a) - as_uint4(b))"
    )
    assert host_text(known) == "wrap_i32({0} - {1})"
    assert partials(known) == ("1", "-1")
    assert operator_cost(known) is OperatorCost.DIVISION
    of_floats = operator("difference", F32)
    assert spelling(of_floats).text("a", "b") == "(a - b)"
    assert identities(known).equal_operands == 0
    assert identities(of_floats).equal_operands is None


SAMPLES = (0.0, -0.0, 1.0, 7.0, 1 / 3, -1e-30, 3e38, 1.7e308, math.inf, math.nan)


@pytest.mark.parametrize(
    "of",
    [each for each in all_operators() if each.name in (*ARITHMETIC, "div")],
    ids=str,
)
def test_constants_are_folded_as_numpy_computes(of: Operator) -> None:
    def samples(type_: ScalarType) -> list[float]:
        if type_.is_float:
            return [float(type_.nearest(x)) for x in SAMPLES]
        return [0, 1] if type_.kind == "bool" else [*integer_range(type_), 0, 1, 7]

    for numbers in product(*map(samples, of.operands)):
        pairs = [(t.nearest(x), t) for x, t in zip(numbers, of.operands, strict=True)]
        expected = apply(of, *(dtype_of(type_).type(x) for x, type_ in pairs)).item()
        folded = fold(of, *(Constant(x, type_) for x, type_ in pairs))
        assert folded.type == of.result
        assert type(folded.value) is type(expected)
        assert repr(folded.value) == repr(expected)
