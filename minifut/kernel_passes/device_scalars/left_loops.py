"""Loops of which an iteration is launches alone, which may be left to the device.

    while c {
      launch step(x, y)
      launch check(y, flag)
      let d: bool = read flag[0]        nothing else is read: the host only asks
      move (x, c) = (y, d)              whether the loop goes on
      drop (y, flag)
    }

What an iteration launches depends on what it is passed, so that the device can do one
again where that is the same, and look at the flag itself (`runtime/iterations.py`).
"""

from __future__ import annotations

from collections.abc import Container

from minifut.ir.sizes import ZERO
from minifut.ir.traverse import walk
from minifut.ir.types import BOOL
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars.moves import last_move, names_in
from minifut.names import Name

OTHERS = (
    kc.HostAssert
    | kc.HostCall
    | kc.HostTrace
    | kc.CopyMemory
    | kc.WriteElement
    | kc.WriteConstants
)


def has_launches_alone(body: kc.HostBlock, left: Container[Name]) -> bool:
    """Whether an iteration launches kernels, and does nothing else that the device has
    to be done for; but for scalars that are `left` to be read elsewhere."""
    nodes = list(walk(body))
    return any(isinstance(node, kc.Launch) for node in nodes) and not any(
        isinstance(node, OTHERS)
        or (
            isinstance(node, kc.HostAssign)
            and isinstance(node.exp, kc.ReadElement)
            and node.name not in left
        )
        for node in nodes
    )


def flag_of(loop: kc.HostWhile) -> kc.HostAssign | None:
    """What reads whether a loop goes on, if it is the last that an iteration does, and
    all but launches."""
    move = last_move(loop.body)
    if move is None or loop.condition not in move.targets:
        return None
    source = move.sources[move.targets.index(loop.condition)]
    at = loop.body.statements.index(move)
    read = loop.body.statements[at - 1] if at else None
    match read:
        case kc.HostAssign(name, kc.ReadElement(_, index), type_) if (
            name == source and index == ZERO and type_ == BOOL
        ):
            rest = [s for s in loop.body.statements if s is not read and s is not move]
            is_last = name not in names_in(rest) and move.sources.count(name) == 1
            return read if is_last and has_launches_alone(loop.body, {name}) else None
    return None


def move_of(loop: kc.HostFor) -> kc.HostMove | None:
    """What an iteration passes on, if all that it does besides is to launch kernels,
    wherever in the loop it is."""
    nodes = list(walk(loop.body))
    launches = any(isinstance(node, kc.Launch) for node in nodes)
    if not launches or any(isinstance(n, kc.HostCall | kc.HostTrace) for n in nodes):
        return None
    return None if loop.index in names_in([loop.body]) else last_move(loop.body)
