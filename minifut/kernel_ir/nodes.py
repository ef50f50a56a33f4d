"""KernelCode: a small statement language for kernels and for the host around them.

Kernel side: typed scalar variables (`VectorType` is a scalar type in 1, 2, 4, 8 or 16
lanes), loops, ifs, loads and stores, barriers, local and private arrays, atomics,
numbered failures. Host side: allocations, launches, copies, reads of one element, and
scalar statements.

Variables and memories are `Name`s; the printers find readable texts for them. All of it
is reached as `from minifut.kernel_ir import nodes as kc`.
"""

from __future__ import annotations

from minifut.kernel_ir.contents import *
from minifut.kernel_ir.expressions import *
from minifut.kernel_ir.host_statements import *
from minifut.kernel_ir.statements import *
from minifut.kernel_ir.synchronisation import *
