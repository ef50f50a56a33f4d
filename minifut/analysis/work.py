r"""How many scalar operations an operation executes at most, as a size of the program.

    segmap grid (i < n) { x = xs[i]; y = x * x; returns y }          3 * n
    segmap grid (i < n) { loop for j < i { 4 operations } }          4 * n * n + n

It is an upper bound: index variables count as the size of their dimension, of branches
the more expensive one counts. There is none (None) where a number of iterations depends
on data: a `while` loop, a bound that is loaded or computed, the call of a function.

The schedule of a launch is chosen by it, and versions are compared by it, so it must be
cheap to evaluate: a polynomial of few terms.

How much runs in parallel, as a size of the program.

segmap grid (i < n, j < m)                                     n * m
map (\xs -> .. map (\x -> ..) xs ..) xss        outer n, whole n * m
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from operator import add, mul, sub
from typing import Any

from minifut.ir import accumulators, core, kernels, scalar_table, scalars
from minifut.ir.kernels import SegHist, SegMap, SegRed, SegScan
from minifut.ir.sizes import (
    ONE,
    ZERO,
    Extreme,
    Quotient,
    Size,
    maximum,
    minimum,
    product,
)
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import atom_size, bound_names, walk
from minifut.ir.types import I64, shape_of
from minifut.names import Name

COST = 16
"""of a division or a transcendental function, in additions"""
UPDATE_COST = 4
"""of an atomic update"""
MOST_TERMS = 12
"""of a polynomial that is worth evaluating before every launch"""

UNKNOWN = None
"""the bound of what is computed from data"""
LoopBounds = Mapping[Name, Size | None]
"""the greatest values of names that are bound inside, in names that are not"""
SIZE_OPERATORS: Mapping[str, Callable[..., Size]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "min": minimum,
    "max": maximum,
}
"""on integers that do not wrap, as those that count do not"""
Cost = Callable[[Any, tuple[core.Param, ...], LoopBounds], Size]
"""of an expression that binds a pattern"""


class Unbounded(Exception):
    """The work depends on data."""


def work_of(operation: object) -> Size | None:
    """The most scalar operations that one execution of the operation takes, over names
    that are free in it; None if that is not known before it runs."""
    try:
        work = work_of_expression(operation, (), {})
    except Unbounded:
        return None
    return work if len(work.terms) <= MOST_TERMS else None


def work_of_expression(
    exp: Any, pattern: tuple[core.Param, ...], bounds: LoopBounds
) -> Size:
    """The same of an expression with its pattern. Raises `Unbounded`."""
    match exp:
        case core.ScalarOp(operator, _):
            return Size.constant(COST if is_costly(operator) else 1)
        case (
            kernels.SegMap() | kernels.SegRed() | kernels.SegScan() | kernels.SegHist()
        ):
            return _segmented(exp, bounds)
        case Screma(width, _, _, _, function):
            folds = [_lambda(fold.operator, bounds) for fold in exp.folds]
            return _times(width, _sum(folds) + _lambda(function, bounds), bounds)
        case Scatter(width, _, _, function):
            return _times(width, _lambda(function, bounds), bounds)
        case Hist(width, _, operators, function):
            updates = [_lambda(o.operator, bounds) + UPDATE_COST for o in operators]
            return _times(width, _sum(updates) + _lambda(function, bounds), bounds)
        case core.If() | core.Match():
            return greatest_of([_body(body, bounds) for body in exp.branches])
        case core.Loop(parameters, _, core.ForLoop(index, bound, _), body):
            steps = upper_bound(atom_size(bound), bounds)
            inner = {**hidden(parameters, bounds), index: steps}
            return steps * (_body(body, inner) + 1)
        case core.Loop() | core.Apply():
            raise Unbounded
        case accumulators.WithAcc(_, function):
            return _lambda(function, bounds)
        case accumulators.UpdateAcc():
            return Size.constant(UPDATE_COST)
        case core.Update(_, entries, _):
            (updated,) = pattern
            rest = shape_of(updated.type)[len(entries) :]
            kept = [e.length for e in entries if isinstance(e, core.DimSlice)]
            return product(tuple(upper_bound(size, bounds) for size in (*kept, *rest)))
        case (
            core.Copy()
            | core.Index()
            | core.Rearrange()
            | core.Reshape()
            | core.Scratch()
            | core.Assert()
        ):
            return ONE
    return _sum([_elements(bound, bounds) for bound in pattern])


def is_costly(operator: scalars.Operator) -> bool:
    """Whether it takes more than an addition."""
    return scalars.operator_cost(operator) is not scalar_table.OperatorCost.ADDITION


def _segmented(exp: Any, bounds: LoopBounds) -> Size:
    sizes = [upper_bound(size, bounds) for size in exp.space.sizes]
    inner = {**bounds, **dict(zip(exp.space.indices, sizes, strict=True))}
    point = work_of_statements(exp.body.statements, inner) + len(exp.body.result)
    for operator in getattr(exp, "operators", ()):
        point = point + _lambda(operator.operator, inner)
    return product(tuple(sizes)) * point


def _lambda(function: core.Lambda, bounds: LoopBounds) -> Size:
    return _body(function.body, hidden(function.parameters, bounds))


def hidden(parameters: Iterable[core.Param], bounds: LoopBounds) -> LoopBounds:
    """The bounds where these are bound too, to values that depend on data."""
    return {**bounds, **{bound.name: UNKNOWN for bound in parameters}}


def _body(body: core.Body, bounds: LoopBounds) -> Size:
    return work_of_statements(body.statements, bounds) + len(body.result)


def work_of_statements(
    statements: Iterable[core.Stm], bounds: LoopBounds, cost: Cost | None = None
) -> Size:
    """The sum over the statements of a body, of their work or of another cost. Raises
    `Unbounded`."""
    cost = cost or work_of_expression
    known = dict(bounds)
    total = ZERO
    for statement in statements:
        total = total + cost(statement.exp, statement.pattern, known)
        size = size_of(statement.exp)
        for bound in statement.pattern:
            known[bound.name] = UNKNOWN
            if size is not None and all(known.get(n, ONE) for n in size.names()):
                bounded = upper_bound(size, known)
                known[bound.name] = bounded if bounded.is_short else UNKNOWN
    return total


def size_of(exp: object) -> Size | None:
    """The size that an expression is by its operators, if it is one."""
    match exp:
        case core.SizeExp(size):
            return size
        case core.Copy(atom):
            return atom_size(atom) if not isinstance(atom, core.Constant) else None
        case core.ScalarOp(operator, operands) if operator.type == I64:
            combine = SIZE_OPERATORS.get(operator.name)
            if combine is not None:
                made: Size = combine(*map(atom_size, operands))
                return made
    return None


def _elements(bound: core.Param, bounds: LoopBounds) -> Size:
    return product(tuple(upper_bound(size, bounds) for size in shape_of(bound.type)))


def _times(count: Size, each: Size, bounds: LoopBounds) -> Size:
    return upper_bound(count, bounds) * (each + 1)


def upper_bound(size: Size, bounds: LoopBounds) -> Size:
    """A size that is at least this one for all values of index variables, which are not
    negative: `n - i` becomes `n`."""
    inner = {name: bounds[name] for name in size.names() if name in bounds}
    known = {name: bound for name, bound in inner.items() if bound is not None}
    if len(known) < len(inner):
        raise Unbounded
    fixed, moving = size.split(known)
    grown = Size(tuple(term for term in moving.terms if term[1] > 0))
    for monomial, _ in grown.terms:
        for atom in monomial:
            _check_monotonic(atom, known.keys())
    return (fixed + grown).substitute(known)


def _check_monotonic(atom: Any, inner: Collection[Name]) -> None:
    """Quotients and extremes grow with index variables unless these are subtracted, or
    divided by."""
    match atom:
        case Quotient(dividend, divisor, _):
            parts, falling = [dividend], divisor.names()
        case Extreme(operands, _):
            parts, falling = list(operands), frozenset()
        case _:
            return
    for part in parts:
        for monomial, _ in part.terms:
            for each in monomial:
                _check_monotonic(each, inner)
        falling |= Size(tuple(term for term in part.terms if term[1] < 0)).names()
    if not falling.isdisjoint(inner):
        raise Unbounded


def greatest_of(works: list[Size]) -> Size:
    """The greatest of what branches cost."""
    known = [work.as_constant for work in works]
    numbers = [number for number in known if number is not None]
    return (
        Size.constant(max(numbers)) if len(numbers) == len(works) else maximum(*works)
    )


def _sum(works: Iterable[Size]) -> Size:
    return sum(works, start=ZERO)


SEGMENTED = (SegMap, SegRed, SegScan, SegHist)


def parallelism(exp: object) -> Size:
    """The points of a segmented operation or the elements of a SOAC; 1 for others."""
    match exp:
        case SegMap() | SegRed() | SegScan() | SegHist():
            return product(exp.space.sizes)
        case Screma() | Scatter() | Hist():
            return exp.width
    return ONE


def whole_parallelism(exp: object) -> Size:
    """With the regular parallelism inside: the width times the greatest one inside
    whose size does not depend on the element."""
    if not isinstance(exp, (Screma, Scatter, Hist)):
        return parallelism(exp)
    inside = _inside(exp.function, set(bound_names(exp.function)))
    return exp.width * maximum(*inside) if inside else exp.width


def _inside(function: core.Lambda, bound: Collection[Name]) -> list[Size]:
    found: list[Size] = []
    for statement in function.body.statements:
        for node in _outermost(statement.exp):
            size = whole_parallelism(node)
            if size.names().isdisjoint(bound) and size not in found:
                found.append(size)
    return found


def _outermost(exp: Any) -> list[Any]:
    """The SOACs in an expression that are in no other."""
    if isinstance(exp, (Screma, Scatter, Hist)):
        return [exp]
    found: list[Any] = []
    covered: set[int] = set()
    for node in walk(exp):
        if id(node) in covered or not isinstance(node, (Screma, Scatter, Hist)):
            continue
        found.append(node)
        covered.update(id(inner) for inner in walk(node))
    return found
