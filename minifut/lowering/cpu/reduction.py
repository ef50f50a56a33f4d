"""What reductions and scans of the CPU schedule share.

A `Reduction` is the operation with the facts that select its schedule; `visit` runs its
body at a point. Where the checks of a range can be tested before any of its work, the
operation is the one without them, and `in_phases` tests them. Lanes are accumulators in
private arrays, `acc[0:64]`, one for each of the elements (or segments) that are reduced
at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from minifut.analysis.operators import component_operators
from minifut.ir.core import Apply, Atom, DimSlice, Exp, Index, Param, ScalarOp, Stm
from minifut.ir.kernels import Returns, SegBinOp, SegRed, SegScan
from minifut.ir.node import divided, immutable, mutable
from minifut.ir.search import contains
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import free_names, walk
from minifut.ir.types import Type, element_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes import check_ranges, context, editor
from minifut.kernel_passes.vectorise.calls import gains_in_vectors
from minifut.lowering.cpu.partition import GROUPS_PER_CORE, SMALLEST_CHUNK
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.host.slices import destination
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import (
    Accumulators,
    commutes,
    is_cheap,
    is_cheap_operator,
    returned,
    value_types,
    works_on_scalars,
)
from minifut.lowering.segmap.chunk_checks import ChunkChecks, test_chunks_first
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue, NotInKernel

ReducedPoint: TypeAlias = tuple[Sequence[kc.Expression], kc.Expression]
"""the indices of a segment, and the index along it"""

EXPENSIVE = "the body or the operator has loops, checks or arrays"


@mutable
class Reduction:
    """What is reduced: operators and body, with the facts that select the schedule."""

    operation: SegRed | SegScan
    operators: tuple[SegBinOp, ...]
    types: list[Type]
    is_cheap: bool
    """scalar code without checks"""
    outs: list[Array]
    """arrays of the mapped results; none: they are not written"""
    checks: ChunkChecks[SegRed | SegScan] | None = None
    """those that `operation` lacks, as they are tested before a range"""

    @staticmethod
    def of(host: HostBuilder, operation: SegRed | SegScan) -> Reduction:
        """The facts about an operation."""
        if any(not isinstance(r, Returns) for r in operation.body.result):
            raise NotInKernel("a reduction that writes")
        operators = operation.operators
        cheap = all(map(is_cheap_operator, operators))
        types = value_types(operators)
        if cheap:
            checks = test_chunks_first(operation, host)
            if isinstance(checks, ChunkChecks) and is_cheap(checks.unchecked.body):
                unchecked = checks.unchecked
                return Reduction(unchecked, operators, types, True, [], checks=checks)
        cheap = cheap and is_cheap(operation.body)
        return Reduction(operation, operators, types, cheap, [])

    @property
    def checked(self) -> Reduction:
        """The same with its checks at each point."""
        if self.checks is None:
            return self
        return replace(self, operation=self.checks.checked, is_cheap=False, checks=None)

    @property
    def smallest(self) -> Size:
        """The fewest elements of a chunk."""
        cheap = self.on_scalars and is_cheap(self.operation.body)
        return Size.constant(SMALLEST_CHUNK) if cheap else ONE

    @property
    def on_scalars(self) -> bool:
        """Whether all running values are scalars."""
        return all(map(works_on_scalars, self.operators))

    @property
    def groups_per_core(self) -> int:
        """Operators on arrays are expensive, and one thread combines the chunks."""
        return GROUPS_PER_CORE if self.on_scalars else 2

    @property
    def is_fresh(self) -> bool:
        """Whether what a kernel writes is new memory, other than its operands: results
        and partial results are, but mapped ones may be parts of one array."""
        calls = contains(self.operation, Apply)
        return not (self.on_scalars or self.outs or calls)

    @property
    def commutes(self) -> bool:
        """Whether elements may be combined in any order."""
        return all(map(commutes, self.operators))

    @property
    def is_simple(self) -> bool:
        """Whether the operators are scalar operators on each component, and the body
        calls no functions: such loops the device's compiler vectorises well itself."""
        return not gains_in_vectors(self.operation.body) and all(
            component_operators(o.operator) for o in self.operators
        )

    def visit(
        self, k: KernelBuilder, segment: Sequence[kc.Expression], index: kc.Expression
    ) -> list[LoweredValue]:
        """Run the body at a point: writes mapped results, gives the operands."""
        operation = self.operation
        names = operation.space.indices
        k.bind_all(names[:-1], segment)
        index = k.bind_index(names[-1], index)
        position = (*segment, index)
        count = len(self.types)
        atoms = [r.value for r in operation.body.result if isinstance(r, Returns)]
        k.pass_destinations(operation.body, self._targets(k, atoms[count:], position))
        k.statements_of(operation.body.statements)
        values = returned(k, operation.body)
        for out, value in zip(self.outs, values[count:], strict=False):
            k.write(out, position, value)
        return values[:count]

    def in_phases(
        self,
        k: KernelBuilder,
        points: AbstractContextManager[ReducedPoint],
        work: Callable[[Reduction], None],
        otherwise: Callable[[Reduction], None],
    ) -> None:
        """`work` on a range without the checks, all of which hold at its `points`;
        `otherwise` what finds the point of which one fails."""
        if self.checks is None:
            work(self)
            return
        fine = k.declare("fine", kc.Literal(1, kc.INT))
        with k.nested() as tests, points as (segment, index):
            names = self.operation.space.indices
            k.bind_all(names[:-1], segment)
            k.bind_index(names[-1], index)
            k.statements_of(self.checks.statements)
            holds = kc.Cast(k.scalar(self.checks.condition), kc.INT)
            k.assign(fine, kc.Binary("&", fine, holds, kc.INT))
        at_once = partial(check_ranges.test_range, context=context.CodeContext(k))
        with k.unless([k.scalar(atom) for atom in self.checks.sufficient]):
            k.statements.extend(editor.change_loops(tuple(tests), at_once))
        with k.branch(fine.differs(0)):
            work(replace(self, checks=None))
        with k.otherwise():
            otherwise(self.checked)

    def _targets(
        self, k: KernelBuilder, atoms: list[Atom], position: tuple[kc.Expression, ...]
    ) -> tuple[tuple[Atom, Array], ...]:
        targets = []
        for atom, out in zip(atoms, self.outs, strict=False):
            if out.rank > len(position):
                at = tuple(k.as_size(i, "at") for i in position)
                targets.append((atom, out.row(at)))
        return tuple(targets)


