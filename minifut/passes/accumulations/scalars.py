r"""Operators on small arrays as operators on scalars.

    reduce (\a b -> [a[0] * b[0], a[0] * b[1] + a[1]]) [1, 0] xss
    →  reduce (\(a0, a1) (b0, b1) -> (a0 * b0, a0 * b1 + a1)) (1, 0)
         (map (\xs -> (xs[0], xs[1])) xss)

Matrices, quaternions and the like have sizes that are known, and few elements. As
scalars they are combined in registers and in local memory, by all rules and lowerings
for scalars; operators on arrays combine the rows of a chunk in one thread. Operators
that are maps are left to the rules that move the map outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod
from typing import TypeVar

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Copy, Exp, Lambda, Param, Stm
from minifut.ir.node import divided, replace
from minifut.ir.scope import add_parameters, scope_of
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp, Reduce, Scan, Screma, map_, operand_count
from minifut.ir.types import ArrayType, Type, array_of, element_of, row_type, shape_of
from minifut.names import Name
from minifut.passes.flatten.interchange_operator import (
    elementwise_operator,
    is_scalar_operator,
)
from minifut.passes.sequential_parts import write_out
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

PLDI = "Improving register allocation for subscripted variables (PLDI'90)"
FoldT = TypeVar("FoldT", bound=Scan | Reduce | HistOp)
MOST_SCALARS = 16
"""of all operands on one side: 4 x 4 matrices; more would leave registers"""
FEW = range(1, 5)  # points of maps and reductions that are written out
REFUSED = Declined("an operator is a map, or on arrays of many or unknown elements")


@rule(paper=PLDI)
def combine_scalars(statement: Stm, context: StatementContext) -> Outcome:
    r"""Fold the elements of small arrays as scalars, or combine them in bins.

    before:
        given (n: i64, xss: [n][2]f32, ne: [2]f32)
        let s: [2]f32 = redomap(n, (xss), reduce(
          \(a: [2]f32, b: [2]f32) -> ([2]f32) {b}, (ne)), \(x: [2]f32) -> ([2]f32) {x})
    after:
        let ne0: f32 = ne[0i64]
        let ne1: f32 = ne[1i64]
        let (s0: f32, s1: f32) = redomap(n, (xss), reduce(
          \(a0: f32, a1: f32, b0: f32, b1: f32) -> (f32, f32) {
            let a: [2]f32 = [a0, a1]: f32
            let b: [2]f32 = [b0, b1]: f32
            let c0: f32 = b[0i64]
            let c1: f32 = b[1i64]
            return c0, c1
          }, (ne0, ne1)), \(x: [2]f32) -> (f32, f32) {
            let x0: f32 = x[0i64]
            let x1: f32 = x[1i64]
            return x0, x1
          })
        let s: [2]f32 = [s0, s1]: f32
    declines: on arrays of many or unknown elements
        like before, with
        [2]f32 => [n]f32
    """
    exp = statement.exp
    if not isinstance(exp, Screma | Hist):
        return None
    folds = exp.folds if isinstance(exp, Screma) else exp.operators
    if all(is_scalar_operator(fold.operator) for fold in folds):
        return None
    operands = [shape_of(t) for fold in folds for t in fold.operator.results]
    # an unknown size counts as 0
    counts = [prod(size.as_constant or 0 for size in shape) for shape in operands]
    elementwise = any(elementwise_operator(fold.operator) for fold in folds)
    if elementwise or 0 in counts or sum(counts) > MOST_SCALARS:
        return REFUSED
    build = context.builder(statement)
    outer: list[tuple[Size, ...]] = [()] * len(operands)
    made = [_on_scalars(build, fold) for fold in folds]
    bins = 0
    if isinstance(exp, Hist):
        outer = [op.shape for op in exp.operators for _ in op.neutral]
        bins = sum(len(op.shape) for op in exp.operators)
        exp = replace(exp, operators=tuple(made))
    else:
        scanned = operand_count(exp.scans)
        outer = [(exp.width,)] * scanned + outer[scanned:]
        scans, reduces = divided(made, (len(exp.scans), len(exp.reduces)))
        exp = replace(exp, scans=scans, reduces=reduces)
    exp = replace(exp, function=_returning(build, exp.function, bins, len(operands)))
    after = build.nested()
    pattern = _columns(after, statement.pattern, outer)
    build.append(replace(statement, pattern=pattern, exp=exp))
    return (*build.statements, *after.statements)


def _places(type_: Type) -> list[tuple[core.Constant, ...]]:
    """The indices of all elements of an array of known sizes; () of a scalar."""
    ranges = [range(size.as_constant or 0) for size in shape_of(type_)]
    return [tuple(map(i64, place)) for place in product(*ranges)]


def _elements(build: Builder, atoms: Sequence[Atom]) -> list[Atom]:
    """The elements of arrays of known sizes, and scalars as they are."""
    return [
        build.index(atom, *place) if place and isinstance(atom, Name) else atom
        for atom in atoms
        for place in _places(build.type(atom))
    ]


def _whole(build: Builder, elements: Sequence[Atom], type_: Type) -> Exp:
    """A scalar, or an array of known sizes, of its elements."""
    if not isinstance(type_, ArrayType):
        return Copy(elements[0])
    flat = core.ArrayLiteral(tuple(elements), type_.element)
    return flat if type_.rank == 1 else core.Reshape(type_.shape, build.let(flat))


def _rows(
    build: Builder, columns: Sequence[Name], shape: Sequence[Size], type_: Type
) -> Exp:
    """An array of this shape of such arrays, whose elements are in the columns."""
    if not shape:
        return _whole(build, columns, type_)

    def row(inner: Builder, *elements: Name) -> Name:
        return inner.let(_rows(inner, elements, shape[1:], type_))

    function = build.function([row_type(t) for t in build.types(columns)], row)
    return map_(shape[0], tuple(columns), function)


def _columns(
    build: Builder, pattern: Sequence[Param], outer: Sequence[tuple[Size, ...]]
) -> tuple[Param, ...]:
    """The pattern with the elements of operands apart, which `outer` has the dimensions
    around of; emits what binds the operands."""
    found: list[Param] = []
    for bound, shape in zip(pattern, outer, strict=False):
        inner = array_of(element_of(bound.type), shape_of(bound.type)[len(shape) :])
        columns = [bound]
        if isinstance(inner, ArrayType):
            column = array_of(inner.element, shape)
            columns = [
                Param(build.names.like(bound.name), column) for _ in _places(inner)
            ]
            add_parameters(build.scope, columns)
            build.bind((bound,), _rows(build, [c.name for c in columns], shape, inner))
        found += columns
    return (*found, *pattern[len(outer) :])


def _on_scalars(build: Builder, fold: FoldT) -> FoldT:
    """The operator on the elements of its operands, with a copy of each column of the
    destinations of a histogram."""
    operator = fold.operator
    counts = [len(_places(p.type)) for p in operator.parameters]
    types = [element_of(t) for t in operator.results for _ in _places(t)]

    def combine(inner: Builder, *names: Name) -> list[Atom]:
        groups = divided(names, counts)
        for parameter, group in zip(operator.parameters, groups, strict=True):
            inner.bind((parameter,), _whole(inner, group, parameter.type))
        _write_out(inner, operator.body.statements)
        return _elements(inner, operator.body.result)

    made = build.function([*types, *types], combine)
    fold = replace(fold, operator=made, neutral=tuple(_elements(build, fold.neutral)))
    if isinstance(fold, HistOp):
        bins = [core.DimSlice(i64(0), size, i64(1)) for size in fold.shape]
        columns = [
            build.let(Copy(build.index(array, *bins, *place))) if place else array
            for array, type_ in zip(fold.destinations, operator.results, strict=True)
            for place in _places(type_)
        ]
        fold = replace(fold, destinations=tuple(columns))
    return fold


def _write_out(build: Builder, statements: Sequence[Stm]) -> None:
    """Emit statements of an operator, with the points of small maps and reductions one
    after the other: loops would index arrays of the thread."""
    for statement in statements:
        exp = statement.exp
        if not isinstance(exp, Screma) or exp.scans or exp.width.as_constant not in FEW:
            build.append(statement)
            continue
        made = write_out(build, exp, partial(_elements_at, build, exp), _applied)
        for bound, whole in zip(statement.pattern, made, strict=True):
            build.bind((bound,), whole)


def _elements_at(build: Builder, soac: Screma, point: int) -> list[Atom]:
    return [build.index(array, i64(point)) for array in soac.arrays]


def _applied(build: Builder, function: Lambda, given: Sequence[Atom]) -> Sequence[Atom]:
    """The results of a copy of the function, written out."""
    body = build.bound(function, given)
    _write_out(build, body.statements)
    return body.result


def _returning(build: Builder, function: Lambda, bins: int, operands: int) -> Lambda:
    """The function with the elements of operands, which follow the bins, as results."""
    results = function.body.result
    build.scope.update(scope_of(function))
    inner = build.nested()
    inner.extend(function.body.statements)
    elements = _elements(inner, results[bins : bins + operands])
    made = (*results[:bins], *elements, *results[bins + operands :])
    return Lambda(function.parameters, inner.finish(*made), inner.types(made))
