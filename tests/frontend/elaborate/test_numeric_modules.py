"""The numeric modules, by name, against Python's integers and double precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from .running import core_of, run

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def bits_of(module: str) -> int:
    return int(module[1:])


def dtype_of(module: str) -> np.dtype:
    kinds = {"i": "int", "u": "uint", "f": "float"}
    return np.dtype(f"{kinds[module[0]]}{bits_of(module)}")


def wrap(module: str, number: int) -> int:
    bits = bits_of(module)
    low = number % 2**bits
    return low - 2**bits if module[0] == "i" and low >= 2 ** (bits - 1) else low


def edges(module: str) -> list[int]:
    bits = bits_of(module)
    raw = [0, 1, 2, 3, 5, 7, 8, 100, -1, -2, -7, -100]
    raw += [2 ** (bits - 1) + d for d in (-2, -1, 0, 1)] + [2**bits - 1, 2**bits // 3]
    return sorted({wrap(module, number) for number in raw})


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def integer_functions(module: str) -> dict[str, Callable[[int, int], int]]:
    bits = bits_of(module)

    def low(x: int) -> int:
        return x % 2**bits

    return {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "/": lambda x, y: x // y,
        "//": quotient,
        "%": lambda x, y: x % y,
        "%%": lambda x, y: x - quotient(x, y) * y,
        "&": lambda x, y: x & y,
        "|": lambda x, y: x | y,
        "^": lambda x, y: x ^ y,
        "min": min,
        "max": max,
        "mul_hi": lambda x, y: (x * y) >> bits,
    }


def shifts(module: str) -> dict[str, Callable[[int, int], int]]:
    bits = bits_of(module)
    return {
        "<<": lambda x, y: x << y,
        ">>": lambda x, y: x >> y,
        ">>>": lambda x, y: (x % 2**bits) >> y,
    }


def unary(module: str) -> dict[str, Callable[[int], int]]:
    bits = bits_of(module)

    def low(x: int) -> int:
        return x % 2**bits

    return {
        "neg": lambda x: -x,
        "not": lambda x: ~x,
        "abs": abs,
        "sgn": lambda x: (x > 0) - (x < 0),
        "popc": lambda x: low(x).bit_count(),
        "clz": lambda x: bits - low(x).bit_length(),
        "ctz": lambda x: (low(x) & -low(x)).bit_length() - 1 if x else bits,
    }


def member(module: str, name: str) -> str:
    return f"({module}.{name})" if not name[0].isalpha() else f"{module}.{name}"


def mapped(module: str, names: list[str], arity: int) -> str:
    """Entry points that apply each of some members to all elements."""
    parameters = "".join(f" (x{i}: [n]{module})" for i in range(arity))
    arguments = "".join(f" x{i}" for i in range(arity))
    return "\n".join(
        f"entry at{i} [n]{parameters} = map{arity} {member(module, name)}{arguments}"
        for i, name in enumerate(names)
    )


@pytest.mark.parametrize("module", INTEGERS)
def test_binary_integer_functions(module: str) -> None:
    pairs = [(x, y) for x in edges(module) for y in edges(module)]
    bits = bits_of(module)
    for functions, allowed in (
        (integer_functions(module), [(x, y) for x, y in pairs if y != 0]),
        (shifts(module), [(x, y % bits) for x, y in pairs]),
    ):
        program = core_of(mapped(module, list(functions), 2))
        columns = [np.array(c, dtype_of(module)) for c in zip(*allowed, strict=True)]
        for i, (name, meaning) in enumerate(functions.items()):
            (found,) = run(program, f"at{i}", columns)
            expected = [wrap(module, meaning(x, y)) for x, y in allowed]
            assert found.tolist() == expected, name


@pytest.mark.parametrize("module", INTEGERS)
def test_unary_integer_functions(module: str) -> None:
    functions = unary(module)
    program = core_of(mapped(module, list(functions), 1))
    column = np.array(edges(module), dtype_of(module))
    for i, (name, meaning) in enumerate(functions.items()):
        (found,) = run(program, f"at{i}", [column])
        expected = [wrap(module, meaning(x)) for x in edges(module)]
        assert found.tolist() == expected, name


@pytest.mark.parametrize("module", INTEGERS)
def test_constants_bits_and_reductions(module: str) -> None:
    t, bits = module, bits_of(module)
    text = f"""
    entry constants = ({t}.highest, {t}.lowest, {t}.num_bits)
    entry sums (xs: []{t}) =
      ({t}.sum xs, {t}.product xs, {t}.maximum xs, {t}.minimum xs)
    entry bits [n] (xs: [n]{t}) =
      map (\\x -> tabulate {bits} (\\i -> {t}.get_bit (i32.i64 i) x)) xs
    entry set (x: {t}) =
      tabulate {bits} (\\i -> {t}.set_bit (i32.i64 i) x (1 - {t}.get_bit (i32.i64 i) x))
    entry hi [n] (xs: [n]{t}) (y: {t}) (z: {t}) = map (\\x -> {t}.mad_hi x y z) xs
    """
    program = core_of(text)
    greatest = 2 ** (bits - 1) - 1 if t[0] == "i" else 2**bits - 1
    least = wrap(t, greatest + 1)
    found = [value.item() for value in run(program, "constants", [])]
    assert found == [greatest, least, bits]
    numbers = edges(t)
    column = np.array(numbers, dtype_of(t))
    sums = [value.item() for value in run(program, "sums", [column])]
    assert sums == [
        wrap(t, sum(numbers)),
        wrap(t, math.prod(numbers)),
        max(numbers),
        min(numbers),
    ]
    empty = [value.item() for value in run(program, "sums", [column[:0]])]
    assert empty == [0, 1, least, greatest]
    (found_bits,) = run(program, "bits", [column])
    assert found_bits.tolist() == [[x >> i & 1 for i in range(bits)] for x in numbers]
    for x in numbers:
        (flipped,) = run(program, "set", [dtype_of(t).type(x)])
        assert flipped.tolist() == [wrap(t, x ^ (1 << i)) for i in range(bits)]
    y, z = wrap(t, 2**bits // 3), wrap(t, 77)
    scalars = [dtype_of(t).type(v) for v in (y, z)]
    (high,) = run(program, "hi", [column, *scalars])
    assert high.tolist() == [wrap(t, ((x * y) >> bits) + z) for x in numbers]


@pytest.mark.parametrize("module", INTEGERS)
def test_conversions_of_integers_keep_the_low_bits(module: str) -> None:
    """A wider unsigned number gets zeros in front, whatever it comes from."""
    lines = [
        f"entry at{i} [n] (xs: [n]{other}) = map {module}.{other} xs"
        for i, other in enumerate(INTEGERS)
    ]
    program = core_of("\n".join(lines))
    for i, other in enumerate(INTEGERS):
        (found,) = run(program, f"at{i}", [np.array(edges(other), dtype_of(other))])
        is_signed = module[0] == "i" and other[0] == "i"
        raw = [x if is_signed else x % 2 ** bits_of(other) for x in edges(other)]
        assert found.tolist() == [wrap(module, x) for x in raw], other


def ulps(module: str, found: np.ndarray, exact: list[float]) -> float:
    """The greatest distance in units of the last place of the exact values."""
    kind = FLOATS[module]
    with np.errstate(all="ignore"):
        wanted = np.array([kind(v) for v in exact], kind)
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        gap = np.abs(found.astype(np.float64) - np.array(exact, np.float64))
        last = np.maximum(np.spacing(np.abs(wanted)).astype(np.float64), 1e-320)
        return float(np.max(np.where(same, 0.0, gap / last)))


def tolerant(function: Callable[..., float]) -> Callable[..., float]:
    """The function with IEEE's answers where Python raises."""

    def call(*numbers: float) -> float:
        try:
            return function(*numbers)
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf

    return call