@contextmanager
def points_of_range(
    k: KernelBuilder,
    segment: Sequence[kc.Expression],
    ends: tuple[kc.Expression, kc.Expression],
) -> Iterator[ReducedPoint]:
    """The points of a segment from the first to before the last, in any order."""
    first, last = ends
    with k.loop("i", last, first, parallel=True) as index:
        yield segment, index


@immutable
class ReductionChunk:
    """Points of a segment, from the first of `ends` to before the last, that are
    reduced into accumulators; the remainder loop begins at `start`. `long`: one of
    several chunks of its segment."""

    reduction: Reduction
    accumulators: Accumulators
    segment: list[kc.Variable]
    ends: tuple[kc.Expression, kc.Expression]
    start: kc.Variable
    long: bool = False


# --- contiguous reads -----------------------------------------------------------------


@mutable
class Reads:
    """How many reads have unit stride along a segment only, across segments only, and
    both ways."""

    along: int = 0
    across: int = 0
    both: int = 0


def contiguous_reads(host: HostBuilder, operation: SegRed | SegScan) -> Reads:
    """The reads of the body with unit stride.

    A read that does not depend on the innermost segment index does not count: across
    segments it is one scalar for the whole block (`a` in a matrix product).
    """
    segment, inner = operation.space.indices[-2:]
    reads = Reads()
    moves: dict[Atom, Moves] = {segment: (1, 0), inner: (0, 1)}
    for statement in walk(operation.body):
        if not isinstance(statement, Stm):
            continue
        exp = statement.exp
        found = _moves(exp, moves)
        moves.update((bound.name, found) for bound in statement.pattern)
        if not isinstance(exp, Index):
            continue
        array = host.values.get(exp.array)
        if not isinstance(array, Array):
            continue
        place = [
            (stride, moves.get(entry, STAYS))
            for entry, stride in zip(exp.slice, array.strides, strict=False)
            if not isinstance(entry, DimSlice)
        ]
        if all(move == 0 for _, (move, _) in place):
            continue
        if _is_unit([(stride, move) for stride, (_, move) in place]):
            windows = _is_unit([(stride, move) for stride, (move, _) in place])
            reads.both += windows
            reads.along += not windows
        elif _is_unit([(stride, move) for stride, (move, _) in place]):
            reads.across += any(move != 0 for _, (_, move) in place)
    return reads


