"""Passes over kernel code: a list for each schedule, with the reasons for its order.

    after = run_steps(FOR_SCHEDULE["cpu"], program, names)

Lowering comes before them, printing as OpenCL C after them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from minifut.kernel_ir.verify import KERNEL_CODE
from minifut.kernel_passes.barriers import hide_before_barriers
from minifut.kernel_passes.contract import contract_multiply_adds
from minifut.kernel_passes.convert_chains import convert_chains
from minifut.kernel_passes.convert_unpredictable import convert_in_scalar_loops
from minifut.kernel_passes.deduplicate import deduplicate
from minifut.kernel_passes.device_scalars import keep_scalars_on_device
from minifut.kernel_passes.drop_fills import drop_fills
from minifut.kernel_passes.editor import KernelEditor, each_kernel
from minifut.kernel_passes.insert_barriers import insert_barriers
from minifut.kernel_passes.interchange_folds import interchange_folds
from minifut.kernel_passes.keep_rows import keep_rows
from minifut.kernel_passes.keep_scalar import keep_gathers_of_bytes_scalar
from minifut.kernel_passes.narrow import narrow_indices
from minifut.kernel_passes.prefetch import prefetch_streams
from minifut.kernel_passes.prefetch_blocks import prefetch_streaming_loops
from minifut.kernel_passes.row_pointers import point_to_rows
from minifut.kernel_passes.spill import spill
from minifut.kernel_passes.split_inner_loops import split_loops_inside
from minifut.kernel_passes.split_wrapping import split_wrapping_loops
from minifut.kernel_passes.unroll import unroll_full_blocks
from minifut.kernel_passes.vectorise.point_loops import vectorise_points
from minifut.passes.pipeline import Pass


def _in_each_kernel(name: str, change: Callable[[KernelEditor], None]) -> Pass:
    return Pass(name, each_kernel(change), KERNEL_CODE, KERNEL_CODE)


INSERT_BARRIERS = _in_each_kernel("insert-barriers", insert_barriers)
DROP_FILLS = _in_each_kernel("drop-fills", drop_fills)
INTERCHANGE_FOLDS = _in_each_kernel("interchange-folds", interchange_folds)
KEEP_ROWS = _in_each_kernel("keep-rows", keep_rows)
SPLIT_LOOPS = _in_each_kernel("split-loops", split_loops_inside)
SPLIT_WRAPPING = _in_each_kernel("split-wrapping", split_wrapping_loops)
VECTORISE = _in_each_kernel("vectorise", vectorise_points)
IF_CONVERT = _in_each_kernel("if-convert", convert_in_scalar_loops)
CONVERT_CHAINS = _in_each_kernel("convert-chains", convert_chains)
KEEP_SCALAR = _in_each_kernel("keep-scalar", keep_gathers_of_bytes_scalar)
PREFETCH = _in_each_kernel("prefetch", prefetch_streams)
PREFETCH_BLOCKS = _in_each_kernel("prefetch-blocks", prefetch_streaming_loops)
ROW_POINTERS = _in_each_kernel("row-pointers", point_to_rows)
CONTRACT = _in_each_kernel("contract", contract_multiply_adds)
UNROLL = _in_each_kernel("unroll", unroll_full_blocks)
HIDE_BEFORE_BARRIERS = _in_each_kernel("hide-before-barriers", hide_before_barriers)
DEVICE_SCALARS = Pass(
    "device-scalars", keep_scalars_on_device, KERNEL_CODE, KERNEL_CODE
)
DEVICE_CONDITIONS = Pass(
    "device-conditions",
    partial(keep_scalars_on_device, conditions=True),
    KERNEL_CODE,
    KERNEL_CODE,
    "leave scalars on the device, and of loops whether they go on",
)
NARROW = Pass(
    "narrow",
    narrow_indices,
    KERNEL_CODE,
    KERNEL_CODE,
    "give kernels a version with indices of 32 bits, for sizes that allow it",
)
DEDUPLICATE = Pass(
    "deduplicate",
    deduplicate,
    KERNEL_CODE,
    KERNEL_CODE,
    "keep one of kernels that differ only in names",
)
SPILL = Pass(
    "spill",
    spill,
    KERNEL_CODE,
    KERNEL_CODE,
    "give launches with global memory for local arrays a kernel of their own",
)

FOR_SCHEDULE: dict[str, tuple[Pass, ...]] = {
    "cpu": (
        # first: the other passes have fewer kernels to change
        DEDUPLICATE,
        # no other pass has to know of parallel regions
        INSERT_BARRIERS,
        # before loops are copied
        DROP_FILLS,
        # of rows that are not kept private
        INTERCHANGE_FOLDS,
        # before vectors, which have a private array's elements side by side
        KEEP_ROWS,
        # those over the points of kernels are split when they are lowered
        SPLIT_LOOPS,
        # early: in the loops that it makes, more accesses are ones of whole vectors
        SPLIT_WRAPPING,
        # early: a loop over points has other accesses when it is one over vectors
        VECTORISE,
        # of loops of which the device's compiler makes vectors
        CONVERT_CHAINS,
        # vectors have their own; of what is left scalar
        IF_CONVERT,
        # of loops that are not explicit vectors
        KEEP_SCALAR,
        # of what is left scalar; in vectors a prefetch would be requested by each lane
        PREFETCH,
        # of vectors, too
        PREFETCH_BLOCKS,
        # after the passes that look for loads of one memory
        ROW_POINTERS,
        # after the passes that take a parameter for the same in all lanes; conditions
        # too: what the device does again by itself is a batch of threads of processors
        DEVICE_CONDITIONS,
        # late: a hidden value is one that no pass can say anything of
        HIDE_BEFORE_BARRIERS,
        # again: kernels have been copied, and what differed may be gone
        DEDUPLICATE,
        # last: it makes two of a kernel
        SPILL,
    ),
    # the work-items of a group are its vectors, and hide each other's waiting; their
    # compilers contract nothing by themselves, while that of PoCL does
    "gpu": (
        DEDUPLICATE,
        INSERT_BARRIERS,
        CONTRACT,
        UNROLL,
        DEVICE_SCALARS,
        HIDE_BEFORE_BARRIERS,
        DEDUPLICATE,
        # last: it makes two of each kernel
        NARROW,
    ),
}
ALL_PASSES = tuple(dict.fromkeys((*FOR_SCHEDULE["cpu"], *FOR_SCHEDULE["gpu"])))
