"""`#[attribute] e`.

unsafe           nothing in e is checked
trace, opaque    every leaf passes through a `Trace`, `Opaque`
scratch          only the shape of e is made; the contents are unspecified
others           go to the statements that e makes at this level
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend import syntax
from minifut.frontend.elaborate import intrinsics
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.values import Leaf, Value, map_leaves
from minifut.ir import core
from minifut.ir.types import ArrayType

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def evaluate(exp: syntax.Attributed, env: Environment, work: Work) -> Value:
    """See the module."""
    from minifut.frontend.elaborate.expressions import evaluate as plain

    name = exp.attribute.name
    if name == "unsafe":
        with work.without_checks():
            return plain(exp.value, env, work)
    if name == "trace":
        label = exp.location.text() if not exp.attribute.arguments else ""
        for argument in exp.attribute.arguments or ():
            label = str(argument.name)
        return intrinsics.trace(work, plain(exp.value, env, work), label)
    if name == "opaque":
        return intrinsics.opaque(work, plain(exp.value, env, work))
    if name == "scratch":
        with work.nested():
            value = plain(exp.value, env, work)
        return scratch(work, value)
    if name == "break":
        return plain(exp.value, env, work)
    shown = show(exp.attribute)
    if shown == "warn(safety_checks)":
        before, work.warns_of_checks = work.warns_of_checks, True
        result = plain(exp.value, env, work)
        work.warns_of_checks = before
        return result
    with work.attributed((shown,)):
        return plain(exp.value, env, work)


def scratch(work: Work, value: Value) -> Value:
    """Arrays of the same shapes with unspecified contents."""

    def change(leaf: Leaf) -> Leaf:
        if not isinstance(leaf.type, ArrayType):
            return leaf
        return work.leaf(core.Scratch(leaf.type.element, leaf.type.shape), "scratch")

    return map_leaves(value, change)


def show(attribute: syntax.Attribute) -> str:
    """An attribute as text: `name`, `name(a,b)`."""
    if attribute.arguments is None:
        return str(attribute.name)
    inner = ",".join(show(a) for a in attribute.arguments)
    return f"{attribute.name}({inner})"
