"""The default thresholds of versions, per kind of device.

A GPU wants tens of thousands of points, and a work-group is busy from a few hundred. A
CPU is busy with a few points for each core, and array expansion costs it memory
traffic; but where the last version is just one segmented operation, that one shares
itself out well in any shape, so it is taken. With a loop moved to the host each round
is at least one launch, so on a CPU that is left to be asked for.
"""

from __future__ import annotations

from minifut.passes.flatten.version_names import NEVER

ALWAYS = 0
CPU_BUSY = 4
GPU_BUSY = 1 << 15
GROUP_BUSY = 256

INTRA_DEFAULTS = (NEVER, GROUP_BUSY)


def outer_defaults(one_operation: bool, loop_on_host: bool) -> tuple[int, int]:
    """For a CPU and a GPU: whether all parallelism is one segmented operation, and
    whether it needs a loop of the host."""
    if loop_on_host:
        return ALWAYS, GPU_BUSY
    return NEVER if one_operation else CPU_BUSY, GPU_BUSY
