"""Accumulators in memory: how an update is done where several points may do one.

    with_acc((acc([k], (xs), (0), add)), \\a -> ..)     xs, or a copy of it, is updated

    directly       read, combine, write: one work-item at a time
    atomically     cells that many work-items update at once (`accumulators.gpu`)
    overwriting    without operator: a plain write, of which one wins

The input of a `WithAcc` is the bins of a histogram; `host.accumulators` says for each
root how its updates are done at the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minifut.ir import kernels, search, sizes
from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.core import Body, Lambda, Param, Stm
from minifut.ir.node import immutable
from minifut.lowering.index_functions import Array
from minifut.lowering.seghist.histograms import Bins, BinUpdate, bin_update, update_bin
from minifut.lowering.threads.builder import KernelBuilder
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


@immutable
class Accumulator:
    """The arrays of an accumulator and what does an update of a bin that is there.
    `shared`: the arrays that updates read and no kernel fills first."""

    bins: Bins
    combines: bool
    update: Callable[[KernelBuilder, BinUpdate], None]
    shared: tuple[Array, ...] = ()


def lower_with_acc(host: HostBuilder, stm: Stm, exp: WithAcc) -> None:
    """Lower the function with the arrays, or copies of them, as accumulators."""
    from minifut.lowering.dispatch import PREPARE_ACCUMULATORS, VALUE_ON_HOST

    arrays = iter(stm.pattern)
    outputs, roots = [], [p.name for p in exp.function.parameters]
    for root, item in zip(roots, exp.inputs, strict=True):
        own = [next(arrays) for _ in item.arrays]
        bins = _bins(host, own, item)
        made = Accumulator(bins, True, update_directly, bins.arrays)
        if item.operator is None:
            made = Accumulator(bins, False, overwrite)
        host.accumulators[root] = made
        outputs.append((own, bins))
    with PREPARE_ACCUMULATORS[host.schedule](host, roots):
        host.statements_of(exp.function.body.statements)
    for bound, atom in zip(arrays, exp.function.body.result, strict=True):
        host.bind(bound, VALUE_ON_HOST(host, atom))
    for own, bins in outputs:
        host.bind_all(own, bins.arrays)
    for root in roots:
        del host.accumulators[root]


def _bins(host: HostBuilder, pattern: list[Param], item: AccInput) -> Bins:
    """The memory of the results, with what is there to start with."""
    found = []
    for bound, name in zip(pattern, item.arrays, strict=True):
        array = host.array(name)
        in_place = bound.name in host.facts.in_place.updates
        found.append(array if in_place else host.copied(array))
    operator = item.operator or Lambda((), Body((), ()), ())
    bins = kernels.SegHistOp(item.shape, item.arrays, item.neutral, operator)
    return Bins(bins, tuple(found), host.sizes(item.shape))


def lower_update(k: KernelBuilder, _: Stm, exp: UpdateAcc) -> None:
    """One update, in the way that is set for the accumulator."""
    accumulator = k.host.accumulators[exp.accumulator]
    k.restored.update(dict.fromkeys(accumulator.shared))
    indices = [k.atom(atom) for atom in exp.indices]
    values = [k.atom(atom) for atom in exp.values]
    accumulator.update(k, bin_update(k, accumulator.bins, indices, values))


def lower_host_update(host: HostBuilder, stm: Stm, exp: UpdateAcc) -> None:
    """One update from the host: a kernel of one work-item."""
    host.each("update", (sizes.ONE,), lambda k, _: lower_update(k, stm, exp))


def update_directly(k: KernelBuilder, at: BinUpdate) -> None:
    """Combine, without regard to others."""
    where = tuple(k.as_size(index, "bin") for index in at.at)
    with k.branch(at.inside):
        update_bin(k, at.bins.operator, at.bins.rows(where), at.values)


def overwrite(k: KernelBuilder, at: BinUpdate) -> None:
    """Write the values over what was there."""
    where = tuple(k.as_size(index, "bin") for index in at.at)
    with k.branch(at.inside):
        for array, value in zip(at.bins.arrays, at.values, strict=True):
            k.write(array, where, value)


@contextmanager
def instead(host: HostBuilder, others: Mapping[Name, Accumulator]) -> Iterator[None]:
    """Do updates of some accumulators in another way."""
    before = {root: host.accumulators[root] for root in others}
    host.accumulators.update(others)
    try:
        yield
    finally:
        host.accumulators.update(before)


def combined_directly(host: HostBuilder, node: object) -> list[Name]:
    """The roots of the accumulators that something inside would combine with values
    without regard to others."""
    roots = [n.accumulator for n in search.nodes_of(UpdateAcc, node)]
    return [
        root
        for root in dict.fromkeys(roots)
        if host.accumulators[root].update is update_directly
    ]
