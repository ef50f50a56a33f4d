"""The pass: derivatives are removed from the inside out.

A derivative whose function holds no other is replaced by the statements of a sweep; the
program is simplified, and those around it are next. So the tangents of an inner one are
plain variables to an outer one, and cannot be confused with its own.
(Siskind, Pearlmutter: "Nesting forward-mode AD in a functional framework", 2008.)
"""

from __future__ import annotations

from minifut.ir.core import Program
from minifut.ir.derivatives import DERIVATIVE_EXPRESSIONS
from minifut.ir.search import contains
from minifut.names import NameSource
from minifut.rewrite.trace import Trace


def differentiate(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Replace derivatives of functions by what computes them."""
    if not has_derivatives(program):
        return program
    from minifut.passes.differentiate.removal import remove_derivatives

    return remove_derivatives(program, names, trace)


def has_derivatives(node: object) -> bool:
    """Whether there is one anywhere inside."""
    return contains(node, DERIVATIVE_EXPRESSIONS)
