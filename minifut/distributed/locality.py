"""Which statements do on each chunk what they do on the whole.

    map(n, (xs), f)          on chunks of xs: chunks of the result
    rearrange((1, 0), xss)   chunks along the other dimension
    xss[i]   xss: [d][n]     chunks of the row
    map(d, (xss), \\xs -> B)  if B does

One rule for each kind of expression: it raises `Undistributable` with the reason, or
does nothing. What neither reads nor makes anything in chunks is not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.distributed.spread import Spread, Undistributable, located
from minifut.ir import core
from minifut.ir.core import Body, Constant, DimSlice, Lambda, Stm
from minifut.ir.scope import array_type
from minifut.ir.sizes import ONE, Size, product
from minifut.ir.soacs import Hist, Scatter, Screma


def check_local(statement: Stm, spread: Spread) -> None:
    """Raises `Undistributable` if the statement does not work chunk by chunk."""
    try:
        if spread.touches(statement):
            for parameter in statement.pattern:
                spread.axis(parameter.type)
            RULES.get(type(statement.exp), _unknown)(statement.exp, spread)
    except Undistributable as problem:
        raise located(problem, statement) from None


def is_local(statement: Stm, spread: Spread) -> bool:
    """Whether `check_local` is content."""
    try:
        check_local(statement, spread)
    except Undistributable:
        return False
    return True


def check_body(body: Body, spread: Spread) -> None:
    """All statements of a body."""
    for statement in body.statements:
        check_local(statement, spread)


def check_elementwise(function: Lambda, spread: Spread) -> None:
    """The function of a map over chunks reads its element and nothing in chunks."""
    for statement in function.body.statements:
        if spread.touches(statement):
            raise Undistributable(
                "each element needs more than the chunk that it is in",
                statement.location,
            )


def _screma(exp: Screma, spread: Spread) -> None:
    if spread.factors(exp.width) is None:
        for function in (exp.function, *(fold.operator for fold in exp.folds)):
            check_body(function.body, spread)
    elif exp.folds:
        raise Undistributable("a reduction or scan of the chunks, inside of something")
    else:
        check_elementwise(exp.function, spread)


def _index(exp: core.Index | core.Update, spread: Spread) -> None:
    shape = array_type(exp.array, spread.scope).shape
    for size, at in zip(shape, exp.slice, strict=False):
        if spread.factors(size) and not is_whole(at, size):
            raise Undistributable(f"{exp.array.base} is indexed across its chunks")


def is_whole(at: object, size: Size) -> bool:
    """Whether a range keeps a dimension as it is."""
    return (
        isinstance(at, DimSlice)
        and at.length == size
        and isinstance(at.start, Constant)
        and at.start.value == 0
        and isinstance(at.stride, Constant)
        and at.stride.value == 1
    )


def _reshape(exp: core.Reshape, spread: Spread) -> None:
    """What precedes the chunked dimension is the same before and after."""
    old = array_type(exp.array, spread.scope).shape
    if _before(old, spread) != _before(exp.shape, spread):
        raise Undistributable("elements of one chunk would come into another")


def _before(shape: tuple[Size, ...], spread: Spread) -> Size | None:
    for at, size in enumerate(shape):
        if spread.factors(size):
            return product(shape[:at]) if at else ONE
    return None


def _concat(exp: core.Concat, spread: Spread) -> None:
    for array in exp.arrays:
        if spread.axis(spread.scope[array]) == exp.dimension:
            raise Undistributable("arrays in chunks are joined end to end")


def _branches(exp: core.If | core.Match, spread: Spread) -> None:
    for body in exp.branches:
        check_body(body, spread)


def _loop(exp: core.Loop, spread: Spread) -> None:
    for parameter in exp.parameters:
        spread.axis(parameter.type)
    check_body(exp.body, spread)


def _scratch(exp: core.Scratch | core.Replicate, spread: Spread) -> None:
    for size in exp.shape:
        spread.factors(size)


def _iota(exp: core.Iota, spread: Spread) -> None:
    factors = spread.factors(exp.length)
    if factors is not None and next(iter(spread.sizes)) != factors[0]:
        raise Undistributable("positions in what a filter left are not known")


def _always(exp: object, spread: Spread) -> None:
    """Works chunk by chunk if its types do."""


def _hist(exp: Hist, spread: Spread) -> None:
    raise Undistributable("a histogram of the chunks, inside of something")


def _scatter(exp: Scatter, spread: Spread) -> None:
    raise Undistributable("a scatter may write to any chunk")


def _unknown(exp: object, spread: Spread) -> None:
    raise Undistributable(f"{type(exp).__name__} of an array in chunks")


RULES: dict[type, Callable[[Any, Spread], None]] = {
    Screma: _screma,
    Hist: _hist,
    Scatter: _scatter,
    core.Index: _index,
    core.Update: _index,
    core.Reshape: _reshape,
    core.Concat: _concat,
    core.If: _branches,
    core.Match: _branches,
    core.Loop: _loop,
    core.Scratch: _scratch,
    core.Replicate: _scratch,
    core.Iota: _iota,
    core.Copy: _always,
    core.Rearrange: _always,
    core.Manifest: _always,
    core.Opaque: _always,
}