Moves: TypeAlias = tuple[int | None, int | None]
"""by how much a value grows from one segment to the next, and from one element of a
segment to the next, if that is 0 or 1 everywhere"""
STAYS: Moves = (0, 0)


def _moves(exp: Exp, known: Mapping[Atom, Moves]) -> Moves:
    if isinstance(exp, ScalarOp) and exp.operator.name in ("add", "sub"):
        left, right = (known.get(atom, STAYS) for atom in exp.operands)
        if exp.operator.name == "add" or right == STAYS:
            return _sum(left[0], right[0]), _sum(left[1], right[1])
    operands = [known[name] for name in free_names(exp) if name in known]
    by_segment, by_element = ({move[at] for move in operands} for at in (0, 1))
    return 0 if by_segment <= {0} else None, 0 if by_element <= {0} else None


def _sum(left: int | None, right: int | None) -> int | None:
    found = None if left is None or right is None else left + right
    return found if found in (0, 1) else None


def _is_unit(place: Sequence[tuple[Size, int | None]]) -> bool:
    """Whether an address grows by one element."""
    moving = [(stride, move) for stride, move in place if move != 0]
    return moving == [(ONE, 1)]


def mapped_array(
    host: HostBuilder,
    sizes: tuple[Size, ...],
    type_: Type,
    bound: Param,
    transposed: bool,
) -> Array:
    """Memory for a result over the whole space: the slice that it is to become, if it
    is not `transposed`; then its last two dimensions are exchanged in memory."""
    row = host.shape(type_)
    if not transposed and (made_there := destination(host, bound)) is not None:
        return made_there
    if not transposed or bound.name in host.facts.layouts.made:
        return host.allocate_result(bound, element_of(type_), (*sizes, *row))
    last = len(sizes) - 1
    shape = (*sizes[: last - 1], sizes[last], sizes[last - 1], *row)
    order = [*range(last - 1), last, last - 1, *range(last + 1, last + 1 + len(row))]
    made = host.allocate(element_of(type_), shape, bound.name.base)
    return made.rearrange(tuple(order))


def element_or_row(
    k: KernelBuilder, view: Array, base: str = "value"
) -> kc.Variable | Array:
    """The element of an array of rank 0, in a variable; else the array."""
    return view if view.rank else k.declare(base, k.read(view, ()))


# --- lanes ----------------------------------------------------------------------------


def lane_accumulators(
    k: KernelBuilder, types: list[Type], lanes: int
) -> list[kc.Memory]:
    """A private array with an accumulator per lane, for each operand."""
    return [k.private_memory(element_of(t), lanes, "lane") for t in types]


def store_neutral(
    k: KernelBuilder,
    operators: tuple[SegBinOp, ...],
    memories: list[kc.Memory],
    lane: kc.Expression,
) -> None:
    """Reset a lane to the neutral element."""
    atoms = [atom for operator in operators for atom in operator.neutral]
    for memory, atom in zip(memories, atoms, strict=True):
        k.store(memory, lane, k.scalar(atom))


def combine_lane(
    k: KernelBuilder,
    operators: tuple[SegBinOp, ...],
    memories: list[kc.Memory],
    lane: kc.Expression,
    values: Sequence[LoweredValue],
) -> list[kc.Expression]:
    """`lane = lane op value`; gives the new values."""
    left = [k.declare("left", k.load(memory, lane)) for memory in memories]
    results: list[kc.Expression] = []
    counts = [len(operator.neutral) for operator in operators]
    pairs = zip(divided(left, counts), divided(values, counts), strict=True)
    for operator, (own, others) in zip(operators, pairs, strict=True):
        results += k.apply(operator.operator, own + others)
    for memory, result in zip(memories, results, strict=True):
        k.store(memory, lane, result)
    return results
