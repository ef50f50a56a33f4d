"""The architecture: layers, sizes of files, module docstrings, start-up time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from minifut.lowering import pipelines as lowering
from minifut.passes import pipelines as passes

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "minifut"
FILES = sorted(PACKAGE.rglob("*.py"))

PAGE = ROOT / "docs" / "architecture.md"
SCHEDULES = ("cpu", "gpu")

# What everything may import; these import only each other.
COMMON = {
    "cache",
    "collector",
    "debug",
    "errors",
    "files",
    "immutables",
    "interrupts",
    "names",
    "process_copies",
    "resources",
    "suggestions",
    "version",
}
# The surface of the library: what users import and start.
SURFACE = {"__init__", "__main__"}


def table_of_packages() -> dict[str, set[str]]:
    """What each package may import, by the table of docs/architecture.md; modules that
    are in one row are one package."""
    allowed: dict[str, set[str]] = {}
    for line in PAGE.read_text().split("## What passes between")[0].splitlines():
        cells = line.split("|")
        if line.startswith("| `") and len(cells) == 5:
            names = re.findall(r"`([^`]+)`", cells[1])
            allowed[" ".join(names)] = set(re.findall(r"`([^`]+)`", cells[3]))
    return allowed


ALLOWED = table_of_packages()
HOME = {name: row for row in ALLOWED for name in row.split()}


def package_of(parts: tuple[str, ...]) -> str:
    """The package of a module, or its row in the table."""
    name = "/".join(parts[:2]) if parts[:2] == ("opencl", "runtime") else parts[0]
    return HOME.get(name, name)


def imported_modules(path: Path, for_types: bool = True) -> list[tuple[str, ...]]:
    """The modules of minifut that a module imports, deferred imports and, if wanted,
    those for annotations included, as paths."""
    modules = []
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
        elif for_types or not (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            waiting.extend(ast.iter_child_nodes(node))
    split = [tuple(module.split(".")) for module in modules]
    return [parts[1:] for parts in split if parts[0] == "minifut" and len(parts) > 1]


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in FILES}


@cache
def imports() -> dict[str, set[str]]:
    """The packages that each package imports."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        own = package_of(path.relative_to(PACKAGE).with_suffix("").parts)
        others = {package_of(parts) for parts in imported_modules(path)}
        found.setdefault(own, set()).update(others - {own})
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_packages_import_what_the_page_says(package: str) -> None:
    listed = {HOME[name] for name in ALLOWED[package]}
    assert imports()[package] - COMMON == listed


def test_the_page_lists_all_packages() -> None:
    assert set(imports()) - COMMON - SURFACE == set(ALLOWED)
    for package in COMMON:
        assert imports()[package] <= COMMON


def test_the_page_lists_the_passes_in_order() -> None:
    section = PAGE.read_text().split("## Order of passes")[1]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("|")]
    listed = [row[2].strip().split(", ") for row in rows[2:7]]
    lists = [passes.DEFAULT]
    lists += [level.FOR_SCHEDULE[s] for level in (passes, lowering) for s in SCHEDULES]
    assert listed == [[step.name for step in steps] for steps in lists]


def test_no_packages_import_each_other() -> None:
    """Rows are in order: each imports only those above it."""
    order = list(ALLOWED)
    for row, below in ALLOWED.items():
        upward = {p for p in below if order.index(HOME[p]) >= order.index(row)}
        assert not upward, (row, upward)


def test_packages_are_imported_by_statements() -> None:
    """An import by a string would be seen by no check. What is above all others, the
    command line and the library's surface, may load its parts so."""
    hidden = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path.relative_to(PACKAGE).with_suffix("").parts[0] not in {"cli", *SURFACE}
        and re.search(r"\bimport_module\b|__import__", path.read_text())
    ]
    assert not hidden


@pytest.mark.parametrize("row", ["lowering", *(r for r in ALLOWED if " " in r)])
def test_modules_import_each_other_in_no_cycle(row: str) -> None:
    """Operations are lowered through the dispatch module, which is left out. What is
    imported for annotations alone is no cycle."""
    modules = {
        name.removesuffix(".__init__"): path
        for path in FILES
        if package_of(parts := path.relative_to(PACKAGE).with_suffix("").parts) == row
        and (name := ".".join(parts)) != "lowering.dispatch"
    }
    edges = {
        name: {
            target
            for parts in imported_modules(path, for_types=False)
            for target in (".".join(parts), ".".join(parts[:-1]))
            if target in modules and target != name
        }
        for name, path in modules.items()
    }
    waiting = dict(edges)
    while waiting:
        free = [name for name, below in waiting.items() if not below & waiting.keys()]
        assert free, sorted(waiting)
        for name in free:
            del waiting[name]


