"""`Exp`: all expressions, of the core and of its dialects, as one union.

A `match` over it can be exhaustive. Which of them a program may contain, and where, is
said by its `Dialect`. The classes of `ir.core` know it for their annotations only.
"""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import (
    Apply,
    ArrayLiteral,
    Assert,
    Concat,
    Copy,
    If,
    Index,
    Iota,
    Loop,
    Manifest,
    Match,
    Opaque,
    Rearrange,
    Replicate,
    Reshape,
    ScalarOp,
    Scratch,
    SizeExp,
    Trace,
    Update,
)
from minifut.ir.derivatives import CustomVjp, Jvp, Vjp
from minifut.ir.kernels import (
    AtLeast,
    CollectiveCopy,
    GetParameter,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
)
from minifut.ir.soacs import Hist, Scatter, Screma

CoreExp: TypeAlias = (
    Copy | ScalarOp | SizeExp | Index | Update | Iota | Replicate | Scratch
    | ArrayLiteral | Rearrange | Reshape | Concat | Manifest | If | Match | Loop
    | Apply | Assert | Trace | Opaque
)  # fmt: skip
SegOp: TypeAlias = SegMap | SegRed | SegScan | SegHist
Exp: TypeAlias = (
    CoreExp | WithAcc | UpdateAcc | Screma | Scatter | Hist | Jvp | Vjp | CustomVjp
    | SegOp | GetParameter | AtLeast | CollectiveCopy
)  # fmt: skip
