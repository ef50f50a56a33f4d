"""Loops in a thread that make a carried array anew take turns between buffers.

    for i < n by 2 {                          xs is in a at first, and in b after one
      b = f(a)                                round: two rounds written out end where
      if i + 1 < n { a = f(b) }               they began, and nothing is copied but
      else { copy b to a }                    after an odd number
    }

So do several arrays that are passed on, as `(old, new) = (new, made)`, which three
rounds bring back to where they were. Without it, what a round makes is copied to the
parameter's memory at its end.

Conditions: each array is another parameter's, or made in the body; few rounds bring
them all back; the body is short enough to be written out as often. Arrays in private
memory are copied, since they may be in registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from minifut.ir import core, search, sizes, types
from minifut.ir.node import immutable
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.destinations import makes_array
from minifut.names import Name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minifut.lowering.threads.builder import KernelBuilder

Buffer: TypeAlias = int | Name
"""of a parameter at first, by its position; or of what is made, by its name"""

MOST_ROUNDS = 3
LARGEST = 240
"""statements of all rounds"""


@immutable
class Round:
    """Where parameters are before a round, by position, and what it makes, by name."""

    places: Mapping[int, Array]
    made: Mapping[Name, Array]


def find_rounds(
    k: KernelBuilder, loop: core.Loop, places: Sequence[object]
) -> list[Round]:
    """The rounds after which all arrays are where they were before the first; none if
    the arrays do not take turns."""
    reuse, statements = k.host.facts.buffer_reuse, loop.body.statements
    carried = {
        position: place
        for position, place in enumerate(places)
        if isinstance(place, Array) and not reuse.stays(loop, position)
    }
    if not carried or not _is_rotated(k, loop, carried):
        return []
    parameters = {p.name: at for at, p in enumerate(loop.parameters)}
    makers = {p.name for s in statements if makes_array(s) for p in s.pattern}
    sources: dict[int, Name] = {}
    for at in carried:
        name = reuse.of(statements, loop.body.result[at])
        if name is None or name in sources.values():
            return []
        if name not in makers and parameters.get(name, -1) not in carried:
            return []
        sources[at] = name
    made = {name: at for at, name in sources.items() if name in makers}
    like: dict[Buffer, Array] = {name: carried[at] for name, at in made.items()}
    like.update(carried.items())
    taken: dict[int, Buffer] = {
        at: name if name in made else parameters[name] for at, name in sources.items()
    }
    cycle = _cycle(taken, lambda one, other: _are_alike(like[one], like[other]))
    count = search.count_of(core.Stm, loop.body)
    if not cycle or count * len(cycle) > LARGEST:
        return []
    arrays = dict(like)
    for name, at in made.items():
        own, base = carried[at], loop.parameters[at].name.base
        arrays[name] = k.new_array(own.memory.element, own.shape, base)
    return [
        Round(
            {at: arrays[buffer] for at, buffer in state.items()},
            {name: arrays[buffer] for name, buffer in makes.items()},
        )
        for state, makes in cycle
    ]


def _cycle(
    sources: Mapping[int, Buffer], fits: Callable[[Buffer, Buffer], bool]
) -> list[tuple[dict[int, Buffer], dict[Name, Buffer]]]:
    """The buffers of parameters before each round, and of what it makes; none if it
    takes more rounds. What is made has a buffer that no parameter is in."""
    made = [source for source in sources.values() if isinstance(source, Name)]
    state: dict[int, Buffer] = {at: at for at in sources}
    first, free = state, list[Buffer](made)
    rounds: list[tuple[dict[int, Buffer], dict[Name, Buffer]]] = []
    while len(rounds) < MOST_ROUNDS:
        makes: dict[Name, Buffer] = {}
        for name in made:
            makes[name] = next(buffer for buffer in free if fits(buffer, name))
            free.remove(makes[name])
        rounds.append((state, makes))
        following = {
            at: makes[source] if isinstance(source, Name) else state[source]
            for at, source in sources.items()
        }
        free += [b for b in state.values() if b not in following.values()]
        state = following
        if state == first:
            return rounds
    return []


def _is_rotated(
    k: KernelBuilder, loop: core.Loop, carried: Mapping[int, Array]
) -> bool:
    form = loop.form
    counts = not isinstance(form, core.ForLoop) or form.type != types.U64
    small = any(
        k.is_small(place.memory.element, sizes.product(place.shape))
        for place in carried.values()
    )
    return counts and not small and k.host.schedule == "cpu"


def _are_alike(one: Array, other: Array) -> bool:
    return one.memory.element == other.memory.element and one.shape == other.shape