def test_the_runtime_does_without_the_compiler() -> None:
    program = (
        "import sys, minifut.opencl.runtime\n"
        "loaded = [m for m in sys.modules if m.startswith('minifut.')]\n"
        "print([m for m in loaded if m.split('.')[1] in "
        "('frontend', 'passes', 'kernel_ir', 'lowering', 'ir', 'rewrite')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_no_file_outgrows_its_idea() -> None:
    others = [
        p for name in ("tests", "benchmarks") for p in ROOT.glob(f"{name}/**/*.py")
    ]
    long = {
        str(path.relative_to(ROOT)): lines
        for path in FILES + others
        if (lines := path.read_text().count("\n")) > 400
    }
    assert not long


def test_no_function_is_over_eighty_lines(trees: dict[Path, ast.Module]) -> None:
    """The docstring of a rule holds its examples and is not counted."""
    long = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                lines -= (ast.get_docstring(node, clean=False) or "").count("\n")
                if lines > 80:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert not long


CONTAINERS = re.compile(r"(dict|list|set|deque|Counter|defaultdict|OrderedDict)\b")


def mutable_fields(node: ast.ClassDef, stored: set[str]) -> set[str]:
    """Fields that hold containers, or that are set after construction: by methods, or
    as one of those that are `stored` elsewhere."""
    if any("frozen=True" in ast.unparse(d) for d in node.decorator_list):
        return set()
    types: dict[str, str] = {}
    found: set[str] = set()
    for part in node.body:
        match part:
            case ast.AnnAssign(target=ast.Name(name), annotation=hint):
                types[name] = ast.unparse(hint)
            case ast.FunctionDef(name=method):
                for target, hint in stores(part, own=True):
                    types.setdefault(target, hint)
                    found |= {target} if method != "__init__" else set()
    found |= {name for name, hint in types.items() if CONTAINERS.match(hint)}
    return found | (types.keys() & stored)


def stores(tree: ast.AST, own: bool) -> Iterator[tuple[str, str]]:
    """Attributes of `self` (or of anything else) that are set, with annotations."""
    hints = {
        node.target: ast.unparse(node.annotation)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(place, name, ast.Store()):
                if (isinstance(place, ast.Name) and place.id == "self") == own:
                    yield name, hints.get(node, "")


def test_no_class_has_more_than_eight_mutable_fields(
    trees: dict[Path, ast.Module],
) -> None:
    stored: dict[Path, set[str]] = {}
    for path, tree in trees.items():
        names = {name for name, _ in stores(tree, own=False)}
        stored.setdefault(path.parent, set()).update(names)
    large = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                count = len(mutable_fields(node, stored[path.parent]))
                if count > 8:
                    large[node.name] = count
    assert not large


def test_types_are_hardly_ever_ignored() -> None:
    ignored = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in FILES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "# type: ignore" in line
    ]
    assert len(ignored) < 20, ignored


def test_tests_are_in_the_folders_of_what_they_test() -> None:
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert not [str(folder) for folder in folders if not (PACKAGE / folder).is_dir()]


def test_modules_open_with_their_idea(trees: dict[Path, ast.Module]) -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path, tree in trees.items()
        if path.read_text().count("\n") > 10 and not ast.get_docstring(tree)
    ]
    assert not silent


def test_nothing_is_left_unfinished() -> None:
    words = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "raise NotImplemented" + "Error")
    left = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in FILES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if any(word in line for word in words)
    ]
    assert not left


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "import minifut.cli\n"
        "from click.testing import CliRunner\n"
        "assert CliRunner().invoke(minifut.cli.main, ['--help']).exit_code == 0\n"
        "print([m for m in ('numpy', 'pyopencl', 'lark') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_importing_the_package_is_cheap() -> None:
    program = "import sys, minifut; print('numpy' in sys.modules)"
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
    assert time.perf_counter() - started < 30


def test_the_glossary_defines_each_term_once() -> None:
    rows = [
        line.split("|")[1].strip()
        for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
        if line.startswith("|") and not line.startswith(("|---", "| term"))
    ]
    terms = [term.strip() for row in rows for term in row.split(",")]
    assert len(terms) > 80 and len(set(terms)) == len(terms)
