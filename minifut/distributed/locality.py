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

from minifut.distributed.chunked import ChunkedSizes, Undistributable, located
from minifut.ir import core, sizes
from minifut.ir.scope import array_type
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.passes.simplify.views import is_whole


def check_local(statement: core.Stm, chunked: ChunkedSizes) -> None:
    """Raises `Undistributable` if the statement does not work chunk by chunk."""
    try:
        if chunked.touches(statement):
            for parameter in statement.pattern:
                chunked.axis(parameter.type)
            RULES.get(type(statement.exp), _unknown)(statement.exp, chunked)
    except Undistributable as problem:
        raise located(problem, statement) from None


def is_local(statement: core.Stm, chunked: ChunkedSizes) -> bool:
    """Whether `check_local` is content."""
    try:
        check_local(statement, chunked)
    except Undistributable:
        return False
    return True


def check_body(body: core.Body, chunked: ChunkedSizes) -> None:
    """All statements of a body."""
    for statement in body.statements:
        check_local(statement, chunked)


def check_elementwise(function: core.Lambda, chunked: ChunkedSizes) -> None:
    """The function of a map over chunks reads its element and nothing in chunks."""
    for statement in function.body.statements:
        if chunked.touches(statement):
            raise Undistributable(
                "each element needs more than the chunk that it is in",
                statement.location,
            )


def _screma(exp: Screma, chunked: ChunkedSizes) -> None:
    if chunked.factors(exp.width) is None:
        for function in (exp.function, *(fold.operator for fold in exp.folds)):
            check_body(function.body, chunked)
    elif exp.folds:
        raise Undistributable("a reduction or scan of the chunks, inside of something")
    else:
        check_elementwise(exp.function, chunked)


def _index(exp: core.Index | core.Update, chunked: ChunkedSizes) -> None:
    shape = array_type(exp.array, chunked.scope).shape
    for size, at in zip(shape, exp.slice, strict=False):
        if chunked.factors(size) and not is_whole(at, size):
            raise Undistributable(f"{exp.array.base} is indexed across its chunks")


def _reshape(exp: core.Reshape, chunked: ChunkedSizes) -> None:
    """What precedes the chunked dimension is the same before and after."""
    old = array_type(exp.array, chunked.scope).shape
    if _before(old, chunked) != _before(exp.shape, chunked):
        raise Undistributable("elements of one chunk would come into another")


def _before(shape: tuple[sizes.Size, ...], chunked: ChunkedSizes) -> sizes.Size | None:
    for at, size in enumerate(shape):
        if chunked.factors(size):
            return sizes.product(shape[:at]) if at else sizes.ONE
    return None


def _concat(exp: core.Concat, chunked: ChunkedSizes) -> None:
    for array in exp.arrays:
        if chunked.axis(chunked.scope[array]) == exp.dimension:
            raise Undistributable("arrays in chunks are joined end to end")


def _branches(exp: core.If | core.Match, chunked: ChunkedSizes) -> None:
    for body in exp.branches:
        check_body(body, chunked)


def _loop(exp: core.Loop, chunked: ChunkedSizes) -> None:
    for parameter in exp.parameters:
        chunked.axis(parameter.type)
    check_body(exp.body, chunked)


def _scratch(exp: core.Scratch | core.Replicate, chunked: ChunkedSizes) -> None:
    for size in exp.shape:
        chunked.factors(size)


def _iota(exp: core.Iota, chunked: ChunkedSizes) -> None:
    factors = chunked.factors(exp.length)
    if factors is not None and next(iter(chunked.sizes)) != factors[0]:
        raise Undistributable("positions in what a filter left are not known")


def _always(exp: object, chunked: ChunkedSizes) -> None:
    """Works chunk by chunk if its types do."""


def _hist(exp: Hist, chunked: ChunkedSizes) -> None:
    raise Undistributable("a histogram of the chunks, inside of something")


def _scatter(exp: Scatter, chunked: ChunkedSizes) -> None:
    raise Undistributable("a scatter may write to any chunk")


def _unknown(exp: object, chunked: ChunkedSizes) -> None:
    raise Undistributable(f"{type(exp).__name__} of an array in chunks")


RULES: dict[type, Callable[[Any, ChunkedSizes], None]] = {
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
