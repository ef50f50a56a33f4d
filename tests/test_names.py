"""A name means one class, or one type, in the whole package."""

from __future__ import annotations

import ast

import pytest

from tests.test_architecture import FILES, PACKAGE, ROOT

LANGUAGES = (
    "frontend/sizes.py",
    "frontend/syntax/",
    "frontend/types.py",
    "ir/core.py",
    "ir/entries.py",
    "ir/expressions.py",
    "ir/kernels.py",
    "ir/sizes.py",
    "ir/types.py",
    "kernel_ir/expressions.py",
    "kernel_ir/host_statements.py",
    "kernel_ir/statements.py",
)
"""nodes and types, which may have the name of what they become in the next language"""
SAME_NAME = {
    "opencl/runtime/describe.py": "data of generated modules, named as what it describes",
    "opencl/runtime/program.py": "the program that a generated module is",
    "frontend/check/environment.py": "the names in scope of source text, not of the core",
    "program.py": "the surface: a program that users call",
    "signature.py": "the surface: a parameter as users see it",
    "opencl/runtime/opaque_values.py": "the surface: a value as users see it",
    "opencl/runtime/pool.py": "a block of memory, no statements",
    "lowering/index_functions.py": "an array in memory; of the checker, a type",
    "frontend/elaborate/values.py": "of a primitive, while it is evaluated away",
    "passes/differentiate/context.py": "of the calls that rules of derivatives make",
    "rewrite/trace.py": "of rules; in the core, of values at run time",
}
"""modules with classes whose names are those of another package's, and why"""


def test_one_name_means_one_class_or_alias() -> None:
    """But for nodes of different languages, and the reasons above."""
    places: dict[str, list[str]] = {}
    for path in FILES:
        place = str(path.relative_to(PACKAGE))
        for name in type_names(ast.parse(path.read_text())):
            places.setdefault(name, []).append(place)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert set(SAME_NAME) <= {place for found in shared.values() for place in found}
    for name, found in shared.items():
        left = [place for place in found if place not in SAME_NAME]
        languages = {
            place.split("/")[0] for place in left if place.startswith(LANGUAGES)
        }
        assert len(left) == max(1, len(languages)), (name, left)


def type_names(module: ast.Module) -> set[str]:
    """The classes of a module, and its aliases of types, that others may import."""
    names: set[str] = set()
    for node in module.body:
        match node:
            case ast.ClassDef(name):
                names.add(name)
            case (
                ast.AnnAssign(target=ast.Name(name))
                | ast.Assign(targets=[ast.Name(name)])
            ) if name[0].isupper() and not name.isupper():
                names.add(name)
    return {name for name in names if not name.startswith("_") and len(name) > 1}


@pytest.mark.parametrize(
    "facade", ["kernel_ir/nodes.py", "frontend/syntax/__init__.py"]
)
def test_modules_of_a_facade_define_different_names(facade: str) -> None:
    """Of two names that star imports bring, the later one would silently win."""
    path = PACKAGE / facade
    seen: dict[str, str] = {}
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.ImportFrom) or node.names[0].name != "*":
            continue
        assert node.module is not None
        source = (ROOT / f"{node.module.replace('.', '/')}.py").read_text()
        for name in public_names(ast.parse(source)):
            assert seen.setdefault(name, node.module) == node.module, name
    assert len(seen) > 20


def public_names(module: ast.Module) -> set[str]:
    """What a module defines itself, besides what begins with an underscore."""
    names: set[str] = set()
    for node in module.body:
        match node:
            case ast.ClassDef(name) | ast.FunctionDef(name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(t.id for t in targets if isinstance(t, ast.Name))
    return {name for name in names if not name.startswith("_")}
