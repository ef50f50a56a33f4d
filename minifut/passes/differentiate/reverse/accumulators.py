r"""Adjoints of accumulators: updates as terms of a scalar.

    ys = with_acc (xs) (\a -> map (\i v -> update_acc a i (f v)) is vs)

With adjoints `w` of `ys`, what the updates contribute to <w, ys> is a sum,

    s = redomap (+) (\i v -> w[i] * f v) is vs

whose gradient, swept like that of any sum, has the adjoints of all that the updates
use. Those of `xs` are `w`, where values are added, and `w` with zeros at the indices of
the updates, where they take the place of what was there. Other operators are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.ir import core
from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.builder import Builder, constant
from minifut.ir.core import Atom, Body, Lambda, Param, Stm
from minifut.ir.node import flagged, replace
from minifut.ir.soacs import Screma, operand_count, redomap
from minifut.ir.traverse import map_children
from minifut.ir.types import AccType, ArrayType, Type, element_of, row_type
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import adding, plus
from minifut.passes.differentiate.context import refuse
from minifut.passes.differentiate.reverse import operators
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.scatter import part_at
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


def check_operators(build: Builder, statement: Stm, items: Sequence[AccInput]) -> None:
    """Refuse accumulators that do not add, nor overwrite."""
    for item in items:
        operator = item.operator
        if operator is None:
            continue
        groups = operators.components(operator)
        if len(groups) != len(operator.results) or any(
            operators.scalar_operator(operators.component(build, operator, group))
            != "add"
            for group in groups
        ):
            raise refuse(
                statement.location,
                "an accumulator with an operator other than + has no derivative",
                "use reduce_by_index, which may have any operator",
            )


@rule(paper="SC 2022, section 5.4")
def vjp_with_acc(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""The gradient of the sum of all updates' values, each times its place's adjoint.

    before:
        like before of jvp_with_acc
    after:
        let z: [4]f64 = replicate([4], 0.0f64)
        let r: [4]f64 = with_acc((acc([4], (z), (0.0f64), add_f64)),
          \(c: acc c [4] (f64)) -> (acc c [4] (f64)) {
          return map(n, (c, is, xs), \(e: acc c [4] (f64), i: i64,
              x: f64) -> (acc c [4] (f64)) {update_acc(e, (i), (x))})
        })
        let x_1: [n]f64 = map(n, (is), \(i_1: i64) -> (f64) {
          let le: bool = le_i64(0i64, i_1)
          let lt: bool = lt_i64(i_1, 4i64)
          let and: bool = and_bool(le, lt)
          return if and then {
            let w_1: f64 = r_seed[i_1]
            return w_1
          } else {0.0f64}
        })
        return r, x_1
    """
    exp = statement.exp_of(WithAcc)
    items = exp.inputs
    active = sweep.activity.of([p.name for p in exp.function.parameters])
    used = flagged(items, active)
    check_operators(sweep.builder(statement), statement, used)

    def back(build: Builder, adjoints: Adjoints) -> None:
        given = adjoints.of_pattern(statement.pattern)
        if not any(given):
            return
        weights: list[list[Atom | None]] = []
        for item in items:
            weights.append(given[: len(item.arrays)])
            given = given[len(item.arrays) :]
        function = sweep.copy_of_function(exp.function)
        terms = _Terms(function, weights)
        body = terms.body(build, function.body)
        ones: list[Atom | None] = [
            constant(1, element_of(type_)) for type_ in terms.types
        ]
        sweep.again(build, body, adjoints, [*ones, *given])
        for item, own in zip(items, weights, strict=True):
            left = _overwritten(sweep, build, exp, item, own)
            for array, adjoint in zip(item.arrays, left, strict=True):
                adjoints.add(build, array, adjoint)

    return Reversed((statement,), back)


