"""What the lanes of a piece do together: trees, prefixes, tiles read side by side.

    tree        lane i holds x_i   ->  lane 0 holds x_0 op x_1 op ... (in this order)
    prefixes    lane i holds x_i   ->  lane i holds x_0 op ... op x_i
    tiles       a piece, `per` elements for each lane at a time: neighbouring lanes
                compute neighbouring elements and leave them in local memory, where
                every lane then finds `per` consecutive ones

Any associative operator will do. The lanes are a power of two, each piece has its own,
all pieces of a group walk in step. An element that is not there counts as neutral.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from minifut.ir.kernels import SegBinOp
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType
from minifut.kernel_code.gpu.spread import (
    Piece,
    Shared,
    Values,
    assign_all,
    combine,
    meeting,
    neutral_values,
    staged_elements,
)
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc

Element = Callable[[kc.Expression], Values]
"""Emits code for the operands at an index of the innermost dimension"""


@dataclass(frozen=True, slots=True)
class Team:
    """The lanes of a piece with what they combine, and the local memory for that: a
    place for each work-item of the group."""

    k: KernelBuilder
    operators: tuple[SegBinOp, ...]
    types: Sequence[ScalarType]
    piece: Piece
    shared: Shared
    group: Size

    def neutral(self, base: str) -> list[kc.Variable]:
        """New variables with the neutral elements."""
        values = neutral_values(self.k, self.operators)
        return [self.k.declare(base, value) for value in values]

    def absorb(
        self, targets: Sequence[kc.Variable], right: Sequence[kc.Expression]
    ) -> None:
        """`targets = targets op right`."""
        assign_all(self.k, targets, combine(self.k, self.operators, targets, right))

    def precede(
        self, left: Sequence[kc.Expression], targets: Sequence[kc.Variable]
    ) -> None:
        """`targets = left op targets`."""
        assign_all(self.k, targets, combine(self.k, self.operators, left, targets))

    def tree(self, own: Sequence[kc.Variable]) -> None:
        """See the module; `shared` then holds lane 0's values at its place."""
        k, piece = self.k, self.piece
        self.shared.put(piece.local, own)
        k.barrier()
        with self.doubling() as offset:
            takes = (piece.lane & (offset * 2 - 1)).equals(0)
            with meeting(k), k.branch(takes):
                self.absorb(own, self.shared.get(piece.local + offset))
                self.shared.put(piece.local, own)

    def prefixes(self, own: Sequence[kc.Variable]) -> None:
        """See the module; `shared` then holds them too."""
        k, piece = self.k, self.piece
        self.shared.put(piece.local, own)
        k.barrier()
        with self.doubling() as offset:
            with meeting(k), k.branch(piece.lane >= offset):
                self.precede(self.shared.get(piece.local - offset), own)
            self.shared.put(piece.local, own)
            k.barrier()

    @contextmanager
    def doubling(self) -> Iterator[kc.Variable]:
        """Offsets 1, 2, 4, ... below the number of lanes."""
        offset = self.k.declare("offset", kc.Literal(1, kc.LONG))
        with self.k.while_loop(offset < self.piece.lanes):
            yield offset
            self.k.assign(offset, offset * 2)


def team(
    k: KernelBuilder,
    operators: tuple[SegBinOp, ...],
    types: Sequence[ScalarType],
    piece: Piece,
    group: Size,
) -> Team:
    """The lanes of a piece, with local memory of their own."""
    return Team(k, operators, types, piece, Shared(k, types, group, "lanes"), group)


@dataclass(frozen=True, slots=True)
class Tile:
    """Consecutive elements of a piece in local memory, `per` for each lane."""

    team: Team
    staged: Shared
    first: kc.Expression
    place: kc.Expression
    per: kc.Expression

    def fill(self, point: Element) -> None:
        """Compute the elements, neighbouring lanes neighbours; then a barrier."""
        with (
            meeting(self.team.k, repair=self.clear),
            self.side_by_side() as (at, place),
        ):
            self.staged.put(place, point(at))

    def clear(self) -> None:
        """Neutral elements at the places that `fill` writes."""
        neutral = self.team.neutral("neutral")
        with self.side_by_side() as (_, place):
            self.staged.put(place, neutral)

    @contextmanager
    def side_by_side(self) -> Iterator[tuple[kc.Expression, kc.Expression]]:
        """The elements as the lanes share them for global memory: index and place."""
        k, piece = self.team.k, self.team.piece
        with k.loop("r", self.per) as round_:
            step = k.declare("step", round_ * piece.lanes + piece.lane)
            at = k.declare("at", self.first + step)
            with k.branch(at < piece.end):
                yield at, self.place + step

    @contextmanager
    def neighbours(self) -> Iterator[kc.Expression]:
        """The places of the consecutive elements of this lane."""
        k, piece = self.team.k, self.team.piece
        skipped = k.declare("skipped", piece.lane * self.per)
        left = k.declare("left", piece.end - self.first - skipped)
        least = kc.Call("min", (left, self.per), kc.LONG)
        with k.loop("r", k.declare("mine", least)) as round_:
            yield k.declare("place", self.place + skipped + round_)


@contextmanager
def tiles(team: Team) -> Iterator[Tile]:
    """Run over the tiles of the piece, in order."""
    k, piece = team.k, team.piece
    most = staged_elements(k.host, team.types, team.group)
    staged = Shared(k, team.types, team.group * most, "staged")
    long = piece.chunk > k.width
    one, several = kc.Literal(1, kc.LONG), k.size_value(most)
    per = k.declare("per", kc.Select(long, several, one, kc.LONG))
    place = k.declare("tile_place", (piece.local - piece.lane) * per)
    with k.loop("done", piece.chunk, 0, piece.lanes * per) as done:
        first = k.declare("first", piece.start + done)
        yield Tile(team, staged, first, place, per)
