"""Reductions whose bodies have loops: a running value in each lane.

    for t < part:  lane[l] = lane[l] op body(first + l * part + t)     for all l
    running = running op lane[0] op lane[1] ..

Each lane has a stretch of its own, and lanes are combined in order, so any associative
operator will do; one that commutes lets neighbouring elements go to neighbouring lanes,
which reads memory in whole vectors. See `kernel_code.lanes`.
"""

from __future__ import annotations

from minifut.ir.types import BOOL
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lanes import NotLifted, lift
from minifut.kernel_code.lower_kernel import KernelBuilder
from minifut.kernel_code.operators import State, commutes, replace_all
from minifut.kernel_code.reduction_cpu import Reduction
from minifut.kernel_code.widths_cpu import by_width


def reduce_heavy(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
) -> kc.Expression:
    """Reduce as many elements as fill all lanes into the state; the first left over."""
    first, last = ends
    index, start = k.variable("i", kc.LONG), k.variable("start", kc.LONG)
    interleaved = all(map(commutes, reduction.operators))
    try:
        with k.nested() as body:
            places = _step(k, reduction, segment, index)
        neutral = [a for operator in reduction.operators for a in operator.neutral]

        def lanes(width: int) -> None:
            part = k.declare("part", (last - first) // width)
            wide = [
                kc.Variable(p.name, kc.VectorType(p.type.scalar, width)) for p in places
            ]
            for place, atom in zip(wide, neutral, strict=True):
                k.emit(kc.Declare(place, kc.Vector((k.scalar(atom),), place.type)))
            with k.loop("t", part) as t:
                step: kc.Operand = 1 if interleaved else part
                begin = first + (t * width if interleaved else t)
                lifted = lift(
                    k, body, index, (k.named(begin, "at"), step), width, places
                )
                k.statements.extend(lifted)
            held = [k.private_memory(p.type.scalar, width, "lane") for p in places]
            for memory, place in zip(held, wide, strict=True):
                k.store(memory, 0, place)
            with k.loop("l", width) as lane:
                values = [k.declare("right", k.load(memory, lane)) for memory in held]
                state.combine(list(values))
            k.assign(start, first + part * width)

        chosen = by_width(k, body, lanes)
    except NotLifted as reason:
        k.emit(kc.Comment(f"element by element: {reason}"))
        return first
    k.emit(kc.Declare(start, first))
    k.statements.extend(chosen)
    return start


def _step(
    k: KernelBuilder,
    reduction: Reduction,
    segment: list[kc.Variable],
    index: kc.Variable,
) -> list[kc.Variable]:
    """Emit the body and the operators on running values; gives their variables."""
    with k.nested():
        running = State(k, reduction.operators)
    values = reduction.visit(k, segment, index)
    at = 0
    for operator, mine in zip(reduction.operators, running.places, strict=True):
        theirs = values[at : at + len(mine)]
        at += len(mine)
        if operator.shape:
            raise NotLifted("the operator combines arrays")
        replace_all(k, mine, list(k.apply(operator.operator, (*mine, *theirs))))
    variables = [p for p in running.all_places if isinstance(p, kc.Variable)]
    if len(variables) < len(running.all_places):
        raise NotLifted("the operator combines arrays")
    if any(v.type.scalar == BOOL for v in variables):
        raise NotLifted("the running values are truth values")
    return variables
