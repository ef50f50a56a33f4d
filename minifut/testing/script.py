"""FutharkScript: expressions that make the input of a test by calling entry points.

    script input { let (n, xs) = generate 10 in (n, scale 2.0 xs) }

Functions are the program's entry points, partial application allowed; one without
parameters stands for its value. A number without a suffix takes the type of the
parameter that it is given to. A tuple given to a function of as many parameters is
spread over them. Values that only the program understands flow from one entry point to
the next untouched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minifut.errors import UsageError, counted
from minifut.program import EntryPoint, Program
from minifut.signature import Parameter
from minifut.values.reader import read_file, read_values
from minifut.values.text import Malformed, read_value, unescape
from minifut.values.types import DTYPES, as_value


@dataclass(frozen=True, slots=True)
class Plain:
    """A number without a suffix: its type is decided where it is used."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Partial:
    """A function with some of its arguments."""

    name: str
    count: int
    function: Callable[[list[Any]], Any]
    arguments: tuple[Any, ...] = ()


_TOKEN = re.compile(
    r"""\s*(?:--[^\n]*\s*)*(?:
      (?P<number>-?[0-9][0-9A-Za-z_]*(?:\.[0-9][0-9A-Za-z_]*)?(?:(?<=[eE])[+-][0-9a-z]+)?
        |-?f(?:16|32|64)\.(?:nan|inf)\b)
    | (?P<name>\$?[A-Za-z_][A-Za-z0-9_']*)
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<mark>[][(){}=,.])
    | (?P<end>\Z))""",
    re.VERBOSE,
)


def script_arguments(
    program: Program, entry: EntryPoint, text: str, folder: Path
) -> list[Any]:
    """The arguments for an entry point that a script makes."""
    script = Script(program, text, folder)
    value = script.whole()
    count = len(entry.parameters)
    values = [value]
    if isinstance(value, tuple) and count != 1:
        values = list(value)
    if len(values) != count:
        raise UsageError(
            f"script: {entry.name} takes {counted(count, 'value')}, "
            f"the script gives {len(values)}"
        )
    pairs = zip(entry.parameters, values, strict=True)
    return [coerced(parameter, value) for parameter, value in pairs]


def coerced(parameter: Parameter, value: Any) -> Any:
    """A number without a suffix in the type of the parameter."""
    if isinstance(value, Plain):
        expected = parameter.value_type
        if expected is None or expected.rank:
            raise UsageError(
                f"script: parameter {parameter.name} is of type "
                f"{parameter.type_text}, not a number"
            )
        if isinstance(value.value, float) and expected.element[0] != "f":
            raise UsageError(f"script: {value.value} is not of type {expected}")
        return DTYPES[expected.element].type(value.value)
    return settled(value)


def settled(value: Any) -> Any:
    """A value in which every number has a type: i32 and f64 by default."""
    match value:
        case Plain(number):
            return np.int32(number) if isinstance(number, int) else np.float64(number)
        case tuple():
            return tuple(settled(item) for item in value)
        case dict():
            return {name: settled(item) for name, item in value.items()}
        case Partial(name):
            raise UsageError(f"script: {name} is given too few arguments")
        case _:
            return value


