"""Nests of parallel loops under the GPU schedule.

    for all i < n, j < m: body        one work-item a point, innermost fastest, so that
                                      neighbours touch neighbouring memory

The number of work-items is limited: each has further points at the stride of the grid
(grid-stride loop), which also bounds the scratch memory that threads may need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.kernels import Parameter, group_size
from minifut.ir.sizes import Size, ceil_div, minimum, product
from minifut.lowering.positions import unravel
from minifut.lowering.segmap.cpu import VisitIndices

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder

GROUP_SIZE = group_size("map")
GROUPS_PER_CORE = Parameter(
    "gpu.map.groups_per_core", "num_groups", (("cpu", 64), ("gpu", 64)), (1, 4096)
)


def launch_nest(
    host: HostBuilder,
    base: str,
    shape: tuple[Size, ...],
    visit: VisitIndices,
    *,
    expensive: bool,
    parallel: bool,
    fresh: bool = False,
) -> None:
    """Launch a kernel that runs `visit` at each point."""
    del expensive, parallel
    total = product(shape)
    if total.as_constant == 0:
        return
    if total.as_constant == 1:
        note_one_thread(host, base)
    total = host.let_size(total, "points")
    group = host.parameter(GROUP_SIZE)
    most = host.cores() * host.parameter(GROUPS_PER_CORE)
    groups = minimum(ceil_div(total, group), most)
    threads = host.let_size(groups * group, "threads")
    k = host.kernel(base)
    thread = k.declare("thread", k.identity("get_global_id"))
    k.thread = (thread, threads)
    k.repeatable = True
    limit, step = k.size_value(total), k.size_value(threads)
    with k.loop("at", limit, thread, step) as at:
        visit(k, unravel(k, at, shape))
    host.launch(k, threads, group, fresh=fresh)


def note_one_thread(host: HostBuilder, what: str) -> None:
    """Note that one work-item does what is being lowered, if the work depends on sizes:
    a loop, or an operation that no kernel of the schedule does in parallel."""
    work = host.work
    if work is not None and work.as_constant is not None:
        return
    count = "an unknown number of" if work is None else str(work)
    where = host.location or "-"
    host.program.fallbacks.one_thread.append(
        f"{where}  {what}: {count} scalar operations"
    )
