"""`#[attribute] e`.

    unsafe           nothing in e is checked
    trace, opaque    every leaf passes through a `Trace`, `Opaque`
    others           go to the statements that e makes at this level
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend import syntax
from minifut.frontend.elaborate import intrinsics
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.values import Value

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
    if name in ("break", "scratch"):
        return plain(exp.value, env, work)
    with work.attributed((show(exp.attribute),)):
        return plain(exp.value, env, work)


def show(attribute: syntax.Attribute) -> str:
    """An attribute as text: `name`, `name(a,b)`."""
    if attribute.arguments is None:
        return str(attribute.name)
    inner = ",".join(show(a) for a in attribute.arguments)
    return f"{attribute.name}({inner})"