def half_even(x: float) -> float:
    return float(round(x)) if math.isfinite(x) else x


UNARY_FLOATS: dict[str, tuple[Callable[[float], float], float]] = {
    # name: (reference, ulps allowed)
    "sqrt": (math.sqrt, 0.5),
    "cbrt": (math.cbrt, 2),
    "rsqrt": (lambda x: 1 / math.sqrt(x), 4),
    "recip": (lambda x: 1 / x, 0.5),
    "exp": (math.exp, 3),
    "log": (math.log, 3),
    "log2": (math.log2, 3),
    "log10": (math.log10, 3),
    "log1p": (math.log1p, 3),
    "sin": (math.sin, 4),
    "cos": (math.cos, 4),
    "tan": (math.tan, 5),
    "asin": (math.asin, 4),
    "acos": (math.acos, 4),
    "atan": (math.atan, 5),
    "sinh": (math.sinh, 4),
    "cosh": (math.cosh, 4),
    "tanh": (math.tanh, 5),
    "asinh": (math.asinh, 4),
    "acosh": (math.acosh, 4),
    "atanh": (math.atanh, 5),
    "erf": (math.erf, 16),
    "erfc": (math.erfc, 16),
    "gamma": (math.gamma, 16),
    "lgamma": (math.lgamma, 16),
    "floor": (math.floor, 0),
    "ceil": (math.ceil, 0),
    "trunc": (math.trunc, 0),
    "round": (half_even, 0),
    "abs": (abs, 0),
    "neg": (lambda x: -x, 0),
    "sgn": (lambda x: math.copysign(1.0, x) if x else 0.0, 0),
}
POINTS = [0.1, 0.25, 0.5, 0.75, 0.999, 1.0, 1.5, 2.0, 2.5, 3.5, 4.25, 7.0, 10.5]


@pytest.mark.parametrize("module", FLOATS)
def test_unary_float_functions(module: str) -> None:
    kind = FLOATS[module]
    column = np.array([*POINTS, *(-p for p in POINTS)], kind)
    program = core_of(mapped(module, list(UNARY_FLOATS), 1))
    for i, (name, (reference, allowed)) in enumerate(UNARY_FLOATS.items()):
        exact = [tolerant(reference)(float(x)) for x in column]
        (found,) = run(program, f"at{i}", [column])
        assert found.dtype == column.dtype
        keep = [n for n, v in enumerate(exact) if math.isfinite(v)]
        assert ulps(module, found[keep], [exact[n] for n in keep]) <= allowed, name


