"""Rematerialisation: arrays that cost less to compute than to keep are computed again
in each phase that needs them, so that no worker holds them, or writes them to disk.

    phase 0 on chunks:  let is = iota(n)      -->   let is = iota(n)
    phase 1 on chunks:  map(n, (is, ys), f)         let is = iota(n)
                                                    map(n, (is, ys), f)

These are `iota` and `replicate`, which read no array that has the size. Those that run
once are computed in functions on chunks, too: what is made there of arrays that are
given cannot be fused with them, nor with what selects by their elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minifut.distributed.phases import Phase
from minifut.ir.core import Body, Iota, Replicate, Stm
from minifut.ir.traverse import free_names
from minifut.names import Name


def rematerialised(phases: Sequence[Phase], known: dict[Name, Stm]) -> list[Phase]:
    """The phases with such statements of earlier ones, `known` by what they bind,
    wherever they are used."""
    made = []
    for phase in phases:
        known |= _cheap(phase.once)
        used = free_names(Body(tuple(phase.chunks), ()))
        again = [statement for name, statement in known.items() if name in used]
        known |= _cheap(phase.chunks)
        loops = [
            replace(loop, body=tuple(rematerialised(loop.body, known)))
            for loop in phase.loops
        ]
        made.append(replace(phase, chunks=[*again, *phase.chunks], loops=loops))
    return made


def _cheap(statements: Sequence[Stm]) -> dict[Name, Stm]:
    """Those that cost less to compute again, by what they bind."""
    return {
        statement.pattern[0].name: statement
        for statement in statements
        if isinstance(statement.exp, Iota | Replicate)
    }
