"""Bodies and statements to Python text.

    let y: i32 = add_i32(x, 1i32)        y_7 = ((x_3 + 1) + 2147483648 & ...) - ...
    let z: f32 = xs[y]                   z_8 = xs_2.item(y_7)
    loop (a = b) for i < n do {...}      a_5 = b_4 \\n for i_6 in range(n_1): ...

Lambdas become local functions. A name keeps one Python variable; names are unique, so
scopes need no care. An update copies the array first, unless `ownership` finds that it
is not needed any more and at run time nobody else holds it (nor a view of it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from minifut.errors import InternalError
from minifut.ir import core
from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import Atom, Body, Constant, Lambda, Stm
from minifut.ir.interpret import operations, segments
from minifut.ir.interpret.arithmetic import HELPERS
from minifut.ir.interpret.expressions import SIMPLE, index_text
from minifut.ir.interpret.ownership import in_place_updates
from minifut.ir.sizes import Extreme, Quotient, Size
from minifut.ir.types import ArrayType
from minifut.names import Name


class Writer:
    """The text being written, and the Python objects that it refers to.

    `in_place` holds the updates that need no copy (by identity of the expression);
    with `steps`, the text counts them.
    """

    def __init__(
        self,
        parameters: dict[str, int],
        device_kind: str,
        steps: operations.Steps | None = None,
    ) -> None:
        self.steps = steps
        self.lines: list[str] = []
        self.depth = 0
        self.objects: dict[str, Any] = operations.EXPORTS | segments.EXPORTS | HELPERS
        self.parameters = parameters
        self.device_kind = device_kind
        self.in_place: set[int] = set()
        self.types: dict[Name, Any] = {}
        self._texts: dict[Name, str] = {}
        self._taken: set[str] = set()
        self._kept: dict[int, str] = {}

    def line(self, text: str) -> None:
        """One line at the current depth."""
        self.lines.append("    " * self.depth + text)

    def count(self, steps: str, in_lanes: bool = False) -> None:
        """A line that takes so many steps, if they are counted."""
        if self.steps is not None:
            method = "take_lanes" if in_lanes else "take"
            self.line(f"{self.keep(self.steps, 'steps')}.{method}({steps})")

    def name(self, name: Name) -> str:
        """The Python variable of a name."""
        text = self._texts.get(name)
        if text is None:
            text = f"{re.sub(r'[^A-Za-z0-9]', '_', name.base)}_{name.tag}"
            while text in self._taken:
                text += "_"
            text = f"v_{text}"
            self._taken.add(text)
            self._texts[name] = text
        return text

    def atom(self, atom: Atom) -> str:
        """An atom as a Python expression."""
        if isinstance(atom, Constant):
            return _constant_text(atom.value)
        return self.name(atom)

    def atoms(self, atoms: Iterable[Atom]) -> str:
        """Several atoms, as the inside of a tuple."""
        return "".join(f"{self.atom(atom)}, " for atom in atoms)

    def size(self, size: Size) -> str:
        """A size as a Python expression."""
        terms = []
        for monomial, coefficient in size.terms:
            factors = [self._size_atom(atom) for atom in monomial]
            if coefficient != 1 or not factors:
                factors.insert(0, str(coefficient))
            terms.append(" * ".join(factors))
        return f"({' + '.join(terms) or '0'})"

    def _size_atom(self, atom: Name | Quotient | Extreme) -> str:
        match atom:
            case Name():
                return self.name(atom)
            case Quotient(dividend, divisor, up):
                a, b = self.size(dividend), self.size(divisor)
                return f"(-(-{a} // {b}))" if up else f"({a} // {b})"
            case Extreme(operands, greatest):
                inner = ", ".join(self.size(o) for o in operands)
                return f"{'max' if greatest else 'min'}({inner})"

    def shape(self, sizes: Iterable[Size]) -> str:
        """A shape as a Python tuple."""
        return f"({''.join(f'{self.size(s)}, ' for s in sizes)})"

    def keep(self, thing: Any, base: str) -> str:
        """A Python object that the text refers to by name."""
        text = self._kept.get(id(thing))
        if text is None:
            text = f"k_{base}_{len(self._kept)}"
            self._kept[id(thing)] = text
            self.objects[text] = thing
        return text

    def define(
        self, base: str, parameters: Iterable[str], body: Callable[[], None]
    ) -> str:
        """A local function whose lines `body` writes; its name."""
        name = f"f_{base}_{len(self.lines)}"
        self.line(f"def {name}({', '.join(parameters)}):")
        self.depth += 1
        body()
        self.depth -= 1
        return name

    def function(self, function: Lambda, base: str = "lambda") -> str:
        """A lambda as a local function returning a tuple; its name."""

        def body() -> None:
            self.body(function.body)
            self.line(f"return ({self.atoms(function.body.result)})")

        return self.define(base, [self.parameter(p) for p in function.parameters], body)

    def parameter(self, parameter: core.Param) -> str:
        """Note the type of a bound name; its variable."""
        self.types[parameter.name] = parameter.type
        return self.name(parameter.name)

    def body(self, body: Body) -> None:
        """The statements of a body."""
        for statement in body.statements:
            self.statement(statement)

    def statement(self, statement: Stm) -> None:
        """One statement."""
        targets = [self.parameter(p) for p in statement.pattern]
        exp = statement.exp
        simple = SIMPLE.get(type(exp))
        if simple is not None:
            self.line(f"{targets[0]} = {simple(self, exp)}")
            return
        rule = STRUCTURED.get(type(exp)) or operations_rule(type(exp))
        rule(self, exp, targets)


def _constant_text(value: int | float | bool) -> str:
    if isinstance(value, float) and (value != value or value in (_INF, -_INF)):
        return f"float('{value}')"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


_INF = float("inf")


def unpack(targets: list[str]) -> str:
    """The left side of an assignment from a tuple."""
    return "".join(f"{t}, " for t in targets)


# --- statements with bodies -------------------------------------------------------


def _update(writer: Writer, exp: core.Update, targets: list[str]) -> None:
    source = writer.name(exp.array)
    if id(exp) in writer.in_place:
        alone = f"getrefcount({source}) == 2 and {source}.base is None"
        writer.line(f"{targets[0]} = {source} if {alone} else {source}.copy()")
        writer.line(f"{source} = None")
    else:
        writer.line(f"{targets[0]} = {source}.copy()")
    index = index_text(writer, exp.slice)
    writer.line(f"{targets[0]}[{index}] = {writer.atom(exp.value)}")


def _assert(writer: Writer, exp: core.Assert, _: list[str]) -> None:
    message = writer.keep(exp.message, "message")
    backtrace = writer.keep(exp.backtrace, "backtrace")
    values = writer.atoms(a for a in exp.message if not isinstance(a, str))
    writer.line(f"if not {writer.atom(exp.condition)}:")
    writer.line(f"    fail({message}, ({values}), {backtrace})")


def _branch(writer: Writer, body: Body, targets: list[str]) -> None:
    writer.depth += 1
    writer.body(body)
    if targets:
        writer.line(f"{unpack(targets)} = ({writer.atoms(body.result)})")
    else:
        writer.line("pass")
    writer.depth -= 1


def _if(writer: Writer, exp: core.If, targets: list[str]) -> None:
    writer.line(f"if {writer.atom(exp.condition)}:")
    _branch(writer, exp.then, targets)
    writer.line("else:")
    _branch(writer, exp.otherwise, targets)


def _match(writer: Writer, exp: core.Match, targets: list[str]) -> None:
    keyword = "if"
    for case in exp.cases:
        tests = [
            f"{writer.atom(s)} == {writer.atom(v)}"
            for s, v in zip(exp.scrutinees, case.values, strict=True)
            if v is not None
        ]
        writer.line(f"{keyword} {' and '.join(tests) or 'True'}:")
        _branch(writer, case.body, targets)
        keyword = "elif"
    writer.line("else:" if exp.cases else "if True:")
    _branch(writer, exp.default, targets)


def _loop(writer: Writer, exp: core.Loop, targets: list[str]) -> None:
    names = [writer.parameter(p) for p in exp.parameters]
    if names:
        writer.line(f"{unpack(names)} = ({writer.atoms(exp.initial)})")
    match exp.form:
        case core.ForLoop(index, bound, type_):
            writer.types[index] = type_
            writer.count(writer.atom(bound))
            writer.line(f"for {writer.name(index)} in range({writer.atom(bound)}):")
        case core.WhileLoop(condition):
            writer.line(f"while {writer.name(condition)}:")
            writer.depth += 1
            writer.count("1")
            writer.depth -= 1
    _branch(writer, exp.body, names)
    writer.depth += 1
    _let_go(writer, _made_inside(writer, exp.body))
    writer.depth -= 1
    if names:
        writer.line(f"{unpack(targets)} = ({''.join(f'{n}, ' for n in names)})")
        _let_go(writer, [p.name for p in exp.parameters])


def _made_inside(writer: Writer, body: Body) -> list[Name]:
    """The arrays among a body's results that its own statements bind."""
    bound = {p.name for s in body.statements for p in s.pattern}
    return [a for a in body.result if isinstance(a, Name) and a in bound]


