"""Blocks of threads as large as the parameters allow, but all of them about equal.

    n = 1024, a block of 42 x 6 rows:      252 252 252 252 16     the last group idles
                                           →   210 210 210 210 184

A size of a block that is nothing but a tuning parameter may be any number up to its
value, for the program has to be right for all of them. So the host lowers it when it
knows the total, and makes the groups as many as keep all cores busy to the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir import core, kernels
from minifut.ir.core import Atom
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, product
from minifut.ir.traverse import substitute
from minifut.ir.types import I64
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.kernel_code.lower_host import HostBuilder


def even_out(
    host: HostBuilder, operation: kernels.SegMap
) -> tuple[kernels.SegMap, frozenset[Name]]:
    """The operation with blocks that suit the totals of its results, and their
    names."""
    blocked = [
        result
        for result in operation.body.result
        if isinstance(result, kernels.RegTileReturns)
    ]
    if not blocked or len(blocked) != len(operation.body.result):
        return operation, frozenset()
    dimensions = blocked[0].dimensions
    names = [block.as_name for _, block, _ in dimensions]
    expected = tuple(
        ceil_div(total, block * register) for total, block, register in dimensions
    )
    adjustable = [
        name is not None and name in host.build_constants and names.count(name) == 1
        for name in names
    ]
    if operation.space.sizes != expected or not any(adjustable):
        return operation, frozenset()
    mapping: dict[Name, Atom] = {}
    groups = [host.let_size(host.size(size), "groups") for size in expected]
    first = adjustable.index(True)
    groups[first] = _enough(host, groups, first)
    for (total, _, register), name, count, wanted in zip(
        dimensions, names, groups, adjustable, strict=True
    ):
        if name is None or not wanted:
            continue
        threads = ceil_div(host.size(total), host.size(register))
        even = maximum(ONE, ceil_div(threads, maximum(ONE, count)))
        mapping[name] = host.scalar(core.SizeExp(even), I64, name.base)
    made = frozenset(name for name in mapping.values() if isinstance(name, Name))
    return substitute(operation, mapping), made


def _enough(host: HostBuilder, groups: list[Size], at: int) -> Size:
    """The number of groups along a dimension that gives every core as many."""
    others = maximum(ONE, product(tuple(groups[:at] + groups[at + 1 :])))
    cores = host.cores()
    whole = ceil_div(product(tuple(groups)), cores) * cores
    return host.let_size(ceil_div(whole, others), "groups")
