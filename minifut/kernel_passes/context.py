"""The context of rules for kernel code: the builder of the kernel.

    outcome = if_convert_branch(branch, CodeContext(k))

Rules are applied where kernel code is made. Their docstrings show kernel code as it is
printed, for four lanes. They are recorded under the statement of the core that is being
lowered.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from minifut.ir.node import mutable
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.rewrite.rule import Declined, Rule
from minifut.rewrite.trace import Derivation

LOCALITY = "Locality of reference (slides)"
MASKS = "Whole-function vectorization"

KernelOutcome: TypeAlias = tuple[kc.Statement, ...] | Declined | None
"""of a rule for statements of kernel code"""


@mutable
class CodeContext:
    """Statements of a kernel, in the code of a builder."""

    k: CodeBuilder

    @property
    def derivation(self) -> Derivation | None:
        return self.k.derivation


def rewritten(
    rule: Rule, node: Any, context: CodeContext
) -> tuple[kc.Statement, ...] | None:
    """The statements of a rule; None if it declines or is not for such a node."""
    outcome = rule(node, context)
    return outcome if isinstance(outcome, tuple) else None


def rewritten_or_comment(
    rule: Rule, node: Any, context: CodeContext
) -> tuple[kc.Statement, ...] | None:
    """The statements of a rule; None if it declines, with the reason as a comment in
    the code."""
    outcome = rule(node, context)
    if isinstance(outcome, tuple):
        return outcome
    assert isinstance(outcome, Declined)
    context.k.emit(kc.Comment(f"no {rule.name}: {outcome.reason}"))
    return None
