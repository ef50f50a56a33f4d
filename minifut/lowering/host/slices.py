"""Slices of arrays of the host, and results of kernels that are made in one.

xs[1:n]                         a view of the memory of xs
all with [1:n] = segmap ..      the kernel writes into that view of `all`
(segscan ..)[last :+ n by -1]   the kernel writes from the end of its memory
"""

from __future__ import annotations

from minifut.ir.core import Param, Update
from minifut.ir.traverse import free_names
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array


def destination(host: HostBuilder, bound: Param) -> Array | None:
    """The slice that a result is to become, if an update in place says so and all that
    it mentions is there already."""
    statement = host.placements.slices.get(bound.name)
    if (
        statement is None
        or statement.pattern[0].name not in host.facts.in_place.updates
    ):
        return None
    update = statement.exp_of(Update)
    if not free_names(update) - {bound.name} <= host.values.keys():
        return None
    return host.array(update.array).sliced(update.slice, host.index, host.size)


def scanned_array(host: HostBuilder, bound: Param, memory: Array) -> Array:
    """Whole memory for a result of a scan, or the view of which the reversal that is
    all that uses the result gives the whole memory."""
    reversal = host.placements.scans.get(bound.name)
    if reversal is None or free_names(reversal) - {bound.name} - host.values.keys():
        return memory
    return memory.sliced(reversal.slice, host.index, host.size)


def is_unused(host: HostBuilder, bound: Param) -> bool:
    """Whether nothing uses a result of a scan."""
    return host.placements.scans.get(bound.name, ()) is None