def _overwritten(
    sweep: ReverseSweep,
    build: Builder,
    exp: WithAcc,
    item: AccInput,
    weights: list[Atom | None],
) -> list[Atom | None]:
    """The adjoints of what an accumulator began with."""
    if item.operator is not None or not any(a in sweep.activity for a in item.arrays):
        return weights
    number = exp.inputs.index(item)
    function = sweep.copy_of_function(exp.function)
    given = [
        weight if isinstance(weight, Name) else build.zero(build.type(array))
        for weight, array in zip(weights, item.arrays, strict=True)
    ]
    inputs = list(exp.inputs)
    inputs[number] = replace(item, arrays=tuple(given))
    function = _with_zeros(build, function, function.parameters[number].name)
    results = build.let_many(WithAcc(tuple(inputs), function))
    start = sum(len(i.arrays) for i in inputs[:number])
    made = zip(weights, results[start:], strict=False)
    return [None if weight is None else result for weight, result in made]


def _with_zeros(build: Builder, node: Any, root: Name) -> Any:
    """The function of a `WithAcc` with zeros in the updates of this accumulator."""
    if not isinstance(node, Body):
        return map_children(node, lambda child: _with_zeros(build, child, root))
    inner = build.nested()
    for statement in node.statements:
        made: Stm = map_children(statement, lambda s: _with_zeros(build, s, root))
        exp = made.exp
        if isinstance(exp, UpdateAcc):
            type_ = build.type(exp.accumulator)
            assert isinstance(type_, AccType)
            if type_.root == root:
                nothing = tuple(inner.zero(element) for element in type_.elements)
                made = replace(made, exp=replace(exp, values=nothing))
        inner.append(made)
    return inner.finish(*node.result)


