"""The numbers that shape performance: their values for one loaded program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from minifut.errors import ParameterError, UsageError
from minifut.opencl.runtime.describe import Parameter
from minifut.suggestions import nearest_or_all

if TYPE_CHECKING:
    from minifut.opencl.runtime.device import Device

LOCAL_MEMORY = "device.local_memory"
"""the parameter that stands for the bytes of local memory of the device"""
SUBGROUP = "device.subgroup"
"""the parameter that stands for the work-items that exchange words by shuffles"""
CPU_TILE_BYTES = 15 << 16
"""of local memory that default tiles of a CPU take (`passes.tiling.parameters`)"""


def on_device(parameter: Parameter, device: Device) -> Parameter:
    """The parameter with the defaults of the device's family, and the bounds that the
    device sets."""
    default = parameter.defaults.get(device.family)
    if device.kind == "cpu" and parameter.kind == "tile_side":
        side = parameter.defaults.get("cpu", 1) if default is None else default
        default = _fitting(side, device)
    if default is not None:
        own = {device.kind: default}
        parameter = parameter._replace(defaults={**parameter.defaults, **own})
    if parameter.kind != "group_size" or parameter.bounds is None:
        return parameter
    low, high = parameter.bounds
    most = min(high, device.group_size)
    defaults = {kind: min(value, most) for kind, value in parameter.defaults.items()}
    return parameter._replace(bounds=(low, most), defaults=defaults)


def _fitting(side: int, device: Device) -> int:
    """The side of a tile, halved until tiles fit the second-level cache of a CPU, which
    is its local memory: without, a product would be left to a version without tiles."""
    nbytes = CPU_TILE_BYTES
    while nbytes > device.local_memory and side > 1:
        side, nbytes = side // 2, nbytes // 2
    return side


def parameter_values(
    table: Sequence[Parameter],
    kind: str,
    wanted: Mapping[str, int],
    limits: Mapping[str, int] = MappingProxyType({}),
) -> list[int]:
    """The value of each parameter: the wanted one, or the default for the device; for
    those of kind "limit" what the device has.

    Unknown names and values out of bounds are errors that say what would do.
    """
    names = [p.name for p in table]
    for name, value in wanted.items():
        if name not in names:
            advice = nearest_or_all(name, names)
            raise UsageError(f"unknown parameter '{name}'; {advice}")
        _check_bounds(table[names.index(name)], value)
    known = {**wanted, **limits}
    return [int(known.get(p.name, p.defaults.get(kind, 1))) for p in table]


def changed_parameters(
    table: Sequence[Parameter], kind: str, wanted: Mapping[str, int]
) -> frozenset[str]:
    """The names of those that are not to have their defaults."""
    return frozenset(
        p.name
        for p in table
        if p.name in wanted and wanted[p.name] != p.defaults.get(kind, 1)
    )


def _check_bounds(parameter: Parameter, value: int) -> None:
    if parameter.kind == "limit":
        message = f"'{parameter.name}' is a limit of the device, not to be set"
        raise ParameterError(parameter.name, message)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"parameter '{parameter.name}' must be an integer: {value!r}")
    if parameter.bounds is not None:
        low, high = parameter.bounds
        if not low <= value <= high:
            why = ", the most work-items of a group on this device"
            why = why if parameter.kind == "group_size" and value > high else ""
            raise ParameterError(
                parameter.name,
                f"parameter '{parameter.name}' must be from {low} to {high}{why}: "
                f"{value}",
            )