class Script:
    """One script: read and evaluated in one go, as nothing in it is repeated."""

    def __init__(self, program: Program, text: str, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while not self.tokens or self.tokens[-1][0] != "end":
            found = _TOKEN.match(text, position)
            if found is None or found.lastgroup is None:
                at = text[position : position + 20].strip()
                raise UsageError(f"script: byte {position}: '{at}' was not expected")
            kind = found.lastgroup
            self.tokens.append((kind, found[kind], found.start(kind)))
            position = found.end()
        self.next = 0

    def fail(self, message: str) -> UsageError:
        return UsageError(f"script: byte {self.tokens[self.next][2]}: {message}")

    def take(self, *texts: str) -> bool:
        """Past the token if it is one of these words or marks."""
        kind, text, _ = self.tokens[self.next]
        if kind in ("name", "mark") and text in texts:
            self.next += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            raise self.fail(f"'{text}' was expected")

    def name(self) -> str:
        kind, text, _ = self.tokens[self.next]
        if kind != "name":
            raise self.fail("a name was expected")
        self.next += 1
        return text

    def whole(self) -> Any:
        """The value of the whole script."""
        value = self.expression({})
        if self.tokens[self.next][0] != "end":
            raise self.fail(f"'{self.tokens[self.next][1]}' was not expected")
        return value

    def expression(self, scope: Mapping[str, Any]) -> Any:
        if self.take("let"):
            names = [self.name()] if not self.take("(") else self.names()
            self.need("=")
            value = self.expression(scope)
            self.need("in")
            return self.expression({**scope, **self.bound(names, value)})
        function = self.projected(scope)
        while self.starts_atom():
            if not isinstance(function, Partial):
                raise self.fail("only functions can be applied")
            function = apply(function, self.projected(scope))
        return function

    def names(self) -> list[str]:
        found = [self.name()]
        while self.take(","):
            found.append(self.name())
        self.need(")")
        return found

    def bound(self, names: list[str], value: Any) -> dict[str, Any]:
        if len(names) == 1:
            return {names[0]: value}
        if not isinstance(value, tuple) or len(value) != len(names):
            raise self.fail(f"a tuple of {len(names)} was expected")
        return dict(zip(names, value, strict=True))

    def starts_atom(self) -> bool:
        kind, text, _ = self.tokens[self.next]
        if kind == "name":
            return text not in ("in", "let")
        return kind in ("number", "string") or text in ("(", "[", "{")

    def projected(self, scope: Mapping[str, Any]) -> Any:
        """An atom with the fields and indices after it."""
        value = self.atom(scope)
        while True:
            end = self.tokens[self.next - 1][2] + len(self.tokens[self.next - 1][1])
            adjacent = self.tokens[self.next][2] == end
            if self.take("."):
                kind, field, _ = self.tokens[self.next]
                self.next += kind in ("name", "number")
                value = self.field(value, field)
            elif adjacent and self.take("["):
                indices = self.sequence("]", scope)
                value = self.element(value, [settled(index) for index in indices])
            else:
                return value

    def field(self, value: Any, field: str) -> Any:
        if isinstance(value, dict) and field in value:
            return value[field]
        if isinstance(value, tuple) and field.isdigit() and int(field) < len(value):
            return value[int(field)]
        raise self.fail(f"there is no field '{field}'")

    def element(self, value: Any, indices: list[Any]) -> Any:
        if not isinstance(value, np.ndarray):
            raise self.fail("only arrays can be indexed")
        try:
            return as_value(value[tuple(int(index) for index in indices)])
        except (IndexError, TypeError):
            raise self.fail("the index is out of bounds") from None

    def sequence(self, close: str, scope: Mapping[str, Any]) -> list[Any]:
        """Expressions with commas between them, up to the bracket."""
        found: list[Any] = []
        while not self.take(close):
            if found:
                self.need(",")
            found.append(self.expression(scope))
        return found

    def atom(self, scope: Mapping[str, Any]) -> Any:
        kind, text, start = self.tokens[self.next]
        self.next += 1
        if kind == "number":
            return self.number(text)
        if kind == "string":
            data = unescape(text[1:-1]).encode()
            return np.frombuffer(data, np.uint8).copy()
        if kind == "name":
            return self.named(text, start, scope)
        if text == "(":
            items = self.sequence(")", scope)
            return items[0] if len(items) == 1 else tuple(items)
        if text == "[":
            return self.array(self.sequence("]", scope))
        if text == "{":
            return self.record(scope)
        self.next -= 1
        raise self.fail(f"a value was expected, not '{text}'")

    def record(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self.take("}"):
            if found:
                self.need(",")
            name = self.name()
            self.need("=")
            found[name] = self.expression(scope)
        return found

    def array(self, items: list[Any]) -> Any:
        """An array; a number without a suffix takes the type of one with."""
        typed = [item for item in items if isinstance(item, np.generic)]
        rows = [
            typed[0].dtype.type(item.value)
            if typed and _fits(item, typed[0].dtype)
            else settled(item)
            for item in items
        ]
        if not rows or len({(r.dtype, r.shape) if hasattr(r, "dtype") else ()
                            for r in rows}) != 1:  # fmt: skip
            raise self.fail("an array needs rows of one type and shape")
        return as_value(np.stack([np.asarray(row) for row in rows]))

    def number(self, text: str) -> Any:
        try:
            value, end = read_value(text.encode(), 0)
        except Malformed as error:
            raise self.fail(error.message) from None
        if end != len(text):
            raise self.fail(f"'{text}' is not a number")
        if re.search(r"[iu](?:8|16|32|64)$|f(?:16|32|64)", text):
            return value
        return Plain(value.item())

    def named(self, name: str, start: int, scope: Mapping[str, Any]) -> Any:
        if name in scope:
            return scope[name]
        if name in ("true", "false"):
            return np.bool_(name == "true")
        if name == "empty":
            value, end = read_value(self.text.encode(), start)
            while self.tokens[self.next][2] < end:
                self.next += 1
            return value
        if name.startswith("$"):
            return self.builtin(name)
        entry = self.program.entry(name)
        function = Partial(name, len(entry.parameters), lambda a: call(entry, a))
        return call(entry, []) if not entry.parameters else function

    def builtin(self, name: str) -> Partial:
        readers = {"$loaddata": self.load_data, "$loadbytes": self.load_bytes}
        if name not in readers:
            raise self.fail(f"there is no procedure {name}")
        return Partial(name, 1, lambda arguments: readers[name](arguments[0]))

    def load_data(self, path: Any) -> Any:
        name = _as_text(path)
        values = read_values(read_file(self.folder / name), name, wrap=True)
        return values[0] if len(values) == 1 else tuple(values)

    def load_bytes(self, path: Any) -> Any:
        return np.frombuffer(read_file(self.folder / _as_text(path)), np.uint8).copy()


def _fits(item: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number without a suffix can be of the type."""
    number = isinstance(item, Plain) and dtype.kind in "iuf"
    return number and (dtype.kind == "f" or isinstance(item.value, int))


def _as_text(value: Any) -> str:
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8:
        raise UsageError("script: a file name in quotes was expected")
    return bytes(value).decode()


def apply(function: Partial, argument: Any) -> Any:
    """One more argument; the result once there are enough of them."""
    given: tuple[Any, ...] = (*function.arguments, argument)
    if not function.arguments and isinstance(argument, tuple):
        given = argument if len(argument) == function.count != 1 else given
    if len(given) < function.count:
        return Partial(function.name, function.count, function.function, given)
    return function.function(list(given))


def call(entry: EntryPoint, arguments: list[Any]) -> Any:
    """The result of an entry point; several make a tuple."""
    pairs = zip(entry.parameters, arguments, strict=True)
    return entry(*(coerced(parameter, value) for parameter, value in pairs))
