"""Loaded indices of a map's points, clamped to their bounds and tested after the chunk.

    for all points i: if (!(0 <= k[i] < n)) fail; ys[i] = xs[k[i]]

    most = 0
    for (i in chunk) {                               vectors: nothing leaves the loop
        most = max(most, (u64) k[i])
        ys[i] = xs[min((u64) k[i], n - 1)]
    }
    if (!(n > 0 && most < n)) for (i in chunk) as above      finds the failing point

What points write is memory of their own that nothing reads before the failure is known,
so that wrong results do no harm; reads out of bounds would. All bounds of indices
`index + c` are bounds of `index`, one interval `low <= index < high`:

    index' = low + min((u64) (index - low), (u64) (high - low - 1))

Two operators for each index, where testing before the chunk (`chunk_checks`) computes
all indices once more, which takes less only where they are loaded and little else. With
`index'` for `index` all checks of the body hold, but not what was proved from the
definition of `index`: so each later read is proved to be within bounds anew.
"""

from __future__ import annotations

from dataclasses import field
from functools import reduce

from minifut.analysis.simple_points import is_simple
from minifut.immutables import fixed
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Assert, Atom, Constant, Exp, Index, ScalarOp, Stm
from minifut.ir.kernels import KernelBody, SegMap
from minifut.ir.node import mutable, replace
from minifut.ir.scalars import convert, operator
from minifut.ir.traverse import bound_names, free_names, substitute
from minifut.ir.types import BOOL, I64, U64
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.segmap.chunk_checks import has_checks, without_checks
from minifut.lowering.segmap.read_bounds import LONGEST, BoundsProver
from minifut.names import Name
from minifut.rewrite.rule import Declined, decision

FARTHEST = 1 << 31
"""constants that are added to an index are smaller"""


@fixed
class ClampedIndices:
    """`bounds` compute, for a chunk, whether all checks can hold, `possible`, and the
    limits; `body` clamps each index of which `distances` gives the distance from its
    lower bound and the limit that it must not exceed."""

    bounds: tuple[Stm, ...]
    possible: Atom
    body: KernelBody
    distances: tuple[tuple[Name, Name], ...]


@decision(paper="Warren, Hacker's Delight (2012), 4-1")
def clamp_indices(
    operation: SegMap, host: HostBuilder
) -> ClampedIndices | Declined | None:
    """Clamp the indices of all points of a chunk, and test their maxima after it.

    before:
        given (n: i64, ks: [n]i64, xs: [n]i64)
        let ys: [n]i64 = segmap grid (i < n) -> (i64) {
          let k: i64 = ks[i]
          let third: i64 = quot_i64(k, 3i64)
          let zero: i64 = and_i64(third, 0i64)
          let one: u64 = convert_i64_u64(zero)
          let other: u64 = convert_i64_u64(n)
          let below: bool = lt_u64(one, other)
          let () = assert(below, ["outside"], [])
          let x: i64 = xs[zero]
          return returns x
        }
    after:
            ulong most = 0UL;
            PARALLEL
        ..
                ulong clamped = limit < distance_1 ? limit : distance_1;
        ..
                most = max(most, distance_1);
            }
            if ((!(and && (most <= limit)))) {
        ..
                    if (RARELY((!below_1))) {
    declines: a check is no bound of a loaded index
        like before, with
        lt_u64 => ne_u64
    declines: a read is not known to stay within bounds
        like before, with
        let x: i64 = xs[zero]
        => let twice: i64 = add_i64(zero, zero)
        => let x: i64 = xs[twice]
    """
    body = operation.body
    asserts = [s.exp for s in body.statements if isinstance(s.exp, Assert)]
    if not asserts:
        return None
    unchecked = replace(operation, body=without_checks(body))
    if not is_simple(unchecked):
        return Declined("points are not independent scalar code without their checks")
    nested = any(has_checks(s.exp) for s in unchecked.body.statements)
    ranges = _Ranges(operation)
    if nested or not all(map(ranges.take_all, [a.condition for a in asserts])):
        return Declined("a check is no bound of a loaded index")
    if not all(r.lows and r.highs for r in ranges.of.values()):
        return Declined("an index has one bound only")
    reads = BoundsProver(operation, host)
    for root, found in ranges.of.items():
        reads.within(root, found.low, found.highs.items())
    if not reads.all_inside():
        return Declined("a read is not known to stay within bounds")
    return ranges.clamped(Builder(host.names, {}), unchecked.body)


@mutable
class _Range:
    """Bounds of an index: not below `lows`, and below each size of `highs` with the
    number added."""

    lows: list[int] = field(default_factory=list)
    highs: dict[Atom, int] = field(default_factory=dict)

    @property
    def low(self) -> int:
        return max(self.lows)


