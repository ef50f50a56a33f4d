"""Kernels whose rounds the device's compiler does in vectors, instead of their points.

    segmap grid (i < n) {.. #[reduction] loop for k < m { s + a[i, k] } ..}

Where each innermost loop only collects values by operators that may be reordered, whole
vectors of a row are read: no lanes need a copy of the array in which neighbouring rows
are side by side. `vectorise.rows` leaves such rows to the device's compiler. Nor do
they where each round of a loop needs the one before: they read squares of such rows
(`vectorise.row_squares`), which takes a quarter of the time of a copy and its reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.analysis.steps import is_plain
from minifut.ir import core, scalar_opencl, types
from minifut.ir.core import Constant, ForLoop, ScalarOp, Stm
from minifut.ir.search import nodes_of
from minifut.ir.traverse import free_names, walk
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.passes.layout.accesses import SegmentedOperation

MANY_ROUNDS = 32
"""two squares of lanes"""
FLOATS = ("add", "mul")
"""those by which the device's compiler folds floats in vectors: not by "min" and "max",
because of NaN"""


def folds_in_vectors(kernel: SegmentedOperation) -> bool:
    """Whether there are loops, the innermost of which are all such folds."""
    loops = [
        node for node in nodes_of(Stm, kernel.body) if isinstance(node.exp, core.Loop)
    ]
    innermost = [loop for loop in loops if not _has_loop(loop.exp)]
    return bool(innermost) and all(map(_folds_in_any_order, innermost))


def waits(statement: Stm) -> bool:
    """Whether each round of a loop computes something of what the one before did:
    lanes traverse rows then (`vectorise.rows`), in squares if there are many rounds."""
    loop = statement.exp
    if not isinstance(loop, core.Loop) or not isinstance(loop.form, ForLoop):
        return False
    bound, body = loop.form.bound, loop.body.statements
    if isinstance(bound, Constant) and bound.value < MANY_ROUNDS:
        return False
    if not all(map(_is_in_lanes, body)):
        return False
    made = {p.name: s for s in body for p in s.pattern}
    for parameter, result in zip(loop.parameters, loop.body.result, strict=True):
        uses = [s for s in body if parameter.name in free_names(s)]
        if isinstance(result, Name) and result in made and uses:
            last = made[result]
            reduces = "reduction" in statement.attributes
            alone = uses == [last] and _reorders(last, parameter.name, reduces)
            if not alone and _computes(last, parameter.name):
                return True
    return False


def _is_in_lanes(statement: Stm) -> bool:
    """Whether lanes do it, perhaps some of them."""
    if isinstance(statement.exp, core.If):
        branches = statement.exp.then, statement.exp.otherwise
        return all(_is_in_lanes(s) for branch in branches for s in branch.statements)
    return is_plain(statement)


def _computes(statement: Stm, name: Name) -> bool:
    """Whether a value is not only selected, as greatest elements are: by an operator,
    in a branch of one that has a variable for an operand."""
    exp = statement.exp
    return isinstance(exp, ScalarOp) or any(
        node.exp.operator.result != types.BOOL
        for node in nodes_of(Stm, exp)
        if isinstance(node.exp, ScalarOp) and name in node.exp.operands
    )


def _reorders(statement: Stm, name: Name, reduces: bool) -> bool:
    """Whether a variable collects a value by an operator that may be reordered, of
    floats in a reduction."""
    exp = statement.exp
    return (
        isinstance(exp, ScalarOp)
        and exp.operands.count(name) == 1
        and exp.operator.name in scalar_opencl.REORDERED
        and (reduces or not exp.operator.result.is_float)
    )


def _has_loop(loop: core.Exp) -> bool:
    return any(node is not loop and isinstance(node, core.Loop) for node in walk(loop))


def _folds_in_any_order(statement: Stm) -> bool:
    loop = statement.exp
    if not isinstance(loop, core.Loop) or not isinstance(loop.form, ForLoop):
        return False
    bound, body = loop.form.bound, loop.body.statements
    if isinstance(bound, Constant) and bound.value <= scalar_opencl.FEW_ROUNDS:
        return False
    if not all(is_plain(s) and not _calls(s) for s in body):
        return False
    made = {s.pattern[0].name: s for s in body}
    reduces = "reduction" in statement.attributes
    return all(
        isinstance(result, Name)
        and result in made
        and _collects(made[result], parameter.name, reduces)
        and [s for s in body if parameter.name in free_names(s)] == [made[result]]
        for parameter, result in zip(loop.parameters, loop.body.result, strict=True)
    )


def _calls(statement: Stm) -> bool:
    """Whether it calls a function, of which only explicit vectors are made."""
    exp = statement.exp
    return isinstance(exp, ScalarOp) and scalar_opencl.calls_library(exp.operator)


def _collects(statement: Stm, name: Name, reduces: bool) -> bool:
    """Whether a variable collects a value by an operator that may be reordered."""
    exp = statement.exp
    if not isinstance(exp, ScalarOp) or exp.operands.count(name) != 1:
        return False
    operator = exp.operator
    if operator.result.is_float:
        return reduces and operator.name in FLOATS
    return operator.result.is_integer and operator.name in scalar_opencl.REORDERED
