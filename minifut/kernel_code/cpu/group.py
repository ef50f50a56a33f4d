"""`SegMap` at the level of groups under the CPU schedule: a group is one work-item.

    segmap group (g < n, h < m) {             for (group = worker; group < n * m;
      let t = collective_copy ..                   group += workers) {
      let u = segmap thread (i < w) {..}          for (i ..) t[i] = ..
      return returns u }                           for (i ..) u[i] = ..
                                                   out[g, h, ..] = u }

The code of a group runs as that of a thread does, with loops for what its threads do:
there is nothing to wait for, so there are no barriers. Groups with tiles, few and long,
are taken from a counter one at a time. Arrays of the group lie in local memory. Where
tuning parameters alone decide how large they are, values for which that is too small
are an error; else the host finds out when it runs, and they lie in global memory with a
part for each worker, by a second kernel of the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from minifut.ir import core, kernels
from minifut.ir.core import Param
from minifut.ir.held_tiles import chains
from minifut.ir.kernels import LOCAL_MEMORY
from minifut.ir.scalars import operator
from minifut.ir.sizes import ONE, ZERO, Size, minimum, product
from minifut.ir.types import BOOL, I64, ArrayType, ScalarType
from minifut.kernel_code.cpu.direct_reads import Known, known_of
from minifut.kernel_code.cpu.even_blocks import fit_tiles
from minifut.kernel_code.cpu.group_results import finish_group, output_of
from minifut.kernel_code.cpu.register_tiles import Held, tile_for
from minifut.kernel_code.cpu.tile_layouts import PADDING, PanelArray, Panels, layouts
from minifut.kernel_code.cpu.tile_memory import store_tile
from minifut.kernel_code.group_registers import find_tiles
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.index_functions import Array, row_major_strides, whole
from minifut.kernel_code.positions import unravel
from minifut.kernel_code.threads.arena import release_after
from minifut.kernel_code.threads.builder import KernelBuilder, NotInKernel, Value
from minifut.kernel_code.threads.register_tiles import RegisterTile
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.rule import rollback_trace_on
from minifut.names import Name

WORKERS_PER_CORE = 16
"""work-items that share the groups evenly, where they are many"""


def lower(
    host: HostBuilder, pattern: tuple[Param, ...], operation: kernels.SegMap
) -> None:
    """Allocate the results and launch a kernel, in local memory if that is enough."""
    fitted = fit_tiles(operation, host)
    blocks: frozenset[Name] = frozenset()
    if isinstance(fitted, tuple):
        operation, blocks = fitted
    outputs = [
        output_of(host, bound, result, operation.space)
        for bound, result in zip(pattern, operation.body.result, strict=True)
    ]
    base = pattern[0].name.base if pattern else "check"
    sizes = host.sizes(operation.space.sizes)
    groups = host.let_size(product(sizes), "groups")
    most = host.cores() * (1 if blocks else WORKERS_PER_CORE)
    workers = host.let_size(minimum(groups, most), "workers")
    job = Job(operation, outputs, groups, workers, few=bool(blocks))
    with host.nested() as within:
        k = launch(host, job, base, "local")
    if k.local_bytes == ZERO:
        host.statements.extend(within)
    elif k.local_bytes.names() <= host.build_constants.keys() | blocks:
        used = tuple((c.parameter.name, c.name) for c in k.constants.values())
        host.emit(kc.CheckGroup(ONE, k.local_bytes, used))
        host.statements.extend(within)
    else:
        with host.nested() as beyond:
            launch(host, job, f"{base}_scratch", "global")
        then, otherwise = kc.HostBlock(tuple(within)), kc.HostBlock(tuple(beyond))
        host.emit(kc.HostIf(fits(host, k.local_bytes), then, otherwise))
    for bound, output in zip(pattern, outputs, strict=True):
        host.bind(bound, output)


def fits(host: HostBuilder, nbytes: Size) -> core.Atom:
    """Whether so many bytes of local memory may be asked for."""
    limit = host.parameter(LOCAL_MEMORY).as_name
    needed = host.scalar(core.SizeExp(nbytes), I64, "local_bytes")
    assert limit is not None
    test = core.ScalarOp(operator("le", I64), (needed, limit))
    return host.scalar(test, BOOL, "fits")


@dataclass(frozen=True, slots=True)
class Job:
    """What the workers of one launch do; `few`: groups are few and long, so that cores
    should share them to the last one, whenever each of them begins."""

    operation: kernels.SegMap
    outputs: list[Array]
    groups: Size
    workers: Size
    few: bool


def launch(host: HostBuilder, job: Job, base: str, space: str) -> WorkerBuilder:
    """A kernel with the arrays of groups in local or global memory, launched. Threads
    have tiles in registers if that can be done."""
    mark = len(host.statements)
    try:
        k = WorkerBuilder(host, base, space, in_registers=True)
        with rollback_trace_on(k, NotInKernel):
            run_groups(k, job)
    except NotInKernel:
        del host.statements[mark:]
        k = WorkerBuilder(host, base, space, in_registers=False)
        run_groups(k, job)
    host.launch(k, job.workers, 1)
    return k


class WorkerBuilder(KernelBuilder):
    """Lowers the code of a group, with that of its threads as loops.

    `lanes`: how wide the vectors of register tiles are, 0 where there are none.
    `registers`: the index of copies for each index of a register nest. `in_reduction`:
    in a loop that carries tiles, where floats may be contracted. `in_nest`: in the
    scalar body of a register nest, which `vectorise` turns into vector code. `sizes`:
    the names bound to sizes, in indices and constants, as far as panels must know them.
    `numbers`: the tiles that never hold a NaN. `loaded`: a thread's own tiles of arrays
    whose elements its nests read.
    """

    def __init__(
        self, host: HostBuilder, base: str, space: str, in_registers: bool
    ) -> None:
        super().__init__(host, base)
        self.space = space
        self.in_registers = in_registers
        self.local_bytes = ZERO
        self.repeatable = True
        self.lanes = 0
        self.in_reduction = False
        self.in_nest = False
        self.sizes: dict[Name, Size] = {}
        self.numbers: set[Name] = set()
        self.loaded: dict[Name, RegisterTile] = {}
        self.registers: dict[Name, Name] = {}
        self.point: tuple[Size, ...] = ()
        self.tiles: frozenset[Name] = frozenset()
        self.wanted: set[Name] = set()
        self.held: dict[Name, Held] = {}
        self.delayed: dict[Name, core.Atom] = {}
        self.postponed: dict[Name, core.Stm] = {}
        self.layouts: dict[Name, Panels] = {}
        self.known: Known | None = None
        self.edges: dict[tuple[ScalarType, tuple[Size, ...]], Array] = {}

    def rules(self) -> Mapping[type, Any]:
        from minifut.kernel_code.cpu.group_threads import RULES

        return RULES

    def full_size(self, size: Size) -> Size:
        """A size of the IR in indices, without names for parts of it."""
        found = {n: self.sizes[n] for n in size.names() if n in self.sizes}
        rest = {n: self.resolve(Size.of(n)) for n in size.names() - found.keys()}
        return size.substitute({**found, **rest})

    # --- memory -----------------------------------------------------------------------

    def new_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """Private if small, else memory of the group."""
        count = product(shape)
        here = self.space == "local" and self.is_of_host(count)
        if not here or self.is_small(element, count):
            return super().new_array(element, shape, base)
        unit = 4 if element.name == "f16" else element.bytes
        self.local_bytes = self.local_bytes + count * unit
        return whole(self.local_memory(element, count, base), shape)

    def padded_rows(self, bound: Param, inner: int) -> Array:
        """Memory for a copy in rows a little apart, in which the elements of dimension
        `inner` lie side by side."""
        assert isinstance(bound.type, ArrayType)
        shape, element = self.shape(bound.type), bound.type.element
        order = [i for i in range(len(shape)) if i != inner] + [inner]
        turned = tuple(shape[i] for i in order)
        padded = (*turned[:-1], turned[-1] + PADDING)
        rows = self.new_array(element, padded, bound.name.base)
        made = Array(rows.memory, turned, rows.offset, rows.strides)
        return made.rearrange(tuple(order.index(i) for i in range(len(shape))))

    def panels(self, bound: Param, dimension: int, width: Size) -> PanelArray:
        """Memory for a copy in which a dimension is cut into panels."""
        assert isinstance(bound.type, ArrayType)
        shape, element = self.shape(bound.type), bound.type.element
        plain = PanelArray(
            kc.Memory(bound.name, element),
            shape,
            ZERO,
            row_major_strides(shape),
            dimension,
            self.resolve(width),
        )
        made = self.new_array(element, plain.opened.shape, bound.name.base)
        return replace(plain, memory=made.memory, offset=made.offset)

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
        """Registers for what is handed over between register nests."""
        if self.lanes and bound.name in self.tiles:
            return tile_for(self, bound)
        return None

    def write(
        self, array: Array, indices: tuple[kc.Expression | Size, ...], value: Value
    ) -> None:
        """An element, a row, or the tile of a thread."""
        if isinstance(value, RegisterTile):
            store_tile(self, array.row(self._sizes(indices)), value)
        else:
            super().write(array, indices, value)

    # --- the whole --------------------------------------------------------------------

    def prepare(self, job: Job, at: tuple[Size, ...]) -> None:
        """Find out what lies where in the group at these indices."""
        if not self.in_registers:
            return
        body = job.operation.body
        self.tiles = frozenset(find_tiles(body))
        if not self.tiles:
            return
        self.layouts = layouts(body)
        self.known = known_of(job.operation)
        for chain in chains(body):
            result = body.result[chain.result]
            assert isinstance(result, kernels.RegTileReturns)
            held = held_in(self, job.outputs[chain.result], result, at)
            self.held.update(dict.fromkeys(chain.names, held))
            self.delayed.update(chain.delayed)


def held_in(
    k: WorkerBuilder,
    output: Array,
    result: kernels.RegTileReturns,
    at: tuple[Size, ...],
) -> Held:
    """The register tiles of a group as a view of the result."""
    blocks, registers, strides, remaining, own = [], [], [], [], []
    offset = output.offset
    for (total, block, register), stride, index in zip(
        result.dimensions, output.strides, at, strict=True
    ):
        if (block, register) == (ONE, ONE):
            offset = offset + index * stride
            continue  # no dimension of the tile
        blocks.append(k.resolve(block))
        registers.append(k.resolve(register))
        start = index * blocks[-1] * registers[-1]
        rest = k.size_value(k.resolve(total) - start)
        remaining.append(k.as_size(k.named(rest, "remaining")))
        offset = offset + start * stride
        strides.append(registers[-1] * stride)
        own.append(stride)
    offset = k.as_size(k.named(k.size_value(offset), "corner"))
    view = Array(
        output.memory,
        (*blocks, *registers),
        offset,
        (*strides, *own),
    )
    return Held(view, tuple(remaining), tuple(registers))


def run_groups(k: WorkerBuilder, job: Job) -> None:
    """Group after group of this worker."""
    worker = k.declare("worker", k.identity("get_global_id"))
    k.thread = (worker, job.workers)
    bound, step = k.size_value(job.groups), k.size_value(job.workers)
    if not job.few:
        with k.loop("group", bound, worker, step) as group:
            run_group(k, job, group)
        return
    # PoCL's compiler uses the widest vectors only in kernels that ask who they are.
    group = k.declare("group", worker)
    with k.while_loop(group < bound):
        run_group(k, job, group)
        k.emit(kc.FetchWork(group, bound, step))


def run_group(k: WorkerBuilder, job: Job, group: kc.Variable) -> None:
    """The group of that number."""
    space = job.operation.space
    at = unravel(k, group, k.host.sizes(space.sizes))
    for name, index in zip(space.indices, at, strict=True):
        k.bind_index(name, index)
    with k.nested() as body:
        k.prepare(job, tuple(k.as_size(index) for index in at))
        finish_group(k, job.operation.body, job.outputs, at)
    release_after(k, body)
