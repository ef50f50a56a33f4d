"""`SegMap` at the level of groups under the CPU schedule: a group is one work-item.

    segmap group (g < n, h < m) {             for (group of a block of n * m) {
      let t = collective_copy ..                  for (i ..) t[i] = ..
      let u = segmap thread (i < w) {..}          for (i ..) u[i] = ..
      return returns u }                          out[g, h, ..] = u }

The threads of a group become loops, without barriers. Groups with tiles, few and long,
are fetched from an atomic counter one at a time; of others each worker has a block,
since neighbouring groups often read the same rows.
Arrays of the group are in local memory. Where their size depends on tuning parameters
only, values that exceed the local memory are an error; else the host decides when it
runs whether it launches the kernel with local memory, or with global memory that has a
part for each worker (`kernel_passes.spill`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from minifut.ir import core, kernels, scalars
from minifut.ir.core import Atom, Param
from minifut.ir.node import immutable, replace
from minifut.ir.sizes import ONE, ZERO, Size, minimum, product
from minifut.ir.traverse import free_names
from minifut.ir.types import BOOL, I64, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.groups import results
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array, whole
from minifut.lowering.positions import unravel
from minifut.lowering.threads.arena import release_after
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue, NotInKernel
from minifut.lowering.threads.register_tiles import RegisterTile
from minifut.lowering.tiles import clamp_sizes, planner, register_nests, transfers
from minifut.lowering.tiles.plan import NO_THREADS, ThreadPlan, TilePlan
from minifut.names import Name
from minifut.rewrite.trace import rollback_trace_on

WORKERS_PER_CORE = 16
"""work-items over which many groups are distributed"""


def lower(
    host: HostBuilder, pattern: tuple[Param, ...], operation: kernels.SegMap
) -> None:
    """Allocate the results and launch a kernel, in local memory if that suffices."""
    clamped = clamp_sizes.clamp_tile_sizes(operation, host)
    blocks: frozenset[Name] = frozenset()
    if isinstance(clamped, tuple):
        operation, blocks = clamped
    outputs = [
        results.output_of(host, bound, result, operation.space)
        for bound, result in zip(pattern, operation.body.result, strict=True)
    ]
    base = pattern[0].name.base if pattern else "check"
    sizes = host.sizes(operation.space.sizes)
    groups = host.let_size(product(sizes), "groups")
    most = host.cores() * (1 if blocks else WORKERS_PER_CORE)
    workers = host.let_size(minimum(groups, most), "workers")
    job = GroupLaunch(operation, outputs, groups, workers, dynamic=bool(blocks))
    k = worker_of(host, job, base)
    spills = not k.local_bytes.names() <= host.build.parameters.keys() | blocks
    if spills:
        k.let_arrays_spill()
    launch = host.launch_of(k, workers, 1)
    if spills:
        launch_within_limits(host, k, launch, workers)
    else:
        if k.local_bytes != ZERO:
            host.emit(kc.CheckGroup(ONE, k.local_bytes, k.settable_constants()))
        host.start(k, launch)
    host.bind_all(pattern, outputs)


def launch_within_limits(
    host: HostBuilder, k: WorkerBuilder, launch: kc.Launch, workers: Size
) -> None:
    """Launch with local memory if that suffices, with global memory else."""
    with host.nested() as within:
        host.start(k, launch)
    with host.nested() as beyond:
        arguments = list(launch.arguments)
        for at, parameter in enumerate(k.parameters.values()):
            if isinstance(parameter, kc.LocalParameter):
                element, base = parameter.memory.element, parameter.memory.name.base
                made = host.allocate(element, (workers, parameter.count), base)
                arguments[at] = made.memory
        host.start(k, replace(launch, arguments=tuple(arguments)))
    then, otherwise = kc.HostBlock(tuple(within)), kc.HostBlock(tuple(beyond))
    host.emit(kc.HostIf(fits(host, k.local_bytes), then, otherwise))


def fits(host: HostBuilder, nbytes: Size) -> core.Atom:
    """Whether a group may have so many bytes of local memory."""
    limit = host.parameter(kernels.LOCAL_MEMORY).as_name
    needed = host.scalar(core.SizeExp(nbytes), I64, "local_bytes")
    assert limit is not None
    test = core.ScalarOp(scalars.operator("le", I64), (needed, limit))
    return host.scalar(test, BOOL, "fits")


@immutable
class GroupLaunch:
    """The groups of an operation over workers; `dynamic`: workers fetch one group at a
    time, for load balance of few and long groups."""

    operation: kernels.SegMap
    outputs: list[Array]
    groups: Size
    workers: Size
    dynamic: bool


def worker_of(host: HostBuilder, job: GroupLaunch, base: str) -> WorkerBuilder:
    """The code of a worker, with register tiles if there is code for them."""
    mark = len(host.statements)
    try:
        with rollback_trace_on(host, NotInKernel):
            return _worker(host, job, base, in_registers=True)
    except NotInKernel:
        del host.statements[mark:]
        return _worker(host, job, base, in_registers=False)


def _worker(
    host: HostBuilder, job: GroupLaunch, base: str, in_registers: bool
) -> WorkerBuilder:
    plan = planner.plan_group(job.operation, host, in_registers)
    k = WorkerBuilder(host, base, plan)
    run_groups(k, job)
    return k


@immutable
class Position:
    """Where in a group code is emitted: in the threads of a plan, with vectors of
    `lanes`, 0 outside of threads; at the indices `thread`, with tiles `preloaded`; in a
    register nest with its index of vectors for each index in `registers`.
    `in_reduction`: in a loop that carries tiles, where floats may be contracted;
    `in_nest`: in the scalar body of a register nest, which is vectorised.
    """

    threads: ThreadPlan = NO_THREADS
    lanes: int = 0
    thread: tuple[Size, ...] = ()
    preloaded: Mapping[Name, RegisterTile] = field(default_factory=dict)
    registers: Mapping[Name, Name] = field(default_factory=dict)
    in_reduction: bool = False
    in_nest: bool = False


class WorkerBuilder(KernelBuilder):
    """Emits the code of a group as planned, with that of its threads as loops."""

    def __init__(self, host: HostBuilder, base: str, plan: TilePlan) -> None:
        super().__init__(host, base)
        self.plan = plan
        self.at = Position()
        self.local_bytes = ZERO
        self.repeatable = True
        self.accumulators: dict[Name, transfers.AccumulatorTile] = {}
        self.edges: dict[tuple[ScalarType, tuple[Size, ...]], Array] = {}

    def rules(self) -> Mapping[type, Any]:
        from minifut.lowering.groups.cpu_threads import RULES

        return RULES

    @property
    def lanes(self) -> int:
        """The lanes of vectors of register tiles, 0 outside of threads with tiles."""
        return self.at.lanes

    @contextmanager
    def inside(self, position: Position) -> Iterator[None]:
        """Emit at another position."""
        outer, self.at = self.at, position
        try:
            yield
        finally:
            self.at = outer

    def full_size(self, size: Size) -> Size:
        """A size of the IR in indices, without names for parts of it."""
        return self.resolve(size.substitute(dict(self.plan.definitions)))

    def full_index(self, atom: Atom) -> Size:
        """An index of the IR as such a size."""
        if isinstance(atom, Name) and atom in self.plan.definitions:
            return self.full_size(self.plan.definitions[atom])
        return self.index(atom)

    # --- memory -----------------------------------------------------------------------

    def new_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """Private if small, else memory of the group."""
        count = product(shape)
        if not self.is_of_host(count) or self.is_small(element, count):
            return super().new_array(element, shape, base)
        unit = 4 if element.name == "f16" else element.bytes
        self.local_bytes = self.local_bytes + count * unit
        return whole(self.local_memory(element, count, base), shape)

    def let_arrays_spill(self) -> None:
        """Make all arrays of the group parameters for which launches may pass global
        memory."""
        local: dict[Name, kc.Parameter] = {}
        for statement in tuple(self.prologue):
            if isinstance(statement, kc.DeclareArray):
                memory, count = statement.memory, statement.count
                if memory.space == "local":
                    self.prologue.remove(statement)
                    local[memory.name] = kc.LocalParameter(memory, count, spills=True)
        for name, parameter in tuple(self.parameters.items()):
            if isinstance(parameter, kc.LocalParameter):
                self.size_value(parameter.count)  # its names are parameters, before it
                local[name] = replace(self.parameters.pop(name), spills=True)
        self.parameters |= local

    def edge_array(self, element: ScalarType, shape: tuple[Size, ...]) -> Array:
        """Private memory for one tile that crosses the edge of a result."""
        found = self.edges.get((element, shape))
        if found is None:
            memory = kc.Memory(self.names.fresh("edge"), element, "private")
            count = product(shape)
            self.size_value(count)  # makes its names constants of the kernel
            self.prologue.append(kc.DeclareArray(memory, count))
            found = self.edges[element, shape] = whole(memory, shape)
        return found

    def place_for(self, bound: Param) -> RegisterTile | None:
        """Registers for the tiles that loops and branches of a thread carry."""
        if self.lanes and bound.name in self.plan.registers:
            return register_nests.tile_for(self, bound)
        return None

    def write(
        self,
        array: Array,
        indices: tuple[kc.Expression | Size, ...],
        value: LoweredValue,
    ) -> None:
        """Store an element, a row, or the tile of a thread."""
        if isinstance(value, RegisterTile):
            transfers.store_tile(self, array.row(self.as_sizes(indices)), value)
        else:
            super().write(array, indices, value)


def run_groups(k: WorkerBuilder, job: GroupLaunch) -> None:
    """The loop of a worker over its groups."""
    worker = k.declare("worker", k.identity("get_global_id"))
    k.thread = (worker, job.workers)
    bound, step = k.size_value(job.groups), k.size_value(job.workers)
    if not job.dynamic:
        # neighbours follow each other: what they share is still in the cache
        first = k.declare("first", worker * bound // step)
        with k.loop("group", (worker + 1) * bound // step, first) as group:
            run_group(k, job, group)
        return
    # PoCL's compiler uses the widest vectors only in kernels that query their id.
    group = k.declare("group", worker)
    with k.while_loop(group < bound):
        run_group(k, job, group)
        k.emit(kc.FetchWork(group, bound, step))


def run_group(k: WorkerBuilder, job: GroupLaunch, group: kc.Variable) -> None:
    """The group of that number."""
    space, body = job.operation.space, job.operation.body
    at = unravel(k, group, k.host.sizes(space.sizes))
    k.bind_indices(space.indices, at)
    with k.nested() as statements:
        indices = tuple(k.as_size(index) for index in at)
        for each in k.plan.accumulators:
            result, output = body.result[each.result], job.outputs[each.result]
            assert isinstance(result, kernels.RegTileReturns)
            tile = transfers.accumulator_tile(
                k, output, results.tile_extents(k, result, indices)
            )
            k.accumulators.update(dict.fromkeys(each.names, tile))
        pass_rows(k, job, indices)
        k.statements_of(body.statements)
        stored = {each.result for each in k.plan.accumulators}
        for position, result in enumerate(body.result):
            if position not in stored:
                results.write_result(
                    k, result, job.outputs[position], indices, results.write_in_loops
                )
    release_after(k, statements)


def pass_rows(k: WorkerBuilder, job: GroupLaunch, indices: tuple[Size, ...]) -> None:
    """Let threads write to the result of the group what nothing in the group reads."""
    body = job.operation.body
    makers = {p.name: s.exp for s in body.statements for p in s.pattern}
    for result, output in zip(body.result, job.outputs, strict=True):
        if not isinstance(result, kernels.Returns) or output.rank == len(indices):
            continue
        name = result.value
        made = makers.get(name) if isinstance(name, Name) else None
        if (
            isinstance(made, kernels.SegMap | kernels.SegRed | kernels.SegScan)
            and isinstance(name, Name)
            and made.level == kernels.THREAD
            and name not in k.plan.threads
            and not any(name in free_names(s) for s in body.statements)
        ):
            k.destinations[name] = output.row(indices)
