"""Accumulators under the GPU schedule: atomic updates of cells in global memory.

    update_acc(a, (i), (v))     if (0 <= i < k) atomic_add(a + i, v)

Cells that are more than one word, or whose words are not the values, are in word arrays
while there is the accumulator (`atomic_cells`). Operators on arrays are left to the
chunks and copies of `accumulators.cpu`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.lowering.seghist import gpu_targets
from minifut.lowering.seghist.histograms import BinUpdate
from minifut.lowering.threads.builder import KernelBuilder
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


@contextmanager
def prepared(host: HostBuilder, roots: list[Name]) -> Iterator[None]:
    """Cells in the place of arrays as long as there are accumulators."""
    targets = []
    for root in roots:
        accumulator = host.accumulators[root]
        if accumulator.combines and accumulator.bins.is_scalar:
            target = gpu_targets.target_of(host, accumulator.bins)
            targets.append(target)
            gpu_targets.convert_words(host, target, back=False)
            shared = target.words or accumulator.shared
            atomically = replace(accumulator, update=_Atomically(target), shared=shared)
            host.accumulators[root] = atomically
    yield
    for target in targets:
        gpu_targets.convert_words(host, target, back=True)


class _Atomically:
    """One update of a cell in one step."""

    def __init__(self, target: gpu_targets.Target) -> None:
        self.target = target

    def __call__(self, k: KernelBuilder, at: BinUpdate) -> None:
        with gpu_targets.each_cell(k, at) as (where, values):
            self.target.cells.update(k, self.target.places(k, (), where), values)