def _let_go(writer: Writer, names: Iterable[Name]) -> None:
    """Arrays handed on: their old variables must not count as holders."""
    for name in dict.fromkeys(names):
        if isinstance(writer.types[name], ArrayType):
            writer.line(f"{writer.name(name)} = None")


def _apply(writer: Writer, exp: core.Apply, targets: list[str]) -> None:
    call = f"{writer.name(exp.function)}({writer.atoms(exp.arguments)})"
    writer.line(f"{unpack(targets)} = {call}" if targets else call)


def _with_acc(writer: Writer, exp: WithAcc, targets: list[str]) -> None:
    parameters = [writer.parameter(p) for p in exp.function.parameters]
    for parameter, item in zip(parameters, exp.inputs, strict=True):
        operator = "None"
        if item.operator is not None:
            operator = writer.function(item.operator, "operator")
        arrays = "".join(f"{writer.name(array)}, " for array in item.arrays)
        rank = len(item.shape)
        writer.line(f"{parameter} = Accumulator(({arrays}), {rank}, {operator})")
    writer.body(exp.function.body)
    updated = [f"*{parameter}.arrays, " for parameter in parameters]
    others = writer.atoms(exp.function.body.result[len(parameters) :])
    writer.line(f"{unpack(targets)} = ({''.join(updated)}{others})")


