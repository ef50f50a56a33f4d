"""Sizes in type expressions: checked as expressions, anonymous ones made metas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend import syntax
from minifut.frontend.syntax.traverse import children
from minifut.frontend.types import I64, Scheme, Type, substitute

if TYPE_CHECKING:
    from minifut.frontend.check.sizing.state import Sizing
    from minifut.frontend.types import SizeMeta


def size_type(state: Sizing, node: syntax.TypeExp) -> tuple[Type, set[SizeMeta]]:
    """The type, in which each unknown size is to be found; those sizes."""
    check_sizes_in(state, node)
    names = state.inference.anonymous[node]
    assert node.type is not None
    type_ = state.normal_type(state.inference.finish(node.type))
    metas = {
        name: state.fresh(node.location, "anonymous size in type expression", name.base)
        for name in names
    }
    if metas:
        type_ = substitute(type_, metas)
    node.type = type_
    state.unfinished.nodes.append(node)
    return type_, set(metas.values())


def check_sizes_in(state: Sizing, node: syntax.TypeExp) -> None:
    """Check the expressions that stand for sizes in a type expression."""
    from minifut.frontend.check.sizing.expressions import size

    stack: list[syntax.Node] = [node]
    while stack:
        item = stack.pop()
        match item:
            case syntax.Exp():
                size(state, item)
                continue
            case syntax.TypeArrow() if item.name_resolved is not None:
                scheme = state.inference.types[item.name_resolved]
                state.values[item.name_resolved] = scheme
            case syntax.TypeExistential():
                for name in item.names_resolved:
                    state.values[name] = Scheme((), I64)
        stack += reversed(children(item))
