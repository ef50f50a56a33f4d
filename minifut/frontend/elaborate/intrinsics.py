"""What the compiler implements itself: a Python function per name.

The names and types are those of the checker's `prelude/intrinsics.fut`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from minifut.frontend.elaborate import (
    accumulators,
    arrays,
    checks,
    derivatives,
    numeric,
    soacs,
    values,
)
from minifut.frontend.elaborate.environment import Term
from minifut.frontend.elaborate.sizes import resolve_size
from minifut.frontend.elaborate.values import (
    ArrayValue,
    Call,
    Leaf,
    Primitive,
    Value,
    constant,
    pair,
    size_of,
)
from minifut.frontend.elaborate.work import Work
from minifut.ir import core
from minifut.ir.sizes import Size
from minifut.ir.types import I64, SCALARS, ArrayType
from minifut.names import Name


def _natural(call: Call, number: Value, what: str) -> Size:
    """A size, checked not to be negative."""
    assert isinstance(number, Leaf)
    message = (f"{what} ", number.atom, " is negative")
    checks.check_not_negative(call.work, number, message, call.location)
    size = size_of(number)
    call.work.assume_natural(size)
    return size


def _iota(call: Call) -> Value:
    work, (number,) = call.work, call.arguments
    assert isinstance(number, Leaf)
    message = ("Range 0..1..<", number.atom, " is invalid.")
    checks.check_not_negative(work, number, message, call.location)
    size = size_of(number)
    work.assume_natural(size)
    return arrays.iota(work, size)


def _replicate(call: Call) -> Value:
    number, value = call.arguments
    return arrays.replicate(call.work, _natural(call, number, "Size"), value)


def _reduce(call: Call, commutative: bool) -> Value:
    function, neutral, array = call.arguments
    return soacs.reduce(call, function, neutral, array, commutative)


def _zip(call: Call) -> Value:
    left, right = call.arguments
    assert isinstance(left, ArrayValue)
    right = soacs.with_width(call, right, left.size)
    assert isinstance(right, ArrayValue)
    return ArrayValue(left.size, pair(left.element, right.element))


def _unzip(call: Call) -> Value:
    (array,) = call.arguments
    assert isinstance(array, ArrayValue)
    return pair(
        *[ArrayValue(array.size, part) for part in values.elements(array.element)]
    )


def _flatten(call: Call) -> Value:
    (array,) = call.arguments
    assert isinstance(array, ArrayValue) and isinstance(array.element, ArrayValue)
    size = array.size * array.element.size
    return soacs.reshape_outer(call, array, [size], 2)


def _unflatten(call: Call) -> Value:
    """The sizes are what the checker found that they stand for."""
    work, (array,) = call.work, call.arguments
    assert isinstance(array, ArrayValue)
    outer, inner = _split_sizes(call)
    if outer is None or inner is None:
        raise work.unsupported("unflatten to unknown sizes is")
    if not work.mode.unsafe:
        conditions = [
            work.op("ge", work.size_leaf(size), constant(0, I64))
            for size in (outer, inner)
            if not checks.never_negative(work, size)
        ]
        product = outer * inner
        if product != array.size:
            sides = work.size_leaf(product), work.size_leaf(array.size)
            conditions.append(work.op("eq", *sides))
        message = (
            "Cannot unflatten array of shape ",
            *checks.shape_text(work, (array.size,)),
            " to array of shape ",
            *checks.shape_text(work, (outer, inner)),
        )
        checks.check(work, checks.all_of(work, conditions), message, call.location)
    return soacs.reshape_outer(call, array, [outer, inner], 1)


def _split_sizes(call: Call) -> list[Size | None]:
    """What the size parameters of `unflatten` stand for."""
    if call.instance is not None:
        terms, home = call.instance
        return [
            resolve_size(term, home, call.work, emit=True)  # type: ignore[arg-type]
            for name, term in terms.items()
            if name.base in ("n", "m")
        ]
    return [None, None]


def _manifest(call: Call) -> Value:
    """Every array laid out in memory. `copy` does not require that: arrays of the core
    are values, and an update copies what is needed later (`analysis.in_place`)."""

    def change(leaf: Leaf) -> Leaf:
        if not isinstance(leaf.type, ArrayType) or not isinstance(leaf.atom, Name):
            return leaf
        order = tuple(range(leaf.type.rank))
        return call.work.leaf(core.Manifest(leaf.atom, order), leaf.atom.base)

    return values.map_leaves(call.arguments[0], change)


def _opaque(call: Call) -> Value:
    return opaque(call.work, call.arguments[0])


def opaque(work: Work, value: Value) -> Value:
    """A barrier for optimisation around every leaf."""
    return values.map_leaves(
        value, lambda leaf: work.leaf(core.Opaque(leaf.atom), "opaque")
    )


def trace(work: Work, value: Value, label: str) -> Value:
    """Every leaf is printed when the program runs."""
    return values.map_leaves(
        value, lambda leaf: work.leaf(core.Trace(label, leaf.atom), "traced")
    )


def unsupported(name: str) -> Primitive:
    """An intrinsic that the compiler cannot do yet."""

    def call(c: Call) -> Value:
        c.work.location = c.location
        raise c.work.unsupported(f"{name} is")

    return Primitive(name, 1, call)


def _entries() -> dict[str, tuple[int, Callable[[Call], Value]]]:
    table: dict[str, tuple[int, Callable[[Call], Value]]] = {
        "map": (2, soacs.map_),
        "reduce": (3, lambda c: _reduce(c, False)),
        "reduce_comm": (3, lambda c: _reduce(c, True)),
        "scan": (3, soacs.scan),
        "zip": (2, _zip),
        "unzip": (1, _unzip),
        "iota": (1, _iota),
        "replicate": (2, _replicate),
        "concat": (2, lambda c: soacs.concat(c, *c.arguments)),
        "flatten": (1, _flatten),
        "unflatten": (1, _unflatten),
        "transpose": (1, lambda c: soacs.transpose(c, c.arguments[0])),
        "reverse": (1, lambda c: soacs.reverse(c, c.arguments[0])),
        "copy": (1, lambda call: call.arguments[0]),
        "manifest": (1, _manifest),
        "jvp2": (3, derivatives.jvp),
        "vjp2": (3, derivatives.vjp),
        "jmp2": (3, derivatives.jmp),
        "mjp2": (3, derivatives.mjp),
        "with_vjp": (3, derivatives.with_vjp),
        "opaque": (1, _opaque),
        "break": (1, lambda c: c.arguments[0]),
        "acc_write": (3, accumulators.acc_write),
        "scatter_stream": (3, accumulators.scatter_stream),
        "hist_stream": (5, accumulators.hist_stream),
        "trace": (1, lambda c: trace(c.work, c.arguments[0], "trace")),
    }
    for rank, suffix in ((1, ""), (2, "_2d"), (3, "_3d")):
        table["scatter" + suffix] = (3, _ranked(soacs.scatter, rank))
        table["reduce_by_index" + suffix] = (5, _ranked(soacs.reduce_by_index, rank))
    return table


def _ranked(
    function: Callable[[Call, int], Value], rank: int
) -> Callable[[Call], Value]:
    return lambda call: function(call, rank)


@cache
def _table() -> dict[str, tuple[int, Callable[[Call], Value]]]:
    return _entries()


def intrinsic(name: str) -> Term | None:
    """An operator, intrinsic or numeric module, by its name."""
    if name in _table():
        arity, call = _table()[name]
        return Primitive(name, arity, call)
    if name in numeric.SYMBOLS:
        return numeric.operator_value(name)
    return numeric.numeric_module(name) if name in SCALARS else None
