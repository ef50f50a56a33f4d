"""`minifut devices`: what there is to run on."""

from __future__ import annotations

import click

from minifut.errors import UsageError


@click.command("devices")
def command() -> None:
    """List the OpenCL devices; the one used by default has a star."""
    from minifut.opencl.runtime.device import INSTALL_HINT, list_devices, open_device

    devices = list_devices()
    if not devices:
        raise UsageError(f"no OpenCL device was found; {INSTALL_HINT}")
    default, problem = -1, None
    try:
        default = open_device(None).number
    except UsageError as error:
        problem = error
    for device in devices:
        star = "*" if device.number == default else " "
        click.echo(f"{star} #{device.number}  {device}")
        click.echo(
            f"       {device.kind} schedule, {device.cores} cores, "
            f"{device.memory / (1 << 30):.1f} GiB, "
            f"local memory {device.local_memory >> 10} KiB, {device.version}"
        )
    if problem is not None:  # the device that $MINIFUT_DEVICE requires is missing
        raise problem
