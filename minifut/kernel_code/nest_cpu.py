"""Nests of parallel loops under the CPU schedule.

    for all i < n, j < m: body        work-groups of one work-item, each a contiguous
                                      stretch of the n * m points, in row-major order:

    at = chunk * get_global_id(0); stop = min(at + chunk, n * m)
    row = at / m; j0 = at % m
    while (at < stop) {
        end = min(m, j0 + stop - at)
        for (j = j0; j < end; j++) body       <- contiguous: the device vectorises it
        at += end - j0; j0 = 0; row++
    }

So any shape keeps all cores busy and the inner loop long. The host chooses the chunk
when it runs: some stretches per core, for balance, but none so short that starting it
costs more than doing it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.lower_kernel import KernelBuilder
from minifut.kernel_code.streaming_cpu import stream_blocks

if TYPE_CHECKING:
    from minifut.kernel_code.lower_host import HostBuilder

STRETCHES_PER_CORE = 8
LONGEST, SHORTEST = 16384, 512
"""points of a stretch, where a point is little work"""

Visit = Callable[[KernelBuilder, tuple[kc.Expression, ...]], None]


def launch_nest(
    host: HostBuilder,
    base: str,
    shape: tuple[Size, ...],
    visit: Visit,
    *,
    heavy: bool,
    parallel: bool,
    fresh: bool = False,
) -> None:
    """Launch a kernel that runs `visit` at each point. `heavy`: a point is much work;
    `parallel`: points may be mixed (no memory of the thread, no failures, no clashes);
    `fresh`: what is written is not read.
    """
    total = product(shape)
    if total.as_constant == 0:
        return
    if total.as_constant is not None and total.as_constant <= SHORTEST and not heavy:
        total_size, chunk = total, total
    else:
        total_size = host.let_size(total, "points")
        share = ceil_div(total_size, host.cores() * STRETCHES_PER_CORE)
        least = ONE if heavy else Size.constant(SHORTEST)
        share = maximum(least, minimum(share, Size.constant(LONGEST)))
        chunk = host.let_size(share, "chunk")
    k = host.kernel(base)
    threads = ceil_div(total_size, chunk)
    thread = k.declare("thread", k.identity("get_global_id"))
    k.thread = (thread, threads)
    k.repeatable = True
    start = k.declare("at", thread * k.size_value(chunk))
    limit = k.size_value(total_size)
    stop = k.declare(
        "stop",
        kc.Call("min", (start + k.size_value(chunk), limit), kc.LONG),
    )
    if len(shape) == 0:
        visit(k, ())
    elif len(shape) == 1:
        rest: kc.Expression = start
        if parallel and fresh and not heavy and total.as_constant is None:
            rest = stream_blocks(k, total_size, start, stop, visit)
        with k.loop("i", stop, rest, parallel=parallel) as i:
            visit(k, (i,))
    else:
        rows(k, shape, start, stop, visit, parallel)
    host.launch(k, threads, 1, fresh=fresh)


def rows(
    k: KernelBuilder,
    shape: tuple[Size, ...],
    at: kc.Variable,
    stop: kc.Variable,
    visit: Visit,
    parallel: bool,
) -> None:
    """The points from `at` up to `stop`, row by row."""
    width = k.named(k.size_value(shape[-1]), "width")
    row = k.declare("row", kc.Literal(0, kc.LONG))
    first = k.declare("first", kc.Literal(0, kc.LONG))
    with k.branch(at < stop):
        k.assign(row, at // width)
        k.assign(first, at - row * width)
    with k.while_loop(at < stop):
        end = k.declare("end", kc.Call("min", (width, first + stop - at), kc.LONG))
        outer = unravel(k, row, shape[:-1])
        with k.loop("j", end, first, parallel=parallel) as j:
            visit(k, (*outer, j))
        k.assign(at, at + (end - first))
        k.assign(first, 0)
        k.assign(row, row + 1)


def unravel(
    k: KernelBuilder, flat: kc.Expression, shape: tuple[Size, ...]
) -> tuple[kc.Expression, ...]:
    """The indices, outermost first, of a position in row-major order."""
    indices: list[kc.Expression] = []
    rest = flat
    for size in reversed(shape[1:]):
        bound = k.size_value(size)
        above = k.declare("rest", rest // bound)
        indices.append(k.declare("i", rest - above * bound))
        rest = above
    if shape:
        indices.append(k.declare("i", rest))
    return tuple(reversed(indices))
