"""What to do about an error: nearest names, words of other languages, conversions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut import suggestions
from minifut.errors import counted
from minifut.frontend.check.messages import quote
from minifut.frontend.types import Array, Arrow, Meta, Record, Scalar, Type

_VALUES = {
    "return": "the body of a function is its result: leave 'return' out",
    "len": "did you mean 'length'?",
    "size": "did you mean 'length'?",
    "True": "it is written 'true'",
    "False": "it is written 'false'",
    "null": "there is no null: use a sum type such as #some i32 | #none",
    "None": "there is no None: use a sum type such as #some i32 | #none",
    "elif": "write 'else if'",
    "elsif": "write 'else if'",
    "print": "a program gives its results; to look at a value, write 'trace e'",
    "append": "arrays are joined by 'xs ++ ys'",
    "concatenate": "arrays are joined by 'xs ++ ys'",
    "zeros": "an array of equal elements is 'replicate n 0'",
    "ones": "an array of equal elements is 'replicate n 1'",
    "full": "an array of equal elements is 'replicate n x'",
    "arange": "the numbers below n are 'iota n', or '0..<n'",
    "range": "the numbers below n are 'iota n', or '0..<n'",
    "linspace": "an array by its positions is 'tabulate n (\\i -> e)'",
    "enumerate": "elements beside their positions are 'zip (iota n) xs'",
    "cumsum": "sums of all beginnings are 'scan (+) 0 xs'",
    "cumprod": "products of all beginnings are 'scan (*) 1 xs'",
    "prod": "did you mean 'f32.product', of the module of the elements?",
    "mean": "the mean is 'f32.sum xs / f32.i64 (length xs)'",
    "dot": "the product of two vectors is 'f32.sum (map2 (*) xs ys)'",
    "matmul": (
        "a product of matrices is 'map (\\row -> map (\\column -> "
        "f32.sum (map2 (*) row column)) (transpose b)) a'"
    ),
    "where": (
        "a choice for each element is 'map3 (\\c x y -> if c then x else y) cs xs ys'"
    ),
    "shape": "sizes are names in types: 'def f [n] (xs: [n]f32)' makes n known",
    "sort": "the package github.com/diku-dk/sorts has functions that sort",
    "argsort": "the package github.com/diku-dk/sorts has functions that sort",
    "lambda": "a function without a name begins with a backslash: '\\x -> x + 1'",
}
_ASSIGNMENT = "values do not change: what a loop's body gives is the next value"
_VALUES |= dict.fromkeys(("+=", "-=", "*=", "/="), _ASSIGNMENT)
_TYPES = {
    "int": "integers are i8, i16, i32, i64",
    "integer": "integers are i8, i16, i32, i64",
    "long": "integers are i8, i16, i32, i64",
    "short": "integers are i8, i16, i32, i64",
    "uint": "unsigned integers are u8, u16, u32, u64",
    "unsigned": "unsigned integers are u8, u16, u32, u64",
    "usize": "sizes are of type i64",
    "byte": "it is called u8",
    "char": "characters are of type u8",
    "float": "floats are f16, f32, f64",
    "real": "floats are f16, f32, f64",
    "double": "it is called f64",
    "half": "it is called f16",
    "boolean": "it is called bool",
    "string": "a string is an array of bytes: []u8",
    "str": "a string is an array of bytes: []u8",
    "void": "the empty tuple is ()",
    "unit": "the empty tuple is ()",
}
_TYPES |= {f"int{bits}": f"it is called i{bits}" for bits in (8, 16, 32, 64)}
_TYPES |= {f"uint{bits}": f"it is called u{bits}" for bits in (8, 16, 32, 64)}
_TYPES |= {f"float{bits}": f"it is called f{bits}" for bits in (16, 32, 64)}
UNDECLARED_SIZE = (
    "a size is declared before the parameters, as in 'def f [n] (xs: [n]f32)'"
)
_NUMBERS = frozenset("i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split())  # noqa: SIM905


def nearest(name: str, candidates: Iterable[str], prefix: str = "") -> str | None:
    """The names most like one that was not found."""
    return suggestions.nearest(name, candidates, 0.7, 3, prefix) or None


def unknown_value(
    name: str, known: Iterable[str], modules: Sequence[str]
) -> str | None:
    """For a value that is not in scope; `modules` are those of numbers that have it."""
    if name in _VALUES:
        return _VALUES[name]
    if modules:
        return f"it belongs to modules: {', '.join(f'{m}.{name}' for m in modules)}"
    return nearest(name, known)


def unknown_type(name: str, known: Iterable[str]) -> str | None:
    """For a type that is not in scope."""
    return _TYPES.get(name) or nearest(name, known)


def not_a_function(argument: str | None) -> str | None:
    """For what is applied though it is no function."""
    if argument in ("and", "or"):
        return f"conditions are combined by {'&&' if argument == 'and' else '||'}"
    return "an operator may be missing before the argument"


def too_many_arguments(callee: str | None, given: int) -> str | None:
    """For a function that is applied to `given` arguments, which it does not take."""
    if callee in ("map", "zip", "unzip"):
        arrays = given - 1 if callee == "map" else given
        return f"for {arrays} arrays: {callee}{arrays}" if arrays <= 5 else None
    return None


NO_TYPE_ARGUMENTS = "the dimensions of an array stand before its elements, as in []f32"
NO_FIELDS = (
    "records and tuples have fields; a function stands before its argument: 'f x', and "
    "not 'x.f'"
)


def number_of_indices(given: int, array: Type) -> str | None:
    """For an array that has fewer dimensions than there are indices."""
    rank = 0
    while isinstance(array, Array):
        rank, array = rank + 1, array.element
    if rank and isinstance(array, Scalar) and given > rank:
        has = counted(rank, "dimension")
        came = counted(given, "index", "indices")
        return f"the array has {has}, and {came} are given"
    return None


def conversion(expected: Type, actual: Type) -> str | None:
    """How to get from one type to another."""
    match expected, actual:
        case Scalar("bool"), Scalar(number) if number in _NUMBERS:
            return (
                f"compare it, as in x != 0, or convert with {quote(f'bool.{number}')}"
            )
        case Scalar(), Scalar():
            return f"convert with {quote(f'{expected.name}.{actual.name}')}"
        case Arrow(), Arrow():
            return None
        case Array(_, Scalar(wanted)), Array(_, Scalar(given)) if wanted != given:
            return (
                f"convert each element, as in map {wanted}.{given} xs, or what the "
                f"function computes, as in {given}.{wanted} x"
            )
        case _, Arrow():
            if not isinstance(expected, Meta):
                return "perhaps the function lacks an argument"
        case Arrow(), (Scalar() | Array() | Record()):
            return (
                "a function is wanted here: perhaps the arguments are in another "
                "order, or this one needs \\x -> ... around it"
            )
        case Record(), Record() if expected.is_tuple and actual.is_tuple:
            if len(expected.fields) != len(actual.fields):
                return (
                    f"{len(expected.fields)} components are wanted, "
                    f"there are {len(actual.fields)}"
                )
    return None


def number_required(actual: Type, is_float: bool) -> str | None:
    """For an expression where a number of some kind is required."""
    match actual:
        case Array():
            return (
                "an argument before it may be missing; to work on each element, use map"
            )
        case Arrow():
            return (
                "perhaps the function lacks an argument; a negative argument needs "
                "parentheses, as in f (-1)"
            )
        case Scalar(name) if is_float and name in _NUMBERS:
            return f"convert with {quote(f'f32.{name}')} or {quote(f'f64.{name}')}"
    return None


def float_literal(expected: Type, argument: str) -> str | None:
    """For a number with a point where an integer must be."""
    is_integer = isinstance(expected, Scalar) and expected.name in _NUMBERS
    if is_integer and argument.replace(".", "", 1).isdigit() and "." in argument:
        whole = argument.split(".")[0] or "0"
        return f"a number with a point is a float: write {whole}, or convert"
    return None