class _Terms:
    """Rewrites the function of a `WithAcc`: an accumulator becomes the sums of its
    updates' terms, one for each of its arrays with an adjoint. `sums` has these for
    each name of an accumulator, `types` their types for the accumulators in order."""

    def __init__(self, function: Lambda, weights: list[list[Atom | None]]) -> None:
        self.weights: dict[Name, list[Name | None]] = {}
        self.sums: dict[Name, tuple[Atom, ...]] = {}
        self.types: list[Type] = []
        for parameter, own in zip(function.parameters, weights, strict=True):
            assert isinstance(parameter.type, AccType)
            found = [w if isinstance(w, Name) else None for w in own]
            self.weights[parameter.name] = found
            elements = self.elements(parameter.type)
            self.sums[parameter.name] = tuple(constant(0, e) for e in elements)
            self.types += elements

    def is_own(self, type_: object) -> bool:
        return isinstance(type_, AccType) and type_.root in self.weights

    def elements(self, type_: AccType) -> list[Any]:
        """The types of the sums of an accumulator."""
        pairs = zip(type_.elements, self.weights[type_.root], strict=True)
        return [element_of(element) for element, weight in pairs if weight is not None]

    def atoms(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        """The atoms with sums for accumulators."""
        made: list[Atom] = []
        for atom in atoms:
            sums = self.sums.get(atom) if isinstance(atom, Name) else None
            made += (atom,) if sums is None else sums
        return tuple(made)

    def parameters(
        self, build: Builder, parameters: Sequence[Param]
    ) -> tuple[Param, ...]:
        """The parameters with sums for accumulators."""
        made: list[Param] = []
        for parameter in parameters:
            if not self.is_own(parameter.type):
                made.append(parameter)
                continue
            assert isinstance(parameter.type, AccType)
            own = build.parameters(self.elements(parameter.type), "terms")
            self.sums[parameter.name] = tuple(p.name for p in own)
            made += own
        return tuple(made)

    def body(self, build: Builder, body: Body) -> Body:
        inner = build.nested()
        for statement in body.statements:
            self.statement(inner, statement)
        return inner.finish(*self.atoms(body.result))

    def statement(self, build: Builder, statement: Stm) -> None:
        exp, pattern = statement.exp, statement.pattern
        match exp:
            case UpdateAcc(accumulator) if accumulator in self.sums:
                self.sums[pattern[0].name] = self.updated(build, exp)
                return
            case core.Copy(atom) if atom in self.sums:
                assert isinstance(atom, Name)
                self.sums[pattern[0].name] = self.sums[atom]
                return
            case Screma() if any(array in self.sums for array in exp.arrays):
                self.map(build, pattern, exp)
                return
            case core.Loop(_, initial, form, body):
                before = self.atoms(initial)
                parameters = self.parameters(build, exp.parameters)
                exp = core.Loop(parameters, before, form, self.body(build, body))
            case core.If(condition, then, otherwise):
                exp = core.If(
                    condition, self.body(build, then), self.body(build, otherwise)
                )
            case core.Match(scrutinees, cases, default):
                made = [replace(c, body=self.body(build, c.body)) for c in cases]
                exp = core.Match(scrutinees, tuple(made), self.body(build, default))
            case WithAcc(inputs, function):
                inside = self.body(build, function.body)
                types = build.types(inside.result)
                exp = WithAcc(inputs, Lambda(function.parameters, inside, types))
        build.append(
            replace(statement, pattern=self.parameters(build, pattern), exp=exp)
        )

    def updated(self, build: Builder, exp: UpdateAcc) -> tuple[Atom, ...]:
        """The sums after an update."""
        type_ = build.type(exp.accumulator)
        assert isinstance(type_, AccType)
        pairs = zip(self.weights[type_.root], exp.values, strict=True)
        made: list[Atom] = []
        for weight, value in pairs:
            if weight is None:
                continue
            part = part_at(build, weight, exp.indices)
            before = self.sums[exp.accumulator][len(made)]
            made.append(plus(build, before, _inner_product(build, part, value)))
        return tuple(made)

    def map(self, build: Builder, pattern: tuple[Param, ...], exp: Screma) -> None:
        """A map over accumulators is one with sums."""
        function, folds = exp.function, operand_count(exp.folds)
        arrays: list[Name] = []
        parameters: list[Param] = []
        for parameter, array in zip(function.parameters, exp.arrays, strict=True):
            if array not in self.sums:
                arrays.append(array)
                parameters.append(parameter)
                continue
            assert isinstance(parameter.type, AccType)
            own = self.elements(parameter.type)
            self.sums[parameter.name] = tuple(constant(0, e) for e in own)
        if not arrays:
            arrays = [build.iota(exp.width)]
            parameters = list(build.parameters(build.types(arrays), "i"))
            parameters = [replace(p, type=row_type(p.type)) for p in parameters]
        inner = build.nested()
        for statement in function.body.statements:
            self.statement(inner, statement)
        mapped = list(zip(function.body.result, pattern, strict=True))
        summed = [pair for pair in mapped[folds:] if self.is_own(pair[1].type)]
        others = [pair for pair in mapped[folds:] if not self.is_own(pair[1].type)]
        terms = self.atoms([atom for atom, _ in summed])
        result = (
            *self.atoms([atom for atom, _ in mapped[:folds]]),
            *terms,
            *[atom for atom, _ in others],
        )
        types = inner.types(terms)
        reduces = tuple(adding(build, type_) for type_ in types)
        made = Lambda(tuple(parameters), inner.finish(*result), inner.types(result))
        totals = build.parameters(types, "terms")
        whole = Screma(
            exp.width, tuple(arrays), exp.scans, (*exp.reduces, *reduces), made
        )
        kept = [parameter for _, parameter in mapped[:folds]]
        rest = [parameter for _, parameter in others]
        build.bind((*kept, *totals, *rest), whole)
        found = iter(totals)
        for _, parameter in summed:
            (before,) = [
                array
                for array in exp.arrays
                if array in self.sums and build.type(array) == parameter.type
            ]
            self.sums[parameter.name] = tuple(
                plus(build, sum_, next(found).name) for sum_ in self.sums[before]
            )


def _inner_product(build: Builder, a: Atom, b: Atom) -> Atom:
    """The sum of the products of elements."""
    type_ = build.type(a)
    if not isinstance(type_, ArrayType):
        return build.mul(a, b)
    assert isinstance(a, Name) and isinstance(b, Name)
    row, reduce = row_type(type_), adding(build, element_of(type_))
    function = build.function((row, row), _inner_product)
    return build.let(redomap(type_.shape[0], (a, b), (reduce,), function), "terms")
