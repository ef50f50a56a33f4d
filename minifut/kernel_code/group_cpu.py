"""`SegMap` at the level of groups under the CPU schedule: a group is one work-item.

    segmap group (g < n, h < m) {             for (group = worker; group < n * m;
      let t = collective_copy ..                   group += workers) {
      let u = segmap thread (i < w) {..}          for (i ..) t[i] = ..
      return returns u }                           for (i ..) u[i] = ..
                                                   out[g, h, ..] = u }

The code of a group runs as that of a thread does, with loops for what its threads do:
there is nothing to wait for, so there are no barriers. Arrays of the group lie in local
memory; if that is too small for them, which the host finds out when it runs, in global
memory with a part for each worker, by a second kernel of the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.ir import core, kernels
from minifut.ir.core import Param
from minifut.ir.kernels import LOCAL_MEMORY
from minifut.ir.scalars import operator
from minifut.ir.sizes import ZERO, Size, minimum, product
from minifut.ir.types import BOOL, I64, ScalarType
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.arena import forget_after
from minifut.kernel_code.group_results import finish_group, output_of
from minifut.kernel_code.index_functions import Array, whole
from minifut.kernel_code.lower_host import HostBuilder
from minifut.kernel_code.lower_kernel import KernelBuilder
from minifut.kernel_code.nest_cpu import unravel

WORKERS_PER_CORE = 16
"""work-items that take turns with the groups, so that cores stay busy to the end"""


def lower(
    host: HostBuilder, pattern: tuple[Param, ...], operation: kernels.SegMap
) -> None:
    """Allocate the results and launch a kernel, in local memory if that is enough."""
    outputs = [
        output_of(host, bound, result, operation.space)
        for bound, result in zip(pattern, operation.body.result, strict=True)
    ]
    base = pattern[0].name.base if pattern else "check"
    sizes = host.sizes(operation.space.sizes)
    groups = host.let_size(product(sizes), "groups")
    most = host.cores() * WORKERS_PER_CORE
    workers = host.let_size(minimum(groups, most), "workers")
    with host.nested() as within:
        k = WorkerBuilder(host, base, "local")
        run_groups(k, operation, outputs, groups, workers)
        host.launch(k, workers, 1)
    if k.local_bytes == ZERO:
        host.statements.extend(within)
    else:
        with host.nested() as beyond:
            scratch = WorkerBuilder(host, f"{base}_scratch", "global")
            run_groups(scratch, operation, outputs, groups, workers)
            host.launch(scratch, workers, 1)
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


class WorkerBuilder(KernelBuilder):
    """Lowers the code of a group, with that of its threads as loops."""

    def __init__(self, host: HostBuilder, base: str, space: str) -> None:
        super().__init__(host, base)
        self.space = space
        self.local_bytes = ZERO
        self.repeatable = True

    def rules(self) -> Mapping[type, Any]:
        from minifut.kernel_code.group_threads_cpu import RULES

        return RULES

    def new_array(
        self, element: ScalarType, shape: tuple[Size, ...], base: str
    ) -> Array:
        """Private if small, else memory of the group."""
        count = product(shape)
        simple = count.as_constant is not None or not self.is_of_host(count)
        if self.space != "local" or (simple and self.is_small(element, count)):
            return super().new_array(element, shape, base)
        if not self.is_of_host(count):
            return super().new_array(element, shape, base)
        unit = 4 if element.name == "f16" else element.bytes
        self.local_bytes = self.local_bytes + count * unit
        return whole(self.local_memory(element, count, base), shape)


def run_groups(
    k: WorkerBuilder,
    operation: kernels.SegMap,
    outputs: list[Array],
    groups: Size,
    workers: Size,
) -> None:
    """Group after group of this worker."""
    worker = k.declare("worker", k.identity("get_global_id"))
    k.thread = (worker, workers)
    sizes = k.host.sizes(operation.space.sizes)
    bound, step = k.size_value(groups), k.size_value(workers)
    with k.loop("group", bound, worker, step) as group:
        at = unravel(k, group, sizes)
        for name, index in zip(operation.space.indices, at, strict=True):
            k.bind_index(name, index)
        with k.nested() as body:
            finish_group(k, operation.body, outputs, at)
        forget_after(k, body)
