"""`Exp`: all expressions, of the core and of its dialects, as one union.

A `match` over it can be exhaustive. Which of them a program may contain, and where, is
said by its `Dialect`. The classes of `ir.core` know it for their annotations only.
"""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir import core, kernels, soacs
from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.derivatives import CustomVjp, Jvp, Vjp

CoreExp: TypeAlias = (
    core.Copy | core.ScalarOp | core.SizeExp | core.Index | core.Update | core.Iota
    | core.Replicate | core.Scratch | core.ArrayLiteral | core.Rearrange | core.Reshape
    | core.Concat | core.Manifest | core.If | core.Match | core.Loop | core.Apply
    | core.Assert | core.Trace | core.Opaque
)  # fmt: skip
SegOp: TypeAlias = kernels.SegMap | kernels.SegRed | kernels.SegScan | kernels.SegHist
Exp: TypeAlias = (
    CoreExp | WithAcc | UpdateAcc | soacs.Screma | soacs.Scatter | soacs.Hist
    | Jvp | Vjp | CustomVjp | SegOp
    | kernels.GetParameter | kernels.AtLeast | kernels.CollectiveCopy
)  # fmt: skip
