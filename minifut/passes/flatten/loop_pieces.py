r"""`while` loops of scalars: some iterations on the host, then pieces in one thread.

    loop (c, x) while c do body
    →  loop (c, x, k) while c && k < first do body                     on the host
       if c then loop (c, x) while c do
         segmap grid (t < 1) { loop (c, x, k) while c && k < most do body }

How long such a loop takes is not known, and what runs on a device cannot be
interrupted. So it runs on the host for some times as long as a launch takes, which
bounds what is lost where it ends then; after that in a thread, in pieces of bounded
length, between which the host can be interrupted, and reads whether it goes on.
"""

from __future__ import annotations

from minifut.ir.builder import i64
from minifut.ir.core import Atom, Body, If, Loop, Param, SizeExp, Stm, WhileLoop
from minifut.ir.node import replace
from minifut.ir.search import contains
from minifut.ir.sizes import ONE
from minifut.ir.traverse import atom_size
from minifut.ir.types import BOOL, I64
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.judgement import leave
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.version_names import weight

FIRST_WORK = 1 << 13
"""statements that the host executes before it launches a kernel: of these 20 take 1 us,
and a launch of unknown work 100 us, as threads wake for it"""
PIECE_WORK = 1 << 24
"""statements of a piece, which take a tenth of a second at most"""
FIRST_OF_LOOPS = 16
"""iterations on the host where they are loops themselves"""


def emit_in_pieces(
    statement: Stm, pattern: tuple[Param, ...], nest: Nest, context: NestContext
) -> None:
    """Emit the `while` loop; its results are bound to the pattern."""
    loop = statement.exp
    assert isinstance(loop, Loop) and isinstance(loop.form, WhileLoop)
    build, size = context.build, weight(statement)
    has_loops = contains(loop.body, Loop)
    first = FIRST_OF_LOOPS if has_loops else max(1, FIRST_WORK // size)
    started = build.let_many(_at_most(loop, first, loop.initial, context))
    own = build.parameters(p.type for p in loop.parameters)
    names = tuple(p.name for p in own)
    rest = context.inner()
    piece = rest.inner()
    bounded = _at_most(loop, max(1, PIECE_WORK // size), names, piece)
    types = (*(p.type for p in loop.parameters), I64, BOOL)
    results = build.parameters(types)
    inside = Stm(results, bounded, (), statement.location)
    leave(Judgement(nest, inside, results), piece)
    count = len(own)
    body = piece.build.finish(*(p.name for p in results[:count]))
    place = _place_of_condition(loop)
    pieces = Loop(own, started[:count], WhileLoop(names[place]), body)
    left = rest.build.let_many(pieces)
    done = Body((), started[:count])
    context.emit(pattern, If(started[place], rest.build.finish(*left), done))


def _place_of_condition(loop: Loop) -> int:
    assert isinstance(loop.form, WhileLoop)
    return [p.name for p in loop.parameters].index(loop.form.condition)


def _at_most(
    loop: Loop, most: int, initial: tuple[Atom, ...], context: NestContext
) -> Loop:
    """So many iterations of the loop, from other values: with its results, it gives how
    many were made, and whether there are more to make here."""
    place, build = _place_of_condition(loop), context.build
    loop = build.copy(loop)
    count, going = build.parameters((I64, BOOL))
    inner = context.inner().build
    inner.extend(loop.body.statements)
    after = inner.let(SizeExp(atom_size(count.name) + ONE))  # without wrapping
    is_left = inner.op("lt", after, i64(most))
    goes_on = inner.op("and", is_left, loop.body.result[place])
    body: Body = inner.finish(*loop.body.result, after, goes_on)
    return replace(
        loop,
        parameters=(*loop.parameters, count, going),
        initial=(*initial, i64(0), initial[place]),
        form=WhileLoop(going.name),
        body=body,
    )
