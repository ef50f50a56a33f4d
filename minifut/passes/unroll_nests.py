r"""Nests of maps over known numbers, as literals.

    let hood = map (\a -> map (\b -> f a b) (iota 3)) (iota 3)
  →
    let flat = [f 0 0, f 0 1, .., f 2 2]
    let hood = reshape [3][3] flat

Such are the neighbours of a point as an array, and their weights, and small matrices.
What folds them, under another shape too, then reads scalars; see `passes.unroll_short`.

Conditions: maps of scalar code without checks, and of views; at most `MOST` elements
and `LARGEST` statements. What uses the array requires elements at known positions, or
is a SOAC over all of them, perhaps through views, or a nest that is written out as
well; or the nest itself reads an array whose elements are known one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.ir import core
from minifut.ir.core import Atom, Body, Constant, Exp, Lambda, Stm
from minifut.ir.soacs import Screma, operand_count
from minifut.ir.traverse import free_names, names_in, walk
from minifut.ir.types import ArrayType, ScalarType, shape_of
from minifut.names import Name
from minifut.passes.flatten.cheap import is_scalar_code
from minifut.passes.folded_copies import FoldedCopies
from minifut.rewrite.context import StatementContext, with_values
from minifut.rewrite.rule import Declined, Outcome, rule

FEW = 4
"""elements of what is folded in a map of many points"""
MOST = 32
"""elements of such an array"""
SHARED = 8
"""operators of a body that are not to be repeated for each element of a row"""
VIEWS = (core.Index, core.Rearrange, core.Reshape)
PARTS = (core.ArrayLiteral, core.Concat, core.Manifest)
"""what is made of arrays whose elements it has"""
LARGEST = 512
"""statements that are written out"""
NO_NEST = Declined("it is no nest of maps of few elements")


@rule(Screma)
def unroll_nest(statement: Stm, context: StatementContext) -> Outcome:
    r"""Write out a nest of maps over known numbers, as a literal under its shape.

    before:
        given (x: i64)
        let js: [2]i64 = iota i64 (2, 0i64, 1i64)
        let yss: [2][2]i64 = map(2, (js), \(i: i64) -> ([2]i64) {
          let a: i64 = add_i64(x, i)
          return map(2, (js), \(j: i64) -> (i64) {mul_i64(a, j)})
        })
    after:
        given (x: i64)
        let js: [2]i64 = iota i64 (2, 0i64, 1i64)
        let b: i64 = add_i64(x, 1i64)
        let flat: [4]i64 = [0i64, x, 0i64, b]: i64
        let shaped: [2][2]i64 = reshape([2][2], flat)
        let yss: [2][2]i64 = shaped
    declines: it is no nest of maps of few elements
        given (xs: [40]i64)
        let ys: [40]i64 = map(40, (xs), \(x: i64) -> (i64) {add_i64(x, 1i64)})
    """
    exp = statement.exp_of(Screma)
    if not 0 < _size(exp) <= LARGEST:
        return NO_NEST
    if max((elements_in(p.type) for p in statement.pattern), default=0) > MOST:
        return NO_NEST
    build = context.builder(statement)
    found = _cells(FoldedCopies(build, context), exp)
    made = []
    for cells, bound in zip(found, statement.pattern, strict=True):
        assert isinstance(bound.type, ArrayType)
        flat = build.let(core.ArrayLiteral(tuple(cells), bound.type.element))
        whole = len(shape_of(bound.type)) == 1
        made.append(flat if whole else build.let(core.Reshape(bound.type.shape, flat)))
    return with_values(statement, tuple(build.statements), tuple(made))


def are_used_by_elements(names: set[Name], body: Body) -> bool:
    """Whether arrays are used by their elements, and nothing else than the result of
    the body requires them as they are."""
    return use_of_elements(names, body) is True


def use_of_elements(names: set[Name], body: Body) -> bool | None:
    """Whether arrays are used by their elements, at known positions or all of them in
    SOACs, perhaps through views and short arrays of which they are parts; what the body
    returns may be among them as well. None if something else uses them."""
    used = False
    names = set(names)
    for statement in body.statements:
        exp = statement.exp
        if names.isdisjoint(names_in(statement)):
            continue
        passed = isinstance(exp, (*VIEWS, *PARTS))
        if passed and isinstance(statement.pattern[0].type, ArrayType):
            names.add(statement.pattern[0].name)
        else:
            used = True
        if not _uses_elements(names, statement):
            return None
    return used


def shares_places(exp: Screma, body: Body) -> bool:
    """Whether the points of a map, few as they are, read at places that the body around
    it computes from data, such as the channels of a pixel that is looked up: in a flat
    space of all points each would compute them anew, and be no vector either."""
    width = exp.width.as_constant
    if not exp.is_map or width is None or width > FEW:
        return False
    numbers = sum(isinstance(s.exp, core.ScalarOp) for s in body.statements)
    if numbers < SHARED:
        return False
    places = _data_dependent(body)
    for statement in exp.function.body.statements:
        used = isinstance(statement.exp, core.ScalarOp) and statement.exp.operands
        if used and not places.isdisjoint(used):
            places.update(p.name for p in statement.pattern)
    rows = [s for s in body.statements for p in s.pattern if p.name in exp.arrays]
    read = [n for part in (*rows, exp.function) for n in walk(part)]
    return any(
        isinstance(n, core.Index) and not places.isdisjoint(free_names(n) - {n.array})
        for n in read
    )


def _data_dependent(body: Body) -> set[Atom]:
    """The integers of a body that depend on elements or floats."""
    found: set[Atom] = set()
    for statement in body.statements:
        exp = statement.exp
        depends = isinstance(exp, core.Index)
        if isinstance(exp, core.ScalarOp) and exp.operator.result.is_integer:
            depends = exp.operator.operands[0].is_float or any(
                operand in found for operand in exp.operands
            )
        if depends:
            found.update(p.name for p in statement.pattern)
    return found


def _uses_elements(names: set[Name], statement: Stm) -> bool:
    exp: Exp = statement.exp
    match exp:
        case core.Reshape() | core.Rearrange():
            return True
        case core.Concat() | core.Manifest() | core.ArrayLiteral():
            return elements_in(statement.pattern[0].type) <= MOST
        case core.Index():
            return all(map(_is_fixed, exp.slice))
        case Screma():
            if is_short_fold(exp, FEW) or 0 < _size(exp) <= LARGEST:
                return True
            operators = [scan.operator for scan in exp.scans]
            operators += [reduce.operator for reduce in exp.reduces]
            return all(
                names.isdisjoint(free_names(each))
                or are_used_by_elements(names, each.body)
                for each in (exp.function, *operators)
            )
    return False


def is_short_fold(exp: Screma, most: int) -> bool:
    """Whether it folds so few points by scalar code, and gives nothing else."""
    width = exp.width.as_constant
    functions = (exp.function, *(reduce.operator for reduce in exp.reduces))
    folded = operand_count(exp.reduces)
    return (
        width is not None
        and width <= most
        and not exp.scans
        and folded == len(exp.function.results) > 0
        and all(map(is_scalar_function, functions))
    )


def is_scalar_function(function: Lambda) -> bool:
    """Whether it is scalar code that takes and gives scalars."""
    return is_scalar_code(function.body.statements) and all(
        isinstance(type_, ScalarType) for type_ in function.results
    )


def _is_fixed(place: Atom | core.DimSlice) -> bool:
    """Whether it is known where a part of an array is."""
    if not isinstance(place, core.DimSlice):
        return isinstance(place, Constant)
    ends = isinstance(place.start, Constant) and isinstance(place.stride, Constant)
    return ends and place.length.as_constant is not None


def depends_on_literals(exp: Screma, context: StatementContext) -> bool:
    """Whether nothing but literals and numbers decides what the elements are."""
    return all(is_known(name, context) for name in free_names(exp))


def reads_elements(exp: Screma, context: StatementContext) -> bool:
    """Whether a nest reads an array of which each element is known, other than an
    `iota`."""
    return any(
        not isinstance(context.definition(name), core.Iota) and is_known(name, context)
        for name in free_names(exp)
    )


def literal_of(array: Atom, context: StatementContext) -> core.ArrayLiteral | None:
    """The literal that an array is, perhaps under another shape."""
    source = context.definition(array)
    while isinstance(source, core.Copy | core.Reshape):
        inner = source.atom if isinstance(source, core.Copy) else source.array
        source = context.definition(inner)
    return source if isinstance(source, core.ArrayLiteral) else None


def is_known(array: Atom, context: StatementContext) -> bool:
    """Whether the elements of an array are known one by one: those of an `iota`, of a
    literal, of a literal of such arrays, and what is seen of them through views."""
    source = context.definition(array)
    match source:
        case core.Iota():
            return isinstance(source.start, Constant)
        case core.ArrayLiteral(rows, type_):
            scalars = isinstance(type_, ScalarType)
            return scalars or all(is_known(row, context) for row in rows)
        case core.Copy(atom):
            return is_known(atom, context)
        case core.Reshape(_, inner) | core.Rearrange(_, inner):
            return is_known(inner, context)
        case core.Index(inner, places):
            return all(map(_is_fixed, places)) and is_known(inner, context)
    return False


def elements_in(type_: object) -> int:
    """The number of elements of an array; more than any limit if it is not known."""
    assert isinstance(type_, ArrayType)
    sizes = [size.as_constant for size in type_.shape]
    number = 1
    for size in sizes:
        number *= MOST + 1 if size is None else size
    return number


def _size(exp: Screma) -> int:
    """The number of statements that a nest is written out as; 0 if it cannot be."""
    width = exp.width.as_constant
    if not exp.is_map or not width:
        return 0
    body = exp.function.body
    inner = [s for s in body.statements if isinstance(s.exp, Screma)]
    plain = [s for s in body.statements if not isinstance(s.exp, Screma)]
    others = (core.Assert, core.ArrayLiteral, *VIEWS)
    scalars = [s for s in plain if not isinstance(s.exp, others)]
    arrays = {parameter.name for s in inner for parameter in s.pattern}
    if not is_scalar_code(scalars) or not arrays.isdisjoint(_used(plain)):
        return 0
    if any(not arrays.isdisjoint(free_names(s.exp)) for s in inner):
        return 0
    results = zip(exp.function.results, body.result, strict=True)
    if any(isinstance(t, ArrayType) and r not in arrays for t, r in results):
        return 0
    sizes = [_size(s.exp) for s in inner if isinstance(s.exp, Screma)]
    if 0 in sizes:
        return 0
    return width * (len(exp.arrays) + len(plain) + sum(sizes))


def _used(statements: Iterable[Stm]) -> set[Name]:
    return {name for statement in statements for name in free_names(statement.exp)}


def _cells(copies: FoldedCopies, exp: Screma) -> tuple[list[Atom], ...]:
    """The elements of the results of a nest, in row-major order."""
    made: tuple[list[Atom], ...] = tuple([] for _ in exp.function.results)
    width, copied = exp.width.as_constant, copies.copied
    assert width is not None
    for point in range(width):
        rows: dict[Atom, list[Atom]] = {}
        for parameter, array in zip(exp.function.parameters, exp.arrays, strict=True):
            source = copied.atom(array)
            assert isinstance(source, Name)
            copied.equate(parameter.name, copies.element(source, point))
        for statement in exp.function.body.statements:
            if isinstance(statement.exp, Screma):
                names = [bound.name for bound in statement.pattern]
                rows |= zip(names, _cells(copies, statement.exp), strict=True)
            else:
                copies.statement(statement)
        for cells, result in zip(made, exp.function.body.result, strict=True):
            cells += rows.get(result) or [copied.atom(result)]
    return made
