"""`#[attribute] e`.

unsafe           nothing in e is checked
trace, opaque    every leaf passes through a `Trace`, `Opaque`
scratch          only the shape of e is made; the contents are unspecified
param(name)      the tuning parameter of that name if it is set (not 0), else e
others           go to the statements that e makes at this level
"""

from __future__ import annotations

from dataclasses import replace

from minifut.frontend import syntax
from minifut.frontend.elaborate import intrinsics
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.values import Leaf, Value, map_leaves, scalar
from minifut.frontend.elaborate.work import Work
from minifut.ir import core
from minifut.ir.kernels import GetParameter, Parameter
from minifut.ir.types import I64, ArrayType, ScalarType


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
    if name == "param" and len(exp.attribute.arguments or ()) == 1:
        value = plain(exp.value, env, work)
        return tunable(work, value, show(exp.attribute)[len("param(") : -1])
    shown = show(exp.attribute)
    if shown == "warn(safety_checks)":
        with work.under(replace(work.mode, warns_of_checks=True)):
            return plain(exp.value, env, work)
    with work.attributed((shown,)):
        return plain(exp.value, env, work)


def scratch(work: Work, value: Value) -> Value:
    """Arrays of the same shapes with unspecified contents."""

    def change(leaf: Leaf) -> Leaf:
        if not isinstance(leaf.type, ArrayType):
            return leaf
        return work.leaf(core.Scratch(leaf.type.element, leaf.type.shape), "scratch")

    return map_leaves(value, change)


def tunable(work: Work, value: Value, name: str) -> Value:
    """An integer, unless the tuning parameter says another."""
    type_ = value.type if isinstance(value, Leaf) else None
    if not isinstance(value, Leaf) or not isinstance(type_, ScalarType):
        raise work.unsupported("#[param] of anything but an integer is")
    if not type_.is_integer:
        raise work.unsupported(f"#[param] of {type_} is", "use an integer")
    parameter = Parameter(name, "choice", (("cpu", 0), ("gpu", 0)), None, "#[param]")
    with work.at_top():
        chosen = work.leaf(GetParameter(parameter), name)
        is_set = work.op("ne", chosen, scalar(core.Constant(0, I64), I64))
        chosen = work.convert(chosen, type_)
    taken, own = core.Body((), (chosen.atom,)), core.Body((), (value.atom,))
    return work.leaf(core.If(is_set.atom, taken, own), name)


def show(attribute: syntax.Attribute) -> str:
    """An attribute as text: `name`, `name(a,b)`."""
    if attribute.arguments is None:
        return str(attribute.name)
    inner = ",".join(show(a) for a in attribute.arguments)
    return f"{attribute.name}({inner})"
