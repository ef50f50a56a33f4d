"""`GroupBuilder`: code of a work-group of many threads (the GPU schedule).

Code is at one of two levels. *Group code* is uniform: every thread computes the same
scalars; its arrays are in local memory (or distributed over registers, see
`analysis.residency`); all threads share what fills or copies them. *Thread code*,
inside `thread_region`, is that of `threads.builder`, each thread on its own.

    thread_region         no thread depends on another within it
    cooperative_region    threads depend on each other; it has regions of its own

Barriers between regions are inserted by a pass (`kernel_passes.insert_barriers`).

A thread that fails jumps to the end of its region; there all threads test whether one
has failed, and exit together (`UniformExit`). Group code fails in all threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from minifut.analysis.residency.distributed import RegisterArrays
from minifut.ir import core, kernels
from minifut.ir.kernels import Returns
from minifut.ir.sizes import ONE, ZERO, Size, product
from minifut.ir.traverse import used_names
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.groups import gpu_copy_layout, gpu_interleave, gpu_limits
from minifut.lowering.index_functions import Array, whole
from minifut.lowering.positions import unravel
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue, NotInKernel
from minifut.lowering.threads.register_tiles import RegisterTile, new_tile, resolved
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


class GroupBuilder(KernelBuilder):
    """A kernel of groups of `group` threads, a size of the host."""

    exchanges_global = True

    def __init__(
        self, host: HostBuilder, base: str, group: Size, registers: RegisterArrays
    ) -> None:
        super().__init__(host, base)
        self.level = "group"
        self.registers = registers
        self.group = group
        self.local = self.declare("local", self.identity("get_local_id"))
        self.unrolled_names: set[Name] = set()
        self.innermost: Mapping[Name, int] = {}

    def may_call(self, function: core.Function) -> bool:
        """Group code calls functions on scalars only: work on arrays is distributed
        over the threads."""
        values = (*function.parameters, *function.results)
        scalars = all(isinstance(p.type, ScalarType) for p in values)
        return self.level == "thread" or scalars

    # --- regions ---------------------------------------------------------------------

    @contextmanager
    def access_region(self) -> Iterator[None]:
        """Thread code that accesses memory."""
        self.level = "thread"
        with self.parallel_region():
            yield
        self.level = "group"

    @contextmanager
    def thread_region(self) -> Iterator[None]:
        """Thread code; threads that fail join the others at its end."""
        assert self.level == "group"
        with self.uniform_failure(), self.access_region():
            yield

    @contextmanager
    def cooperative_region(self) -> Iterator[None]:
        """Thread code with parallel regions of its own."""
        with self.uniform_failure():
            self.level = "thread"
            yield
            self.level = "group"

    @contextmanager
    def uniform_failure(self) -> Iterator[None]:
        """If the statements inside may fail, all threads exit after them if one did."""
        before = self.fail_label, self.can_fail
        label = str(self.names.fresh("meet"))
        self.fail_label, self.can_fail = label, False
        yield
        may_fail = self.can_fail
        self.fail_label, self.can_fail = before[0], before[1] or may_fail
        if may_fail:
            self.emit(kc.Label(label))
            self.emit(kc.UniformExit())

    # --- work shared by all threads --------------------------------------------------

    @contextmanager
    def unrolled(self, base: str, count: kc.Expression) -> Iterator[kc.Variable]:
        with super().unrolled(base, count) as index:
            self.unrolled_names.add(index.name)
            yield index

    @contextmanager
    def points(self, shape: tuple[Size, ...]) -> Iterator[tuple[kc.Expression, ...]]:
        """Thread code: the points of a space, distributed over the threads cyclically,
        so that neighbouring threads have neighbouring points."""
        total = product(shape)
        if total == self.group:
            yield unravel(self, self.local, shape)
        elif total == ONE:
            with self.branch(self.local.equals(0)):
                yield tuple(kc.Literal(0, kc.LONG) for _ in shape)
        else:
            bound = self.named(self.size_value(total), "points")
            loop = self.loop("point", bound, self.local, self.width, extent=bound)
            with loop as point:
                yield unravel(self, point, shape)

    @property
    def loads_ahead(self) -> bool:
        return self.level == "thread"

    def each(
        self,
        shape: tuple[Size, ...],
        visit: Callable[[tuple[Size, ...]], None],
        at: tuple[Size, ...] = (),
    ) -> None:
        if self.level == "thread":
            super().each(shape, visit, at)
            return
        with self.thread_region(), self.points(shape) as found:
            visit(tuple(self.as_size(index) for index in found))

    def write(
        self,
        array: Array,
        indices: tuple[kc.Expression | Size, ...],
        value: LoweredValue,
    ) -> None:
        if self.level == "thread" or isinstance(value, Array):
            super().write(array, indices, value)
            return
        given = super().write
        self.each((), lambda _: given(array, indices, value))

    # --- memory ----------------------------------------------------------------------

    def new_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """Of the group: local memory."""
        if self.level == "thread":
            return super().new_array(element, shape, base)
        count = product(shape)
        if not self.is_of_host(count):
            raise NotInKernel(f"only the group knows the size of {base}")
        return whole(self._local_array(element, count, base), shape)

    def transposed_copy(
        self, element: ScalarType, shape: tuple[Size, ...], innermost: int, base: str
    ) -> Array:
        """An array of the group with that dimension innermost (`gpu_copy_layout`)."""
        pad = gpu_interleave.vector_width(gpu_limits.local_bytes(element))
        strides, count = gpu_copy_layout.padded_strides(shape, innermost, pad)
        return Array(self._local_array(element, count, base), shape, ZERO, strides)

    def _local_array(self, element: ScalarType, count: Size, base: str) -> kc.Memory:
        """Local memory; that of a size known when the kernel is built is declared in
        the kernel, where its alignment is known and vectors can be loaded."""
        known = count.as_constant
        if known is not None or not self.is_build_constant(count):
            count = Size.constant(max(1, known)) if known is not None else count
            return self.local_memory(element, count, base)
        self.keep_constants(count)
        memory = kc.Memory(self.names.fresh(base), element, "local")
        self.prologue.append(kc.DeclareArray(memory, count))
        return memory

    def place_for(self, bound: core.Param) -> RegisterTile | None:
        """A tile for a name that is in registers."""
        sizes = self.registers.distributed.get(bound.name)
        if sizes is not None:
            type_ = resolved(self, bound.type, len(sizes))
            outer = tuple(self.resolve(size) for size in sizes)
            return new_tile(self, type_, bound.name.base, outer)
        if bound.name in self.registers.tiles:
            return new_tile(self, resolved(self, bound.type), bound.name.base)
        return None

    def pass_destinations(
        self,
        body: kernels.KernelBody | core.Body,
        targets: tuple[tuple[core.Atom, Array], ...],
    ) -> None:
        """Arrays that are only returned by the group are made in the result."""
        if self.level == "thread":
            super().pass_destinations(body, targets)
            return
        used = set()
        for statement in body.statements:
            used |= used_names(statement)
        for result in body.result:
            if not isinstance(result, Returns):
                used |= used_names(result)
        makers = {
            p.name
            for s in body.statements
            for p in s.pattern
            if isinstance(s.exp, DIRECT)
        }
        for atom, target in targets:
            if atom in makers and atom not in used and atom not in self.destinations:
                assert isinstance(atom, Name)
                self.destinations[atom] = target

    # --- statements ------------------------------------------------------------------

    def rules(self) -> Mapping[type, Any]:
        from minifut.lowering.dispatch import RULES_OF_GROUPS

        return RULES_OF_GROUPS[self.level]


DIRECT = (
    kernels.SegMap,
    kernels.SegScan,
    core.Iota,
    core.Replicate,
    core.Concat,
    kernels.CollectiveCopy,
)
"""operations that can write their array directly into the result"""
