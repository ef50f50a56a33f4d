r"""Short arrays that are joined or repeated, as literals in functions of SOACs.

    let all = concat(0, 4, p, [1])          →   let all = [p[0], p[1], p[2], 1]

What reads their elements reads scalars then, and no loop fills an array in the
private memory of a thread, which would keep points from being vectors. For
`passes.unroll_short`, which writes out the SOACs over such arrays as well.

Conditions: at most `MOST` elements, whose number is known, and the array is used by its
elements; one that is a result may have `RETURNED` elements, each of which is stored.
Arrays that are updated stay: adjoints are updated again and again, and literals of all
their elements made the gradient of bundle adjustment take six times as long.
"""

from __future__ import annotations

from itertools import product

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, Constant, Stm
from minifut.ir.scope import array_type
from minifut.ir.types import element_of, shape_of
from minifut.passes.unroll_nests import MOST, elements_in, use_of_elements
from minifut.rewrite.context import StatementContext, with_values
from minifut.rewrite.rule import Declined, Outcome, rule

JOINING = (core.Concat, core.Manifest, core.Replicate)
RETURNED = 8
"""elements of an array that is only returned"""


def is_short_array(statement: Stm, body: Body, goes_on: bool) -> bool:
    """Whether a body uses an array by its elements, or returns a few, and no loop goes
    on with them."""
    (bound,) = statement.pattern
    used = use_of_elements({bound.name}, body)
    if used is None or (used and bound.name not in body.result):
        return used is True
    return elements_in(bound.type) <= RETURNED and not goes_on


@rule(JOINING)
def list_elements(statement: Stm, context: StatementContext) -> Outcome:
    """Make a short array a literal of its elements.

    before:
        given (xs: [2]i32, y: i32)
        let ys: [1]i32 = [y]: i32
        let zs: [3]i32 = concat(0, 3, xs, ys)
    after:
        given (xs: [2]i32, y: i32)
        let ys: [1]i32 = [y]: i32
        let a: i32 = xs[0i64]
        let b: i32 = xs[1i64]
        let flat: [3]i32 = [a, b, y]: i32
        let zs: [3]i32 = flat
    declines: it has many elements
        given (xs: [40]i32)
        let zs: [80]i32 = concat(0, 80, xs, xs)
    declines: where its parts end is not known
        given (n: i64, m: i64, xs: [n]i32, ys: [m]i32)
        let zs: [3]i32 = concat(0, 3, xs, ys)
    """
    (bound,) = statement.pattern
    if not 0 < elements_in(bound.type) <= MOST:
        return Declined("it has many elements")
    exp = statement.exp
    if isinstance(exp, core.Concat) and None in _lengths(exp, context):
        return Declined("where its parts end is not known")
    build = context.builder(statement)
    sizes = [size.as_constant or 0 for size in shape_of(bound.type)]
    cells = [
        _element(build, exp, place, context)
        for place in product(*(range(size) for size in sizes))
    ]
    made = build.let(core.ArrayLiteral(tuple(cells), element_of(bound.type)), "flat")
    if len(sizes) > 1:
        made = build.let(core.Reshape(shape_of(bound.type), made))
    return with_values(statement, tuple(build.statements), (made,))


def _element(
    build: Builder, exp: object, place: tuple[int, ...], context: StatementContext
) -> Atom:
    """What an array has at a place."""
    match exp:
        case core.Concat(dimension, arrays):
            at = place[dimension]
            for array, size in zip(arrays, _lengths(exp, context), strict=True):
                assert size is not None
                if at < size:
                    inner = (*place[:dimension], at, *place[dimension + 1 :])
                    return _read(build, array, inner, context)
                at -= size
        case core.Manifest(array):
            return _read(build, array, place, context)
        case core.Replicate(shape, value):
            return _read(build, value, place[len(shape) :], context)
    raise AssertionError(exp)


def _lengths(exp: core.Concat, context: StatementContext) -> list[int | None]:
    """Those of the parts, as far as they are known."""
    types = [array_type(array, context.scope) for array in exp.arrays]
    return [type_.shape[exp.dimension].as_constant for type_ in types]


def _read(
    build: Builder, array: Atom, place: tuple[int, ...], context: StatementContext
) -> Atom:
    """The element of an array, or the value itself."""
    if isinstance(array, Constant) or not place:
        return array
    source = context.definition(array)
    if isinstance(source, core.ArrayLiteral) and len(place) == 1:
        return source.rows[place[0]]
    return build.index(array, *map(i64, place))
