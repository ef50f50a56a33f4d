"""Passes over kernel code: a list for each schedule, with the reasons for its order.

    after = run_steps(FOR_SCHEDULE["cpu"], program, names)

Lowering comes before them, printing as OpenCL C after them.
"""

from __future__ import annotations

from minifut.kernel_ir.verify import KERNEL_CODE
from minifut.kernel_passes.barriers import hide_before_barriers
from minifut.kernel_passes.contract import contract_multiply_adds
from minifut.kernel_passes.deduplicate import deduplicate
from minifut.kernel_passes.editor import each_kernel
from minifut.kernel_passes.prefetch import prefetch_streams
from minifut.kernel_passes.unroll import unroll_full_blocks
from minifut.kernel_passes.vectorise.point_loops import vectorise_points
from minifut.passes.pipeline import Pass

VECTORISE = Pass(
    "vectorise",
    each_kernel(vectorise_points),
    KERNEL_CODE,
    KERNEL_CODE,
    "do several points of expensive loops at once, in explicit vectors",
    traced=True,
)
PREFETCH = Pass(
    "prefetch",
    each_kernel(prefetch_streams),
    KERNEL_CODE,
    KERNEL_CODE,
    "prefetch what loops with indirect accesses read one element after the other",
    traced=True,
)
CONTRACT = Pass(
    "contract",
    each_kernel(contract_multiply_adds),
    KERNEL_CODE,
    KERNEL_CODE,
    "contract multiplications and additions where float arithmetic allows it",
    traced=True,
)
UNROLL = Pass(
    "unroll",
    each_kernel(unroll_full_blocks),
    KERNEL_CODE,
    KERNEL_CODE,
    "unroll the steps of full blocks of register tiles",
    traced=True,
)
HIDE_BEFORE_BARRIERS = Pass(
    "hide-before-barriers",
    each_kernel(hide_before_barriers),
    KERNEL_CODE,
    KERNEL_CODE,
    "hide from PoCL what values have before barriers",
    traced=True,
)
DEDUPLICATE = Pass(
    "deduplicate",
    deduplicate,
    KERNEL_CODE,
    KERNEL_CODE,
    "keep one of kernels that differ only in names",
)

ALL_PASSES: tuple[Pass, ...] = (
    VECTORISE,
    PREFETCH,
    CONTRACT,
    UNROLL,
    HIDE_BEFORE_BARRIERS,
    DEDUPLICATE,
)

FOR_SCHEDULE: dict[str, tuple[Pass, ...]] = {
    "cpu": (
        # first: a loop over points has other accesses when it is one over vectors
        VECTORISE,
        # of what is left scalar; in vectors a prefetch would be asked for by each lane
        PREFETCH,
        # late: a hidden value is one that no pass can say anything of
        HIDE_BEFORE_BARRIERS,
        # last: what is the same then is the same for the device
        DEDUPLICATE,
    ),
    # the work-items of a group are its vectors, and hide each other's waiting; their
    # compilers contract nothing by themselves, while that of PoCL does
    "gpu": (CONTRACT, UNROLL, HIDE_BEFORE_BARRIERS, DEDUPLICATE),
}