def _update_acc(writer: Writer, exp: UpdateAcc, targets: list[str]) -> None:
    indices, values = writer.atoms(exp.indices), writer.atoms(exp.values)
    accumulator = writer.name(exp.accumulator)
    writer.line(f"{targets[0]} = {accumulator}.update(({indices}), ({values}))")


STRUCTURED: dict[type, Callable[[Writer, Any, list[str]], None]] = {
    core.Update: _update,
    core.Assert: _assert,
    core.If: _if,
    core.Match: _match,
    core.Loop: _loop,
    core.Apply: _apply,
    WithAcc: _with_acc,
    UpdateAcc: _update_acc,
}


def operations_rule(kind: type) -> Callable[[Writer, Any, list[str]], None]:
    """The rule for a SOAC or a segmented operation."""
    from minifut.ir.interpret import second_order

    rule = second_order.RULES.get(kind)
    if rule is None:
        raise InternalError("ir.interpret", f"no rule for {kind.__name__}")
    return rule


# --- programs ---------------------------------------------------------------------


class Module:
    """The translated program."""

    def __init__(self, space: dict[str, Any], names: dict[Name, str], text: str):
        self.space = space
        self.names = names
        self.text = text

    def call(self, function: Name, arguments: list[Any]) -> tuple[Any, ...]:
        """Call a function of the program; its results."""
        constants = self.space.pop("initialise_constants", None)
        if constants is not None:
            try:
                constants()
            except BaseException:
                self.space["initialise_constants"] = constants
                raise
        return tuple(self.space[self.names[function]](*arguments))


def translate_program(
    program: core.Program,
    parameters: dict[str, int],
    device_kind: str,
    steps: operations.Steps | None = None,
) -> Module:
    """Translate all functions and constants."""
    writer = Writer(parameters, device_kind, steps)
    writer.in_place = in_place_updates(program)
    if program.constants:
        writer.line("def initialise_constants():")
        writer.depth += 1
        constants = [p.name for s in program.constants for p in s.pattern]
        if constants:
            writer.line(f"global {', '.join(writer.name(c) for c in constants)}")
        for statement in program.constants:
            writer.statement(statement)
        writer.line("return None")
        writer.depth -= 1
    for function in program.functions:
        parameters_text = [writer.parameter(p) for p in function.parameters]
        writer.line(f"def {writer.name(function.name)}({', '.join(parameters_text)}):")
        writer.depth += 1
        writer.body(function.body)
        writer.line(f"return ({writer.atoms(function.body.result)})")
        writer.depth -= 1
    text = "\n".join(writer.lines) + "\n"
    space = dict(writer.objects)
    exec(compile(text, "<interpreted program>", "exec"), space)
    names = {f.name: writer.name(f.name) for f in program.functions}
    return Module(space, names, text)


__all__ = ["Module", "Writer", "translate_program", "unpack"]