class _Ranges:
    """The ranges in which the checks of a body require loaded indices."""

    def __init__(self, operation: SegMap) -> None:
        self.body, self.space = operation.body, operation.space
        self.bound = set(bound_names(self.body)) | set(self.space.indices)
        self.definitions: dict[Atom, Exp] = {
            s.pattern[0].name: s.exp
            for s in self.body.statements
            if len(s.pattern) == 1
        }
        self.scattered = _scattered(operation)
        self.of: dict[Name, _Range] = {}

    # --- bounds -----------------------------------------------------------------------

    def take_all(self, condition: Atom) -> bool:
        """Whether the condition is understood as bounds, which are noted."""
        exp = self.definitions.get(condition)
        if not isinstance(exp, ScalarOp):
            return False
        match str(exp.operator):
            case "and_bool":
                return all(map(self.take_all, exp.operands))
            case "lt_u64":
                index, size = map(self.signed, exp.operands)
                return size is not None and self.take(index, size)
            case "lt_i64":
                index, size = exp.operands
                return self.take(index, size, natural=False)
            case "le_i64" if isinstance(exp.operands[0], Constant):
                least = int(exp.operands[0].value)
                return self.take(exp.operands[1], None, least)
        return False

    def signed(self, atom: Atom) -> Atom | None:
        """What is converted from i64."""
        exp = self.definitions.get(atom)
        is_conversion = (
            isinstance(exp, ScalarOp) and str(exp.operator) == "convert_i64_u64"
        )
        return exp.operands[0] if is_conversion else None  # type: ignore[union-attr]

    def take(
        self, index: Atom | None, size: Atom | None, low: int = 0, natural: bool = True
    ) -> bool:
        """Note that an index is below the size, if any, and if it is to be `natural`,
        not below `low`: as bounds of what it is the sum of, with a constant."""
        if index is None or size in self.bound:
            return False
        root, added = self.root(index)
        if root not in self.scattered or abs(added) + abs(low) >= FARTHEST:
            return False
        assert isinstance(root, Name)
        found = self.of.setdefault(root, _Range())
        if natural:
            found.lows.append(low - added)
        if size is not None:
            found.highs[size] = max(added, found.highs.get(size, added))
        return True

    def root(self, index: Atom) -> tuple[Atom, int]:
        """The index as a sum of another and a constant."""
        exp = self.definitions.get(index)
        if isinstance(exp, ScalarOp) and str(exp.operator) in ("add_i64", "sub_i64"):
            one, other = exp.operands
            if isinstance(one, Constant) and exp.operator.name == "add":
                one, other = other, one
            if isinstance(other, Constant):
                root, added = self.root(one)
                sign = 1 if exp.operator.name == "add" else -1
                return root, added + sign * int(other.value)
        return index, 0

    # --- the body ---------------------------------------------------------------------

    def clamped(self, build: Builder, body: KernelBody) -> ClampedIndices:
        """The bounds, and the body with its indices clamped."""
        possible = []
        limits: dict[Name, Name] = {}
        for root, range_ in self.of.items():
            distances = []
            for size, added in range_.highs.items():
                least = range_.low + added
                for pair in ((i64(max(least, 0)), size), (size, i64(LONGEST))):
                    possible.append(_op(build, "lt", *pair))
                distances.append(_op(build, "sub", size, i64(least + 1)))
            least_distance = reduce(lambda a, b: _op(build, "min", a, b), distances)
            limits[root] = _convert(build, least_distance, "limit")
        condition = reduce(lambda a, b: _op(build, "and", a, b), possible)
        bounds = tuple(build.statements)
        build.statements.clear()
        renamed: dict[Name, Atom] = {}
        found = []
        for statement in body.statements:
            build.append(substitute(statement, renamed))
            for root in {p.name for p in statement.pattern} & set(limits):
                distance, renamed[root] = self.clamp(build, root, limits[root])
                found.append((distance, limits[root]))
        made = replace(
            body,
            statements=tuple(build.statements),
            result=substitute(body.result, renamed),
        )
        return ClampedIndices(bounds, condition, made, tuple(found))

    def clamp(self, build: Builder, root: Name, limit: Name) -> tuple[Name, Name]:
        """The distance of an index from its lower bound, and the index clamped."""
        low = self.of[root].low
        moved = _op(build, "sub", root, i64(low)) if low else root
        distance = _convert(build, moved, "distance")
        least = ScalarOp(operator("min", U64), (distance, limit))
        clamped = build.let(least, "clamped", U64)
        signed = build.let(ScalarOp(convert(U64, I64), (clamped,)), root.base, I64)
        return distance, _op(build, "add", signed, i64(low)) if low else signed


def _scattered(operation: SegMap) -> set[Atom]:
    """What depends on loads at indices that change from each point to the next."""
    varying: set[Name] = {operation.space.indices[-1]}
    scattered: set[Atom] = set()
    for statement in operation.body.statements:
        names = free_names(statement.exp)
        made = {p.name for p in statement.pattern}
        if names & varying:
            varying |= made
            if isinstance(statement.exp, Index) or names & scattered:
                scattered |= made
    return scattered


def _op(build: Builder, name: str, *operands: Atom) -> Name:
    made = operator(name, BOOL if name == "and" else I64)
    return build.let(ScalarOp(made, operands), name, made.result)


def _convert(build: Builder, atom: Atom, base: str) -> Name:
    return build.let(ScalarOp(convert(I64, U64), (atom,)), base, U64)
