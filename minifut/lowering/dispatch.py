"""What lowers an operation under a schedule: the one module that names all of them.

Lowering is recursive (hosts launch kernels that hold operations of groups, which
allocate memory of the host), so callers of these functions import this module when they
are called.
"""

from __future__ import annotations

from minifut.ir import kernels
from minifut.lowering.accumulators import cpu as accumulators_cpu
from minifut.lowering.accumulators import gpu as accumulators_gpu
from minifut.lowering.groups import cpu as groups_cpu
from minifut.lowering.groups import gpu as groups_gpu
from minifut.lowering.groups import gpu_code
from minifut.lowering.host import code as host_code
from minifut.lowering.host.on_host import run_on_host
from minifut.lowering.seghist import cpu as seghist_cpu
from minifut.lowering.seghist import gpu as seghist_gpu
from minifut.lowering.segmap import cpu as segmap_cpu
from minifut.lowering.segmap import gpu as segmap_gpu
from minifut.lowering.segmap import points
from minifut.lowering.segred import cpu as segred_cpu
from minifut.lowering.segred import gpu as segred_gpu
from minifut.lowering.segscan import cpu as segscan_cpu
from minifut.lowering.segscan import gpu as segscan_gpu
from minifut.lowering.segscan import scan_then_map
from minifut.lowering.threads import code as thread_code
from minifut.lowering.transposition import cpu as transposition_cpu
from minifut.lowering.transposition import gpu as transposition_gpu

HOST_RULES = host_code.RULES
"""what lowers each expression of the host"""
VALUE_ON_HOST = host_code.value_of
"""what an atom is bound to on the host"""
RUN_ON_HOST = run_on_host
"""the operation point by point, where no kernel can do it"""
THREAD_RULES = thread_code.RULES
"""what lowers each expression of a thread"""
RULES_OF_GROUPS = {"group": gpu_code.GROUP_RULES, "thread": gpu_code.THREAD_RULES}
"""what lowers each expression of a group of a GPU, and of one of its threads"""
LOWER = {
    (kernels.SegMap, "cpu"): points.lower,
    (kernels.SegMap, "gpu"): points.lower,
    (kernels.SegRed, "cpu"): segred_cpu.lower,
    (kernels.SegRed, "gpu"): segred_gpu.lower,
    (kernels.SegScan, "cpu"): segscan_cpu.lower,
    (kernels.SegScan, "gpu"): segscan_gpu.lower,
    (kernels.SegHist, "cpu"): seghist_cpu.lower,
    (kernels.SegHist, "gpu"): seghist_gpu.lower,
}
"""segmented operations at the level of the grid"""
LOWER_GROUPS = {"cpu": groups_cpu.lower, "gpu": groups_gpu.lower}
"""segmented operations at the level of groups"""
LAUNCH_NEST = {"cpu": segmap_cpu.launch_nest, "gpu": segmap_gpu.launch_nest}
"""kernels of nests of parallel loops"""
COPY_TRANSPOSED = {
    "cpu": transposition_cpu.copy_transposed,
    "gpu": transposition_gpu.copy_transposed,
}
"""copies that move another dimension innermost"""
PREPARE_ACCUMULATORS = {
    "cpu": accumulators_cpu.prepared,
    "gpu": accumulators_gpu.prepared,
}
"""what surrounds the updates of accumulators"""
LOWER_AFTER_SCAN = scan_then_map.lower
"""maps whose points see a scan"""
LOWER_PRIVATE_COPIES = accumulators_cpu.lower
"""maps whose updates go to copies of their own"""