BINARY_FLOATS: dict[str, tuple[Callable[[float, float], float], float]] = {
    "+": (lambda x, y: x + y, 0.51),
    "*": (lambda x, y: x * y, 0.51),
    "/": (lambda x, y: x / y, 0.51),
    "%": (math.fmod, 0),
    "**": (lambda x, y: math.pow(x, y), 3),
    "min": (min, 0),
    "max": (max, 0),
    "atan2": (math.atan2, 6),
    "hypot": (math.hypot, 4),
    "copysign": (math.copysign, 0),
}


@pytest.mark.parametrize("module", FLOATS)
def test_binary_float_functions(module: str) -> None:
    kind = FLOATS[module]
    numbers = [float(kind(p)) for p in (*POINTS[::2], -0.5, -3.5)]
    pairs = [(x, y) for x in numbers for y in numbers]
    columns = [np.array(c, kind) for c in zip(*pairs, strict=True)]
    program = core_of(mapped(module, list(BINARY_FLOATS), 2))
    for i, (name, (reference, allowed)) in enumerate(BINARY_FLOATS.items()):
        exact = [tolerant(reference)(x, y) for x, y in pairs]
        (found,) = run(program, f"at{i}", columns)
        keep = [n for n, v in enumerate(exact) if abs(v) < 60000]
        assert ulps(module, found[keep], [exact[n] for n in keep]) <= allowed, name


@pytest.mark.parametrize("module", FLOATS)
def test_what_only_floats_have(module: str) -> None:
    t, kind, bits = module, FLOATS[module], bits_of(module)
    text = f"""
    entry constants = ({t}.inf, {t}.nan, {t}.pi, {t}.e, {t}.epsilon, {t}.highest,
                       {t}.lowest, {t}.num_bits)
    entry tests (x: {t}) = ({t}.isnan x, {t}.isinf x)
    entry there_and_back [n] (xs: [n]{t}) =
      (map {t}.to_bits xs, map (\\x -> {t}.from_bits ({t}.to_bits x)) xs)
    entry others (x: {t}) (y: {t}) (z: {t}) =
      ({t}.lerp x y z, {t}.mad x y z, {t}.fma x y z, {t}.ldexp x 3,
       {t}.nextafter x y, {t}.from_fraction 7 4)
    entry bit (x: {t}) = ({t}.get_bit {bits - 1} x, {t}.set_bit {bits - 1} x 1)
    """
    program = core_of(text)
    info = np.finfo(kind)
    found = [value.item() for value in run(program, "constants", [])]
    assert math.isinf(found[0]) and math.isnan(found[1])
    constants = [float(kind(math.pi)), float(kind(math.e)), float(info.eps)]
    assert found[2:] == [*constants, math.inf, -math.inf, bits]
    for x, answer in ((1.0, [0, 0]), (math.nan, [1, 0]), (-math.inf, [0, 1])):
        assert [v.item() for v in run(program, "tests", [kind(x)])] == answer
    column = np.array([0.0, -0.0, 1.5, -2.0, math.inf, info.tiny], kind)
    raw, back = run(program, "there_and_back", [column])
    assert raw.tolist() == column.view(f"uint{bits}").tolist()
    assert back.tobytes() == column.tobytes()
    given = [kind(v) for v in (1.5, 2.5, 0.5)]
    answer = [v.item() for v in run(program, "others", given)]
    after = float(np.nextafter(kind(1.5), kind(2.5)))
    assert answer == [2.0, 4.25, 4.25, 12.0, after, 1.75]
    sign, negative = run(program, "bit", [kind(1.5)])
    assert (sign.item(), negative.item()) == (0, -1.5)


@pytest.mark.parametrize("module", FLOATS)
def test_conversions_of_floats_truncate(module: str) -> None:
    kind = FLOATS[module]
    lines = [
        f"entry at{i} [n] (xs: [n]{module}) = map {other}.{module} xs"
        for i, other in enumerate(INTEGERS)
    ]
    program = core_of("\n".join(lines))
    numbers = [0.0, 0.9, 1.5, 99.99, 127.0]
    for i, other in enumerate(INTEGERS):
        signed = [-0.5, -1.5, -99.5] if other[0] == "i" else []
        column = np.array([*numbers, *signed], kind)
        (found,) = run(program, f"at{i}", [column])
        assert found.tolist() == [math.trunc(float(x)) for x in column], other


def test_booleans_convert_to_one_and_zero() -> None:
    modules = [*INTEGERS, *FLOATS]
    pairs = ", ".join(f"{m}.bool b, bool.{m} ({m}.i32 2)" for m in modules)
    program = core_of(f"entry main (b: bool) = ({pairs})")
    for b in (False, True):
        found = [value.item() for value in run(program, "main", [np.bool_(b)])]
        assert found[::2] == [int(b)] * len(modules)
        assert all(found[1::2])
