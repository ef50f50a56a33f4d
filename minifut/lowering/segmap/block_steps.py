"""Several steps of a map within aligned blocks under the CPU schedule.

    for each block                                of a worker, one after the other
        half 0 of the tile                        from the arrays
        for each run of steps that stay in parts of the block
            for each part: for each step of the run: for each point
                the other half                    from the one of the step before
        or for a step that does not, for each point of the block
        the results                               from the half of the last step

Points have the numbers that they have in the arrays. Each worker has a tile of its own
for each array, which stays in the second-level cache of its core, and a part of both
halves in the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.ir.kernels import BlockSteps, SegMap
from minifut.ir.node import divided, immutable, replace
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.kernel_ir import nodes as kc
from minifut.lowering.cpu.partition import larger
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap.cpu import Indices, PointKind, points
from minifut.lowering.segmap.time_steps import VisitPoint, own_units, units_of
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue

APART = 560
"""elements between halves, in which a point would else have the same low bits of
addresses: a load would wait for the store before"""
NONE, SINGLE = kc.Literal(0, kc.LONG), kc.Literal(1, kc.LONG)


def lower_block_steps(
    host: HostBuilder,
    base: str,
    operation: SegMap,
    steps: BlockSteps,
    outputs: list[Array],
    visit: VisitPoint,
) -> None:
    """Launch one kernel that makes all steps."""
    (size,) = host.sizes(operation.space.sizes)
    block = host.let_size(host.index(steps.block), "block")
    units, workers = units_of(host, size // block)
    apart, halves = host.let_size(block + APART, "apart"), Size.constant(2)
    elements = [output.memory.element for output in outputs]
    tiles = [host.allocate(e, (workers, halves, apart), "tile") for e in elements]
    k = host.kernel(base)
    with own_units(k, units, workers) as (worker, unit):
        length = k.size_value(block)
        low = k.declare("low", unit * length)
        high = k.declare("high", low + length)
        here = (k.as_size(low), block, ONE)
        own = [tile.row((k.as_size(worker),)) for tile in tiles]
        for tile, name in zip(own, steps.arrays, strict=True):
            k.copy(
                _shortened(tile.row((ZERO,)), block), host.array(name).slice((here,))
            )
        count = k.named(k.scalar(steps.count), "count")
        state = _copied(k, steps, map(k.scalar, steps.initial))
        step = k.declare("step", NONE)
        made = _Steps(k, operation, steps, own, low, visit)
        with k.while_loop(step < count):
            run = _steps_in_parts(k, steps, state, count - step)
            least = kc.Select(run > 0, k.scalar(steps.part), length, kc.LONG)
            part = k.declare("part", least)
            rounds = k.declare("rounds", larger(run, SINGLE))
            now = _copied(k, steps, state)
            with k.loop("first", high, low, part) as first:
                _assign(k, now, state)
                with k.loop("again", rounds) as again:
                    made.step((first, first + part), now, step + again)
            _assign(k, state, now)
            k.assign(step, step + rounds)
        for tile, output in zip(own, outputs, strict=True):
            last = _shortened(tile.row((k.as_size(count & 1),)), block)
            k.copy(output.slice((here,)), last)
    host.launch(k, workers, 1)


def _shortened(row: Array, length: Size) -> Array:
    return row.slice(((ZERO, length, ONE),))


@immutable
class _Steps:
    """Emits a step, from one half of the tiles to the other."""

    k: KernelBuilder
    operation: SegMap
    steps: BlockSteps
    tiles: list[Array]
    low: kc.Variable
    visit: VisitPoint

    def step(
        self,
        ends: tuple[kc.Expression, kc.Expression],
        state: Sequence[kc.Variable],
        number: kc.Expression,
    ) -> None:
        """The points between the ends at a step; then the state of the next."""
        k = self.k
        first, last = k.named(ends[0], "at"), k.named(ends[1], "stop")
        before, made = (
            [self.half(tile, (number + at) & 1) for tile in self.tiles] for at in (0, 1)
        )
        _, following = _begin(k, self.steps, state)
        k.bind_all(self.steps.arrays, before)

        def visit_point(k: KernelBuilder, at: Indices) -> None:
            self.visit(k, self.operation.body, made, at)

        index = k.variable("i", kc.LONG)
        points(k, index, first, last, (index,), visit_point, PointKind(True, False))
        _assign(k, state, following)

    def half(self, tile: Array, which: kc.Expression) -> Array:
        """A half of a tile by the numbers that its points have in the arrays. It gets
        a name of its own, as nothing that is in the other half."""
        row = tile.row((self.k.as_size(which),))
        part = self.k.part(row.memory, row.offset - self.k.as_size(self.low))
        return replace(row, memory=part, offset=ZERO)


def _steps_in_parts(
    k: KernelBuilder,
    steps: BlockSteps,
    state: Sequence[kc.Variable],
    most: kc.Expression,
) -> kc.Variable:
    """How many steps from a state on stay in parts of blocks."""
    run = k.declare("run", NONE)
    at, going = _copied(k, steps, state), k.declare("going", kc.Literal(True, kc.TRUTH))
    with k.while_loop(going):
        stays, following = _begin(k, steps, at)
        k.assign(going, stays)
        with k.branch(going):
            k.assign(run, run + 1)
            _assign(k, at, following)
            k.assign(going, run < most)
    return run


def _begin(
    k: KernelBuilder, steps: BlockSteps, state: Sequence[kc.Variable]
) -> tuple[kc.Expression, Sequence[LoweredValue]]:
    """Compute what a step gives: whether it stays in parts, and the next state."""
    k.bind_all([bound.name for bound in steps.state], state)
    stays, *given = k.body(steps.step)
    assert isinstance(stays, kc.Expression)
    following, values = divided(given, (len(steps.state), len(steps.values)))
    k.bind_all([bound.name for bound in steps.values], values)
    return stays, following


def _copied(
    k: KernelBuilder, steps: BlockSteps, values: Iterable[kc.Expression]
) -> list[kc.Variable]:
    """Variables for a state."""
    pairs = zip(steps.state, values, strict=True)
    return [k.declare(bound.name.base, value) for bound, value in pairs]


def _assign(
    k: KernelBuilder, state: Sequence[kc.Variable], values: Iterable[object]
) -> None:
    """Give a state values, which may be computed from it."""
    made = []
    for value in values:
        assert isinstance(value, kc.Expression)
        made.append(k.declare("next", value))
    k.assign_all(state, made)
