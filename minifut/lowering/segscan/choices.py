"""What scalars are at the points of a map over the results of a scan, for some choices.

    choices keep = true      place = if keep then end - 1 else -1      ->  end - 1

Integers are polynomials over scanned values, totals, the index, and what is the same at
all points. A truth value or a digit of which nothing is known is a *choice*, whose
values are tried one after the other. Equal expressions of the two bodies are one. Of
`0 <= x && x < w` the whole is a choice, not each comparison, if nothing else is made of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from itertools import chain
from typing import TypeAlias

from minifut.ir import core, scalars, search, soacs
from minifut.ir.constant_folding import fold
from minifut.ir.core import Atom, Constant, Exp, Param, Stm
from minifut.ir.kernels import KernelResult, Returns, SegMap, SegScan
from minifut.ir.node import immutable, mutable
from minifut.ir.sizes import Size
from minifut.ir.traverse import free_names
from minifut.ir.types import BOOL, ScalarType
from minifut.names import Name
from minifut.rewrite.rule import Decline

DIGITS = 8
"""the most values of a digit"""
NARROW_TERMS = 8
"""the sum of the coefficients of a polynomial that fits 32 bits with few points"""
SizeOrFlag: TypeAlias = Size | bool
"""what a scalar is for some values of the choices"""


class ChoiceNeeded(Exception):
    """Raised where the value of a name has to be chosen."""

    def __init__(self, name: Name, values: tuple[Constant, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.values = values


TRUTHS = Constant(True, BOOL), Constant(False, BOOL)
UNKNOWN = Decline("a place does not follow from scans of flags")


def returned_values(results: Iterable[KernelResult]) -> list[Atom]:
    """What each point of the scan gives."""
    return [result.value for result in results if isinstance(result, Returns)]


@mutable
class BodyNames:
    """The names of both bodies."""

    operation: SegMap
    scan: SegScan
    definitions: dict[Name, Stm] = field(default_factory=dict)
    known: dict[Name, Size] = field(default_factory=dict)
    """scanned values, totals and the index"""
    renamed: dict[Name, Atom] = field(default_factory=dict)
    """what the scan maps, by the names of the map"""
    made: dict[object, Name] = field(default_factory=dict)
    """the name of each expression"""
    varying: set[Name] = field(default_factory=set)
    combined: set[Name] = field(default_factory=set)
    """truth values, made of others that nothing else is made of"""
    is_narrow: bool = False
    """whether something was computed with 32 bits"""

    @staticmethod
    def of(operation: SegMap, scan: SegScan) -> BodyNames:
        """All that is known of the names."""
        scope = BodyNames(operation, scan)
        scope.collect()
        scope.combine()
        return scope

    @property
    def scanned(self) -> int:
        """How many values are scanned."""
        return soacs.operand_count(self.scan.operators)

    def collect(self) -> None:
        """Enter the names of both bodies."""
        operation, scan = self.operation, self.scan
        (index,), (other,) = operation.space.indices, scan.space.indices
        count = self.scanned
        scanned, mapped = operation.seen[:count], operation.seen[count:]
        for p in (*scanned, *operation.totals):
            self.known[p.name] = Size.of(p.name)
        self.known[index] = self.known[other] = Size.of(index)
        passed = returned_values(scan.body.result[count:])
        self.renamed |= {p.name: a for p, a in zip(mapped, passed, strict=False)}
        self.varying = {index, other, *(p.name for p in scanned), *self.renamed}
        for statement in (*scan.body.statements, *operation.body.statements):
            names = [p.name for p in statement.pattern]
            key = self.key(statement.exp)
            if key is not None and self.made.setdefault(key, names[0]) != names[0]:
                self.renamed[names[0]] = self.made[key]
            self.definitions |= dict.fromkeys(names, statement)
            if not self.varying.isdisjoint(free_names(statement)):
                self.varying.update(names)

    def combine(self) -> None:
        """Find truth values that are choices as a whole."""
        bodies = self.scan.body, self.operation.body
        statements = list(search.nodes_of(Stm, *bodies))
        users: dict[Atom, set[object]] = {}
        for user in (*statements, *chain(*(body.result for body in bodies))):
            results = user.pattern if isinstance(user, Stm) else ()
            made = self.own(results[0].name) if results else user
            for name in map(self.own, free_names(user)):
                users.setdefault(name, set()).add(made)
        truths: set[Atom] = set()
        dependent: set[Atom] = set()
        for statement in statements:
            exp, bound = statement.exp, {p.name for p in statement.pattern}
            used = dependent.intersection(map(self.own, free_names(exp)))
            is_truth = [p.type for p in statement.pattern] == [BOOL]
            if is_truth and used <= truths:
                truths |= bound
                if used and all(len(users[name]) == 1 for name in used):
                    self.combined |= bound
            if used or is_truth or isinstance(exp, core.If) or _digits(exp):
                dependent |= bound

    def own(self, name: Name) -> Atom:
        """The name in the scan of what the map computes, too."""
        return self.renamed.get(name, name)

    def key(self, exp: Exp) -> object:
        """What is equal for expressions that are computed in both bodies."""
        (index,), (other,) = self.operation.space.indices, self.scan.space.indices

        def same(atom: object) -> object:
            found = self.renamed.get(atom, atom) if isinstance(atom, Name) else atom
            return index if found == other else found

        if isinstance(exp, core.ScalarOp):
            return exp.operator, tuple(map(same, exp.operands))
        if isinstance(exp, core.Index):
            return exp.array, tuple(map(same, exp.slice))
        return None


@immutable
class AtPoint:
    """What scalars are at a point for which some choices are made."""

    scope: BodyNames
    chosen: Mapping[Name, Constant]
    definitions: Mapping[Name, Stm]
    found: dict[Name, SizeOrFlag] = field(default_factory=dict, compare=False)
    """what names are, whatever else is chosen"""

    def with_choice(self, name: Name, value: Constant) -> AtPoint:
        """The same point, with one more choice."""
        chosen, found = {**self.chosen, name: value}, dict(self.found)
        return replace(self, chosen=chosen, found=found)

    def number(self, atom: Atom) -> Size:
        """An integer as a polynomial."""
        value = self.value(atom)
        if isinstance(value, bool):
            raise UNKNOWN
        return value

    def value(self, atom: Atom) -> SizeOrFlag:
        """What the atom is; raises `ChoiceNeeded` if that depends on one."""
        if not isinstance(atom, Constant):
            atom = self.scope.renamed.get(atom, atom)
        constant = atom if isinstance(atom, Constant) else self.chosen.get(atom)
        if constant is not None:
            return _known(constant)
        assert isinstance(atom, Name)
        if (known := self.found.get(atom)) is None:
            known = self.found[atom] = self.defined(atom)
        return known

    def defined(self, name: Name) -> SizeOrFlag:
        """What a name is that is not chosen."""
        scope = self.scope
        if name in scope.known:
            return scope.known[name]
        statement = self.definitions.get(name)
        if statement is None:
            return Size.of(name)
        # names of branches are known there only
        if name not in scope.varying and name in scope.definitions:
            fixed = statement.exp
            return (
                self.value(fixed.atom)
                if isinstance(fixed, core.Copy)
                else Size.of(name)
            )
        (param,) = (p for p in statement.pattern if p.name == name)
        return self.of(param, statement)

    def of(self, param: Param, statement: Stm) -> SizeOrFlag:
        """What a statement gives a name."""
        exp: Exp = statement.exp
        if param.name in self.scope.combined:
            raise ChoiceNeeded(param.name, TRUTHS)
        if isinstance(exp, core.Copy):
            return self.value(exp.atom)
        if isinstance(exp, core.SizeExp):
            return exp.size.rebuild(self.number)
        if isinstance(exp, core.If):
            try:
                return self.of_branch(param, statement, exp)
            except ChoiceNeeded as choice:
                if choice.name in self.definitions:
                    raise
                values = self.possible(param, statement, exp)
                raise ChoiceNeeded(param.name, values) from None
        if isinstance(exp, core.ScalarOp):
            return self.operation(param.name, exp)
        if param.type != BOOL:
            raise UNKNOWN
        raise ChoiceNeeded(param.name, TRUTHS)

    def of_branch(self, param: Param, statement: Stm, exp: core.If) -> SizeOrFlag:
        """The result of the branch that is taken."""
        body = exp.then if self.truth(exp.condition) else exp.otherwise
        inside = {p.name: s for s in body.statements for p in s.pattern}
        deeper = replace(self, definitions={**self.definitions, **inside})
        return deeper.value(body.result[statement.pattern.index(param)])

    def possible(
        self, param: Param, statement: Stm, exp: core.If
    ) -> tuple[Constant, ...]:
        """The values of what depends on choices inside of branches."""
        try:
            value = self.of_branch(param, statement, exp)
        except ChoiceNeeded as choice:
            if choice.name in self.definitions:
                raise
            cases = (self.with_choice(choice.name, v) for v in choice.values)
            found = [case.possible(param, statement, exp) for case in cases]
            return tuple(dict.fromkeys(chain(*found)))
        number = value if isinstance(value, bool) else value.as_constant
        if number is None or not isinstance(param.type, ScalarType):
            raise UNKNOWN
        return (Constant(number, param.type),)

    def truth(self, condition: Atom) -> bool:
        value = self.value(condition)
        if isinstance(value, bool):
            return value
        raise Decline("what becomes of a point depends on an unknown condition")

    def operation(self, name: Name, exp: core.ScalarOp) -> SizeOrFlag:
        operator, operands = exp.operator, exp.operands
        if digits := _digits(exp):
            raise ChoiceNeeded(
                name, tuple(Constant(v, operator.result) for v in digits)
            )
        try:
            found = [self.value(operand) for operand in operands]
        except Decline:
            if operator.result != BOOL:
                raise
            raise ChoiceNeeded(name, TRUTHS) from None
        if operator.name in ("and", "or") and (operator.name == "or") in found:
            return operator.name == "or"
        constants = [
            Constant(number, type_)
            for value, type_ in zip(found, operator.operands, strict=True)
            if (number := value if isinstance(value, bool) else value.as_constant)
            is not None
        ]
        if len(constants) == len(found):
            return _known(fold(operator, *constants))
        if operator.result == BOOL:
            raise ChoiceNeeded(name, TRUTHS)
        sizes = [v for v in found if isinstance(v, Size)]
        if len(sizes) != len(found):
            raise UNKNOWN
        return self.polynomial(exp, sizes)

    def polynomial(self, exp: core.ScalarOp, values: list[Size]) -> Size:
        operator = exp.operator
        match operator.name, values:
            case "add" | "sub" | "mul" as name, (a, b):
                made = scalars.OF_POLYNOMIALS[name](a, b)
            case "convert", (a,):
                made = a
            case _:
                raise UNKNOWN
        for type_ in (*operator.operands, operator.result):
            if type_.bits < 64:
                self.narrow(made, type_)
        return made

    def narrow(self, value: Size, type_: ScalarType) -> None:
        """Note that the value must fit 32 bits."""
        coefficients = sum(abs(c) for m, c in value.terms)
        linear = all(len(m) == 1 for m, _ in value.terms if m)
        own = value.names() <= self.scope.known.keys()
        if not (own and linear and coefficients <= NARROW_TERMS) or type_.bits < 32:
            raise Decline("a place may not fit its type")
        self.scope.is_narrow = True


def _digits(exp: Exp) -> range:
    """The values of `x & 3` and `x % 4`."""
    if not isinstance(exp, core.ScalarOp):
        return range(0)
    masks = [int(a.value) for a in exp.operands if isinstance(a, Constant)]
    if exp.operator.type.is_float or not masks or exp.operator.type == BOOL:
        return range(0)
    if exp.operator.name == "and" and masks[-1] in (1, 3, 7):
        return range(masks[-1] + 1)
    divides = exp.operator.name == "mod" and isinstance(exp.operands[1], Constant)
    return range(masks[-1]) if divides and 1 < masks[-1] <= DIGITS else range(0)


def _known(constant: Constant) -> SizeOrFlag:
    value = constant.value
    if isinstance(value, float):
        raise UNKNOWN
    return bool(value) if constant.type == BOOL else Size.constant(int(value))
