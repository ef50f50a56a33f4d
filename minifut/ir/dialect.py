"""Dialects: which expressions a program may contain, and where.

`DIFFERENTIABLE` is what elaboration gives: SOACs and derivatives of lambdas.
`KERNELS` is declared as a difference from `SOACS`: it adds the segmented operations and
thresholds, and SOACs and collective copies may occur only inside the bodies of
segmented operations and in functions called there.
"""

from __future__ import annotations

from minifut.ir.accumulators import ACCUMULATOR_EXPRESSIONS
from minifut.ir.core import CORE_EXPRESSIONS, Program
from minifut.ir.derivatives import DERIVATIVE_EXPRESSIONS
from minifut.ir.kernels import GROUP_EXPRESSIONS, KERNEL_EXPRESSIONS, GetParameter
from minifut.ir.node import immutable
from minifut.ir.soacs import SOAC_EXPRESSIONS


@immutable
class Dialect:
    """`expressions` are allowed anywhere, `inside` only in bodies of segmented
    operations."""

    name: str
    expressions: frozenset[type]
    inside: frozenset[type] = frozenset()

    def __str__(self) -> str:
        return self.name

    def verify(self, program: Program, verified: object = None) -> None:
        """Raise an `InternalError` unless the program is well formed."""
        del verified  # types and sizes of a function depend on the others
        from minifut.ir.verify import verify

        verify(program, self)

    def show(self, program: Program) -> str:
        """The printed program."""
        from minifut.ir.printer import show

        return show(program)

    def allows(self, expression: type, in_kernel: bool) -> bool:
        """Whether an expression of that class may occur there."""
        return expression in self.expressions or (
            in_kernel and expression in self.inside
        )


SOACS = Dialect(
    "Soacs",
    frozenset(
        (*CORE_EXPRESSIONS, *ACCUMULATOR_EXPRESSIONS, *SOAC_EXPRESSIONS, GetParameter)
    ),
)
DIFFERENTIABLE = Dialect(
    "Differentiable", SOACS.expressions | frozenset(DERIVATIVE_EXPRESSIONS)
)
KERNELS = Dialect(
    "Kernels",
    (SOACS.expressions - frozenset(SOAC_EXPRESSIONS)) | frozenset(KERNEL_EXPRESSIONS),
    inside=frozenset(SOAC_EXPRESSIONS + GROUP_EXPRESSIONS),
)
