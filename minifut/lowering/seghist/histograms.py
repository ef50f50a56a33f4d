"""What the lowerings of histograms for both targets share.

    seghist grid (i < n, j < m) {dest [n][k], op} { bin, value }
        dest[i, bin] = dest[i, bin] op value      if 0 <= bin < k

The body returns the bins of all operators, then their values. The result is in the
memory of the destination where that may be updated in place, else in a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir.core import Atom, Body, If, Lambda, Param, Stm
from minifut.ir.kernels import Returns, SegBinOp, SegHist, SegHistOp
from minifut.ir.node import immutable
from minifut.ir.sizes import Size, product
from minifut.ir.soacs import bins_and_values
from minifut.ir.traverse import free_names
from minifut.ir.types import U64, ScalarType, shape_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import combine_into, neutral_at
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue
from minifut.names import Name
from minifut.rewrite.rule import Declined, decision

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


@immutable
class Bins:
    """One operator of a histogram and its `arrays` in global memory: the outer
    dimensions number segments, `shape` (sizes of the host) the bins of each."""

    operator: SegHistOp
    arrays: tuple[Array, ...]
    shape: tuple[Size, ...]

    @property
    def is_scalar(self) -> bool:
        """Whether single scalars are combined, perhaps elementwise along `vector`."""
        return all(isinstance(t, ScalarType) for t in self.operator.operator.results)

    @property
    def cells(self) -> Size:
        """The number of scalars that each array has in a segment."""
        first = self.arrays[0]
        return product(first.shape[first.rank - len(self.row_shape) :])

    @property
    def bytes(self) -> Size:
        """The bytes of the cells of a segment in all arrays."""
        return self.cells * sum(a.memory.element.bytes for a in self.arrays)

    @property
    def row_shape(self) -> tuple[Size, ...]:
        """The dimensions of an array without those of the segments."""
        ranks = len(self.operator.shape) + len(self.operator.vector)
        if not self.is_scalar:
            ranks = self.arrays[0].rank - self.outer
        return self.arrays[0].shape[self.arrays[0].rank - ranks :]

    @property
    def outer(self) -> int:
        """How many dimensions number segments."""
        first = self.operator.operator.results[0]
        own = len(shape_of(first))
        inner = len(self.operator.shape) + len(self.operator.vector) + own
        return self.arrays[0].rank - inner

    def rows(self, at: tuple[Size, ...]) -> list[Array]:
        """The arrays of one segment."""
        return [array.row(at) for array in self.arrays]


@immutable
class Binning:
    """A histogram with the memory of its results, `bins`: `segments` of `length`
    elements, all bins of a segment have `cells`; sizes in host variables."""

    operation: SegHist
    bins: list[Bins]
    segments: Size
    length: Size
    cells: Size


def all_bins(
    host: HostBuilder, pattern: tuple[Param, ...], operation: SegHist
) -> list[Bins]:
    """The operators with the memory of their results, which are bound."""
    found, at = [], 0
    for operator in operation.operators:
        arrays = []
        for name in operator.destinations:
            bound, target = pattern[at], host.array(name)
            if bound.name not in host.facts.in_place.updates:
                target = host.copied(target)
            arrays.append(target)
            at += 1
        found.append(Bins(operator, tuple(arrays), host.sizes(operator.shape)))
    return found


def bind_all(
    host: HostBuilder, pattern: tuple[Param, ...], bins: Sequence[Bins]
) -> None:
    """Bind the results."""
    arrays = [array for each in bins for array in each.arrays]
    host.bind_all(pattern, arrays)


@immutable
class BinUpdate:
    """What the body returns for an operator at one point: the indices of the bin,
    whether they are in bounds, and the values."""

    bins: Bins
    at: tuple[kc.Expression, ...]
    inside: kc.Expression
    values: tuple[LoweredValue, ...]


UNSIGNED = kc.VectorType(U64)

BinRange: TypeAlias = tuple[kc.Expression, kc.Expression]
"""the first bin, in the outermost dimension, and the one after the last, not less"""


def bin_updates(
    k: KernelBuilder,
    operation: SegHist,
    bins: Sequence[Bins],
    ranges: Sequence[BinRange] | None = None,
) -> list[BinUpdate]:
    """Lower the body; what it returns, operator by operator. Bins outside of their
    `ranges` (by default all bins) count as out of bounds."""
    k.statements_of(operation.body.statements)
    returned = []
    for result in operation.body.result:
        assert isinstance(result, Returns)
        returned.append(k.atom(result.value))
    updates = bins_and_values(operation.operators, returned)
    return [
        bin_update(k, each, at, values, ranges[number] if ranges else None)
        for number, (each, (at, values)) in enumerate(zip(bins, updates, strict=True))
    ]


def bin_update(
    k: KernelBuilder,
    bins: Bins,
    indices: Sequence[LoweredValue],
    values: Sequence[LoweredValue],
    first: BinRange | None = None,
) -> BinUpdate:
    """One value for one bin, in bounds or not; `first` bounds the first index."""
    zero = kc.Literal(0, kc.LONG)
    limits: list[BinRange] = [(zero, k.size_value(size)) for size in bins.shape]
    if first is not None:
        limits[0] = first
    at: list[kc.Expression] = []
    tests: list[kc.Expression] = []
    for (low, high), index in zip(limits, indices, strict=True):
        assert isinstance(index, kc.Expression)
        place = k.named(kc.Cast(index, kc.LONG), "bin")
        at.append(place)
        # One comparison: unsigned, a negative difference is huge.
        above, size = (kc.Cast(e, UNSIGNED) for e in (place - low, high - low))
        tests.append(above < size)
    return BinUpdate(bins, tuple(at), kc.all_of(tests), tuple(values))


@contextmanager
def if_updated(
    k: KernelBuilder, bins: Bins, values: Sequence[LoweredValue]
) -> Iterator[None]:
    """Code for a copy of a bin whose values are no longer neutral: a bin without
    updates keeps its value even where the neutral element is not neutral, as at NaN."""
    changed = k.declare("changed", kc.Literal(0, kc.TRUTH))
    for value, atom in zip(values, bins.operator.neutral, strict=True):

        def visit(
            at: tuple[Size, ...], value: LoweredValue = value, atom: Atom = atom
        ) -> None:
            element = k.read(value, at) if isinstance(value, Array) else value
            neutral = neutral_at(k, atom, at)
            if isinstance(neutral, Array):
                neutral = k.read(neutral, ())
            assert isinstance(element, kc.Expression)
            differs = kc.Binary("!=", element, neutral, kc.TRUTH)
            k.assign(changed, kc.any_of((changed, differs)))

        k.each(value.shape if isinstance(value, Array) else (), visit)
    with k.branch(changed):
        yield


def update_bin(
    k: KernelBuilder,
    operator: SegHistOp,
    places: Sequence[Array],
    values: Sequence[LoweredValue],
) -> None:
    """`places = places op values`, not atomically: the places are the scalars or rows
    of one bin."""
    choice = store_if_chosen(operator, k)
    if isinstance(choice, RecordChoice):
        _replace_if_chosen(k, operator.operator, choice, places, values)
        return
    if all(isinstance(value, kc.Expression) for value in values):
        old = [k.declare("old", k.read(place, ())) for place in places]
        new = k.apply(operator.operator, (*old, *values))
        stored = [k.declare("new", value) for value in new]
        for place, value in zip(places, stored, strict=True):
            k.write(place, (), value)
        return
    combining = SegBinOp(operator.operator, operator.neutral, operator.vector)
    combine_into(k, combining, list(places), list(values))


@immutable
class RecordChoice:
    """An operator that keeps the first values where the condition is `kept`, and else
    gives those of `other`, such as the record with the least of a field."""

    statements: tuple[Stm, ...]
    condition: Atom
    kept: bool
    other: Body


@decision()
def store_if_chosen(operator: SegHistOp, k: KernelBuilder) -> RecordChoice | Declined:
    r"""Read of several values of a bin those that decide, and write all only where
    others are chosen: each is in a cache line of its own.

    before:
        given (n: i64, to: [5000]f32, at: [5000]i64, is: [n]i64, xs: [n]f32)
        let (best: [5000]f32, first: [5000]i64) = seghist grid (i < n)
            bins([5000], (to, at), (f32.inf, -1i64),
              \(x: f32, p: i64, y: f32, q: i64) -> (f32, i64) {
            let less: bool = lt_f32(y, x)
            let (z: f32, r: i64) = if less then {y, q} else {x, p}
            return z, r
          }, []) -> (i64, f32, i64) {
          let b: i64 = is[i]
          let v: f32 = xs[i]
          return returns b, returns v, returns i
        }
    after:
        float old = to[bin];
        bool less = v < old;
        if (less) {
            float new_1 = v;
            long new_2 = i;
            to[bin] = new_1;
            at[bin] = new_2;
        }
    declines: the operator changes the values that a bin has
        like before, with
        if less then {y, q} => if less then {y, p}
        else {x, p} => else {x, q}
    """
    function = operator.operator
    if operator.vector or len(function.results) < 2 or _has_arrays(function):
        return Declined("there is one value, or it is an array")
    own = tuple(p.name for p in function.parameters[: len(function.results)])
    *before, last = function.body.statements or (None,)
    if last is None or not isinstance(last.exp, If):
        return Declined("it ends in no choice")
    made = tuple(bound.name for bound in last.pattern)
    exp = last.exp
    for kept, same, other in (
        (True, exp.then, exp.otherwise),
        (False, exp.otherwise, exp.then),
    ):
        if (made, same.result) == (function.body.result, own) and not same.statements:
            return RecordChoice(tuple(before), exp.condition, kept, other)
    return Declined("the operator changes the values that a bin has")


def _has_arrays(function: Lambda) -> bool:
    return not all(isinstance(type_, ScalarType) for type_ in function.results)


def _replace_if_chosen(
    k: KernelBuilder,
    operator: Lambda,
    choice: RecordChoice,
    places: Sequence[Array],
    values: Sequence[LoweredValue],
) -> None:
    own, new = operator.parameters[: len(places)], operator.parameters[len(places) :]
    k.bind_all([p.name for p in new], values)
    unread = dict(zip([p.name for p in own], places, strict=True))

    def read(names: Iterable[Name]) -> None:
        for name in [name for name in unread if name in names]:
            k.bind(name, k.declare("old", k.read(unread.pop(name), ())))

    read(free_names(Body(choice.statements, (choice.condition,))))
    k.statements_of(choice.statements)
    condition = k.scalar(choice.condition)
    with k.unless([condition]) if choice.kept else k.branch(condition):
        read(free_names(choice.other))
        k.statements_of(choice.other.statements)
        chosen = choice.other.result
        stored = [k.declare("new", k.scalar(value)) for value in chosen]
        for place, value in zip(places, stored, strict=True):
            k.write(place, (), value)
