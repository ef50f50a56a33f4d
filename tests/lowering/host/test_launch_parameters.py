"""Which parameters shape a launch by what the host computes from them."""

from __future__ import annotations

from minifut.ir.core import Constant, SizeExp
from minifut.ir.kernels import AtLeast, GetParameter, Parameter
from minifut.ir.sizes import Size, ceil_div
from minifut.ir.types import BOOL, I64
from minifut.kernel_ir import nodes as kc
from minifut.lowering.host.launch_parameters import launch_parameters
from minifut.names import NameSource

DEFAULTS = (("cpu", 4), ("gpu", 4))


def test_sizes_are_followed_through_assignments_branches_and_loops() -> None:
    names = NameSource()
    rows, depth, even, carried, other, test, n, i = (
        names.fresh(base)
        for base in ("rows", "depth", "even", "carried", "other", "test", "n", "i")
    )

    def parameter(name: str) -> GetParameter:
        return GetParameter(Parameter(name, "tile_size", DEFAULTS))

    def launched(kernel: str, argument: Size) -> kc.Launch:
        return kc.Launch(kernel, (Size.constant(1),), (), (argument,))

    divided = launched("divided", Size.of(even))
    swapped = launched("swapped", Size.of(carried))
    plain = launched("plain", Size.of(n))
    threshold = AtLeast(Size.of(n), Parameter("wide", "threshold", DEFAULTS))
    loop = kc.HostFor(
        i,
        n,
        kc.HostBlock((swapped, kc.HostMove((carried,), (other,)))),
    )
    body = kc.HostBlock(
        (
            kc.HostAssign(rows, parameter("rows"), I64),
            kc.HostAssign(depth, parameter("depth"), I64),
            kc.HostAssign(even, SizeExp(ceil_div(Size.of(n), Size.of(rows))), I64),
            kc.HostAssign(test, threshold, BOOL),
            kc.HostMove((carried, other), (Constant(1, I64), depth)),
            kc.HostIf(test, kc.HostBlock((divided,)), kc.HostBlock((loop, plain))),
        )
    )
    function = kc.HostFunction(names.fresh("main"), (n,), body, ())
    found = launch_parameters([function])
    assert found["divided"] == {"rows"}
    assert found["swapped"] == {"depth"}, "from the second round on"
    assert found["plain"] == frozenset(), "its threshold only guards it"
