"""The decision tree of a program: which parameter selects among which alternatives, and
inside which alternative of which other parameter.

    let outer = at_least(n, main.map_reduce.outer)
    if outer then .. else { let inner = at_least(n * m, main.map_reduce.map.outer)
                            if inner then .. else .. }
→
    DecisionPoint(main.map_reduce.outer,
        (Alternative(0, ()),
         Alternative(NEVER, (DecisionPoint(main.map_reduce.map.outer, ..),))))

A threshold decides by the value 0 (the version is taken) or NEVER, a parameter of class
"choice" by each of its values; others shape kernels and decide nothing here. Choices
that follow each other are independent. A condition may combine parameters with values
known only at run time; then either alternative may follow, and the decisions in both
count. Kernels are not searched: decisions are made on the host.

Source: "Dataset sensitive autotuning of multi-versioned code" (TFP 2021).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from minifut.errors import UsageError
from minifut.ir import core
from minifut.ir.constant_folding import fold
from minifut.ir.core import Atom, Body, Constant, Program, Stm
from minifut.ir.kernels import AtLeast, GetParameter, Parameter
from minifut.ir.types import BOOL, I64
from minifut.names import Name
from minifut.parameters.tuning import NEVER
from minifut.suggestions import unknown

TAKEN = 0
"""the value of a threshold that any parallelism reaches"""

MOST_VALUES = 8
"""of a "choice" that are examined"""

Settings = Mapping[str, int]
"""parameters by name, and the values that force the path to some place"""


@dataclass(frozen=True, slots=True)
class Alternative:
    """What follows where the parameter has the value."""

    value: int
    decisions: tuple[DecisionPoint, ...]


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """A place where a parameter decides."""

    parameter: Parameter
    branches: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A decision, and the settings without which it is not reached."""

    parameter: Parameter
    ancestors: Settings


def decisions_of(program: Program, entry: str) -> tuple[DecisionPoint, ...]:
    """The decisions that calls of an entry point come across, in order."""
    for known in program.entries:
        if known.name == entry:
            return _Reader(program).function(known.function)
    raise UsageError(unknown("entry point", entry, (e.name for e in program.entries)))


def occurrences(decisions: tuple[DecisionPoint, ...]) -> list[Occurrence]:
    """Every decision of the tree, those further down before the ones that lead
    there."""

    def below(
        decisions: tuple[DecisionPoint, ...], settings: Settings
    ) -> Iterator[Occurrence]:
        for decision in decisions:
            name = decision.parameter.name
            for branch in decision.branches:
                yield from below(branch.decisions, {**settings, name: branch.value})
            yield Occurrence(decision.parameter, settings)

    return list(below(decisions, {}))


def paths(
    decisions: tuple[DecisionPoint, ...], settings: Settings | None = None
) -> Iterator[dict[str, int]]:
    """The settings of each path through the program; parameters that a path does not
    come across are not in it. Mind that there may be very many."""
    known = dict(settings or {})
    if not decisions:
        yield known
        return
    first, rest = decisions[0], decisions[1:]
    name = first.parameter.name
    for branch in first.branches:
        if known.get(name, branch.value) == branch.value:
            for inside in paths(branch.decisions, {**known, name: branch.value}):
                yield from paths(rest, inside)


def number_of_paths(decisions: tuple[DecisionPoint, ...]) -> int:
    """How many candidates there are, if no parameter decides in several places."""
    total = 1
    for decision in decisions:
        total *= sum(number_of_paths(branch.decisions) for branch in decision.branches)
    return total


def values_of(parameter: Parameter) -> tuple[int, ...]:
    """The values by which a parameter decides; none if it does not."""
    if parameter.kind == "threshold":
        return (TAKEN, NEVER)
    if parameter.kind == "choice" and parameter.bounds is not None:
        low, high = parameter.bounds
        return tuple(range(low, min(high, low + MOST_VALUES - 1) + 1))
    return ()


_Value = Constant | Parameter | None
"""a constant, the parameter that a value depends on first, or only known at run time"""


