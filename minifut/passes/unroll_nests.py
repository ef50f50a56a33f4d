r"""Nests of maps over known numbers, as literals.

    let hood = map (\a -> map (\b -> f a b) (iota 3)) (iota 3)
  →
    let flat = [f 0 0, f 0 1, .., f 2 2]
    let hood = reshape [3][3] flat

Such are the neighbours of a point as an array, and their weights. What folds them,
under another shape too, then reads scalars; see `passes.unroll_short`.

Conditions: maps of scalar code without checks over `iota` or literals; at most `MOST`
elements and `LARGEST` statements; what uses the array asks for elements at known
positions, or is a SOAC over all of them, perhaps under another shape.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir.builder import Builder, i64
from minifut.ir.core import (
    ArrayLiteral,
    Atom,
    Body,
    Constant,
    Copy,
    Exp,
    Index,
    Iota,
    Reshape,
    Stm,
)
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, rename
from minifut.ir.types import ArrayType, shape_of
from minifut.names import Name
from minifut.passes.flatten.cheap import is_scalar_code
from minifut.rewrite.context import StatementContext, with_values
from minifut.rewrite.rule import Declined, Outcome, rule

MOST = 32
"""elements of such an array"""
LARGEST = 512
"""statements that are written out"""
NO_NEST = Declined("it is no nest of maps of few elements over known numbers")


@rule(Screma)
def unroll_nest(statement: Stm, context: StatementContext) -> Outcome:
    r"""Write out a nest of maps over known numbers, as a literal under its shape.

    before:
        given (x: i64)
        let js: [2]i64 = iota i64 (2, 0i64, 1i64)
        let yss: [2][2]i64 = map(2, (js), \(i: i64) -> ([2]i64) {
          let a: i64 = add_i64(x, i)
          let ys: [2]i64 = map(2, (js), \(j: i64) -> (i64) {mul_i64(a, j)})
          return ys
        })
    after:
        given (x: i64)
        let js: [2]i64 = iota i64 (2, 0i64, 1i64)
        let i: i64 = js[0i64]
        let a: i64 = add_i64(x, i)
        let j: i64 = js[0i64]
        let y: i64 = mul_i64(a, j)
        let k: i64 = js[1i64]
        let z: i64 = mul_i64(a, k)
        let l: i64 = js[1i64]
        let b: i64 = add_i64(x, l)
        let m: i64 = js[0i64]
        let u: i64 = mul_i64(b, m)
        let n: i64 = js[1i64]
        let v: i64 = mul_i64(b, n)
        let flat: [4]i64 = [y, z, u, v]: i64
        let shaped: [2][2]i64 = reshape([2][2], flat)
        let yss: [2][2]i64 = shaped
    declines: it is no nest of maps of few elements over known numbers
        given (xs: [2]i64)
        let ys: [2]i64 = map(2, (xs), \(x: i64) -> (i64) {add_i64(x, 1i64)})
    """
    exp = statement.exp
    assert isinstance(exp, Screma)
    elements = [_elements(p.type) for p in statement.pattern]
    if max(elements, default=0) > MOST or not 0 < _size(exp, context) <= LARGEST:
        return NO_NEST
    build = context.builder(statement)
    made = []
    for cells, bound in zip(
        _cells(build, exp, context), statement.pattern, strict=True
    ):
        assert isinstance(bound.type, ArrayType)
        flat = build.let(ArrayLiteral(tuple(cells), bound.type.element))
        whole = len(shape_of(bound.type)) == 1
        made.append(flat if whole else build.let(Reshape(bound.type.shape, flat)))
    return with_values(statement, tuple(build.statements), tuple(made))


def are_used_by_elements(names: set[Name], body: Body) -> bool:
    """Whether arrays are only used by their elements at known positions, or by SOACs
    over all of them, perhaps under another shape."""
    if not names.isdisjoint(body.result):
        return False
    return all(
        _uses_elements(names, statement.exp)
        for statement in body.statements
        if not names.isdisjoint(free_names(statement.exp))
    )


def _uses_elements(names: set[Name], exp: Exp) -> bool:
    match exp:
        case Reshape():
            return True
        case Index():
            return all(isinstance(place, Constant) for place in exp.slice)
        case Screma():
            functions = (exp.function, *exp.scans, *exp.reduces)
            return all(names.isdisjoint(free_names(each)) for each in functions)
    return False


def depends_on_literals(exp: Screma, context: StatementContext) -> bool:
    """Whether nothing but literals and numbers decides what the elements are."""
    return all(_is_known(name, context) for name in free_names(exp))


def literal_of(array: Atom, context: StatementContext) -> ArrayLiteral | None:
    """The literal that an array is, perhaps under another shape."""
    source = context.definition(array)
    while isinstance(source, Copy | Reshape):
        inner = source.atom if isinstance(source, Copy) else source.array
        source = context.definition(inner)
    return source if isinstance(source, ArrayLiteral) else None


def _is_known(array: Name, context: StatementContext) -> bool:
    """Whether the elements of an array are known: an `iota`, or a literal."""
    source = context.definition(array)
    if isinstance(source, Iota):
        return isinstance(source.start, Constant)
    return literal_of(array, context) is not None


def _elements(type_: object) -> int:
    """The number of elements of an array; more than any limit if it is not known."""
    assert isinstance(type_, ArrayType)
    sizes = [size.as_constant for size in type_.shape]
    number = 1
    for size in sizes:
        number *= MOST + 1 if size is None else size
    return number


def _size(exp: Screma, context: StatementContext) -> int:
    """The number of statements that a nest is written out as; 0 if it cannot be."""
    width = exp.width.as_constant
    if not exp.is_map or not width:
        return 0
    if not all(_is_known(array, context) for array in exp.arrays):
        return 0
    body = exp.function.body
    inner = [s for s in body.statements if isinstance(s.exp, Screma)]
    plain = [s for s in body.statements if not isinstance(s.exp, Screma)]
    arrays = {parameter.name for s in inner for parameter in s.pattern}
    if not is_scalar_code(plain) or not arrays.isdisjoint(_used(plain)):
        return 0
    if any(not arrays.isdisjoint(free_names(s.exp)) for s in inner):
        return 0
    results = zip(exp.function.results, body.result, strict=True)
    if any(isinstance(t, ArrayType) and r not in arrays for t, r in results):
        return 0
    sizes = [_size(s.exp, context) for s in inner if isinstance(s.exp, Screma)]
    if 0 in sizes:
        return 0
    return width * (len(exp.arrays) + len(plain) + sum(sizes))


def _used(statements: Iterable[Stm]) -> set[Name]:
    return {name for statement in statements for name in free_names(statement.exp)}


def _cells(
    build: Builder, exp: Screma, context: StatementContext
) -> tuple[list[Atom], ...]:
    """The elements of the results of a nest, in row-major order."""
    made: tuple[list[Atom], ...] = tuple([] for _ in exp.function.results)
    width = exp.width.as_constant
    assert width is not None
    for point in range(width):
        known: dict[Name, Atom] = {}
        for parameter, array in zip(exp.function.parameters, exp.arrays, strict=True):
            known[parameter.name] = build.index(array, i64(point))
        body = rename(exp.function.body, build.names, known)
        rows: dict[Atom, list[Atom]] = {}
        for statement in body.statements:
            if isinstance(statement.exp, Screma):
                names = [parameter.name for parameter in statement.pattern]
                inner = _cells(build, statement.exp, context)
                rows |= zip(names, inner, strict=True)
            else:
                build.append(statement)
        for cells, result in zip(made, body.result, strict=True):
            cells += rows.get(result, [result])
    return made
