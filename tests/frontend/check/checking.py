"""Helpers: check a text, find what was inferred."""

from __future__ import annotations

from minifut.errors import Source
from minifut.frontend import syntax, types
from minifut.frontend.check import CheckedProgram, check_program
from minifut.frontend.check.messages import show
from minifut.frontend.syntax.traverse import children


def check(text: str, **files: str) -> CheckedProgram:
    """Check a program; other files are given by name, without the ending."""
    sources = {f"{name}.fut": Source(f"{name}.fut", t) for name, t in files.items()}
    return check_program(Source("main.fut", text), read_import=sources.__getitem__)


def declaration(checked: CheckedProgram, name: str) -> syntax.ValueDeclaration:
    """The definition of a name in the main file."""
    for node in checked.program.declarations:
        if isinstance(node, syntax.ValueDeclaration) and node.name == name:
            return node
    raise KeyError(name)


def inferred(text: str, name: str = "f", **files: str) -> str:
    """The type of a definition, its size and type parameters before it."""
    checked = check(text, **files)
    node = declaration(checked, name)
    assert node.type is not None and node.name_resolved is not None
    scheme = checked.context.values[node.name_resolved]
    parameters = "".join(
        f"[{p.base}] " if kind == "size" else f"'{kind}_ "
        for p, kind in scheme.parameters
    )
    return parameters + show(node.type)


def nodes(checked: CheckedProgram, kind: type) -> list:
    """All nodes of a kind in the definitions of the main file, outermost first."""
    found = []
    stack: list[syntax.Node] = list(reversed(checked.program.declarations))
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            found.append(node)
        stack.extend(reversed(list(children(node))))
    return found


def has_metas(type_: types.Type) -> bool:
    """Is anything in a type left to be found?"""
    found = False

    def on_type(term: types.Type) -> None:
        nonlocal found
        found = found or isinstance(term, types.Meta)

    def leaf(size: types.Size) -> types.Size:
        nonlocal found
        found = found or isinstance(size, types.SizeMeta)
        return size

    types.map_type(type_, on_type, lambda size: types.map_size(size, leaf))
    return found
