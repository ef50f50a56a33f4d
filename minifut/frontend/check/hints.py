"""What to do about an error: nearest names, words of other languages, conversions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut import suggestions
from minifut.frontend.check.messages import quote
from minifut.frontend.types import Array, Arrow, Meta, Record, Scalar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minifut.frontend.types import Type

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
}
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
_NUMBERS = frozenset("i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64".split())  # noqa: SIM905


def nearest(name: str, candidates: Iterable[str], prefix: str = "") -> str | None:
    """The names most like one that was not found."""
    return suggestions.nearest(name, candidates, 0.7, 3, prefix) or None


def unknown_value(name: str, known: Iterable[str], in_modules: bool) -> str | None:
    """For a value that is not in scope; `in_modules`: the modules of floats have it."""
    if name in _VALUES:
        return _VALUES[name]
    if in_modules:
        return f"it belongs to modules: f32.{name}, f64.{name}"
    return nearest(name, known)


def unknown_type(name: str, known: Iterable[str]) -> str | None:
    """For a type that is not in scope."""
    return _TYPES.get(name) or nearest(name, known)


def not_a_function(argument: str | None) -> str | None:
    """For what is applied though it is no function."""
    if argument in ("and", "or"):
        return f"conditions are combined by {'&&' if argument == 'and' else '||'}"
    return "an operator may be missing before the argument"


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


def number_wanted(actual: Type, is_float: bool, argument: str) -> str | None:
    """For what stands where a number of some kind must be; `argument` as written."""
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
