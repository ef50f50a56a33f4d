"""The default thresholds of versions, per kind of device.

A GPU wants tens of thousands of points, and a work-group is busy from a few hundred.

For CPU devices they come from measurements (PoCL, two cores, f32, rows of 32 to 2^18
elements; time of the outer version over that of the last one, least of nine runs in
turns):

    a reduction, then a map      0.6-0.8    one pass less over memory
    scans, 4 to 2^14 points      1.1-5      a segmented scan is vectorised, one of a
    scans, 2^17 points or more   0.4-0.8    thread is not; short rows end that
    a loop of maps               0.1-0.3    every round would be several launches

So a CPU is busy with a few points for each core, except that scans are flattened up to
2^17 points. Where the last version is just one segmented operation, that one shares
itself out well in any shape. Groups were at 0.9-1.1 of the outer version where they
fit in a cache, and far slower with short rows: on a CPU they are left to be asked for.
A fold runs in chunks of many thousand points on a CPU, too: fewer heavy points than
that are better mapped first.
"""

from __future__ import annotations

from minifut.ir.kernels import NEVER

ALWAYS = 0
CPU_BUSY = 4
CPU_SHORT_ROWS = 1 << 17
GPU_BUSY = 1 << 15
GROUP_BUSY = 256

FOLD_DEFAULTS = (GPU_BUSY, GPU_BUSY)
INTRA_DEFAULTS = (NEVER, GROUP_BUSY)


def outer_defaults(
    one_operation: bool, loop_on_host: bool, scans: bool
) -> tuple[int, int]:
    """For a CPU and a GPU: whether all parallelism is one segmented operation, and
    whether it needs a loop of the host or has scans."""
    if loop_on_host:
        return ALWAYS, GPU_BUSY
    if one_operation:
        return NEVER, GPU_BUSY
    return CPU_SHORT_ROWS if scans else CPU_BUSY, GPU_BUSY