@dataclass(slots=True)
class _Reader:
    """Reads one program. Names are unique in it, so one table of definitions does."""

    program: Program
    definitions: dict[Name, object] = field(default_factory=dict)
    known: dict[Name, tuple[DecisionPoint, ...]] = field(default_factory=dict)
    bodies: dict[int, tuple[DecisionPoint, ...]] = field(default_factory=dict)

    def function(self, name: Name) -> tuple[DecisionPoint, ...]:
        if name not in self.known:
            self.known[name] = ()  # what a recursive call comes across
            for function in self.program.functions:
                if function.name == name:
                    self.known[name] = self.body(function.body)
        return self.known[name]

    def body(self, body: Body) -> tuple[DecisionPoint, ...]:
        if id(body) not in self.bodies:
            found: list[DecisionPoint] = []
            for statement in body.statements:
                found += self.statement(statement)
            self.bodies[id(body)] = tuple(found)
        return self.bodies[id(body)]

    def statement(self, statement: Stm) -> tuple[DecisionPoint, ...]:
        match statement.exp:
            case core.If(condition, then, otherwise) as exp:
                for number, parameter in enumerate(statement.pattern):
                    self.definitions[parameter.name] = (exp, number)
                return self.decide(condition, then, otherwise, {})
            case core.Match() as match:
                return tuple(c for body in match.branches for c in self.body(body))
            case core.Loop(_, _, _, body):
                return self.body(body)
            case core.Apply(function, _):
                return self.function(function)
            case AtLeast() | GetParameter() | core.ScalarOp() | core.Copy():
                self.definitions[statement.pattern[0].name] = statement.exp
        return ()

    def decide(
        self, condition: Atom, then: Body, otherwise: Body, settings: Settings
    ) -> tuple[DecisionPoint, ...]:
        """The decisions of a conditional, whose condition may depend on several."""
        match self.value(condition, settings):
            case Parameter() as parameter:
                name = parameter.name
                branches = tuple(
                    Alternative(
                        value,
                        self.decide(
                            condition, then, otherwise, {**settings, name: value}
                        ),
                    )
                    for value in values_of(parameter)
                )
                return (DecisionPoint(parameter, branches),)
            case Constant(value):
                return self.body(then if value else otherwise)
            case None:
                return (*self.body(then), *self.body(otherwise))

    def value(self, atom: Atom, settings: Settings) -> _Value:
        """An atom under these settings."""
        if isinstance(atom, Constant):
            return atom
        match self.definitions.get(atom):
            case AtLeast(_, parameter):
                if parameter.name not in settings:
                    return parameter if values_of(parameter) else None
                return Constant(settings[parameter.name] == TAKEN, BOOL)
            case GetParameter(parameter):
                if parameter.name not in settings:
                    return parameter if values_of(parameter) else None
                return Constant(settings[parameter.name], I64)
            case core.Copy(other):
                return self.value(other, settings)
            case core.ScalarOp() as operation:
                return self.operation(operation, settings)
            case (core.If() as branching, int(number)):
                return self.result(branching, number, settings)
        return None

    def result(self, exp: core.If, number: int, settings: Settings) -> _Value:
        """A result of a conditional."""
        condition = self.value(exp.condition, settings)
        if isinstance(condition, Constant):
            body = exp.then if condition.value else exp.otherwise
            return self.value(body.result[number], settings)
        found = [
            condition,
            self.value(exp.then.result[number], settings),
            self.value(exp.otherwise.result[number], settings),
        ]
        return next((value for value in found if isinstance(value, Parameter)), None)

    def operation(self, operation: core.ScalarOp, settings: Settings) -> _Value:
        operands = [self.value(operand, settings) for operand in operation.operands]
        name, is_logic = operation.operator.name, operation.operator.type == BOOL
        for operand in operands:
            if is_logic and isinstance(operand, Constant):
                if name == "and" and not operand.value:
                    return Constant(False, BOOL)
                if name == "or" and operand.value:
                    return Constant(True, BOOL)
        for operand in operands:
            if isinstance(operand, Parameter):
                return operand
        constants = [operand for operand in operands if isinstance(operand, Constant)]
        if len(constants) < len(operands):
            return None
        return fold(operation.operator, *constants)
