"""The architecture: layers, sizes of files, module docstrings, start-up time."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "minifut"
FILES = sorted(PACKAGE.rglob("*.py"))

# The packages that each package may import (besides itself and what is `COMMON`).
# A package that is not listed may be imported only by those that name it.
MAY_IMPORT = {
    "ir": set(),
    "values": {"ir"},
    "frontend": {"ir"},
    "analysis": {"ir"},
    "rewrite": {"ir", "analysis"},
    "passes": {"ir", "analysis", "rewrite"},
    "kernel_ir": {"ir", "rewrite"},
    "kernel_passes": {"ir", "rewrite", "passes", "kernel_ir"},
    "lowering": {
        "ir",
        "analysis",
        "rewrite",
        "passes",
        "kernel_ir",
        "kernel_passes",
    },
    "opencl": {
        "ir",
        "analysis",
        "rewrite",
        "kernel_ir",
        "lowering",
        "kernel_passes",
        "passes",
        "values",
    },
}
RUNTIME_MAY_IMPORT = {"values"}
COMMON = {
    "debug",
    "errors",
    "files",
    "names",
    "resources",
    "cache",
    "suggestions",
    "version",
}


def imports_of(path: Path) -> set[str]:
    """The packages of minifut that a module imports, deferred imports included."""
    packages = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
            if node.module == "minifut":
                modules = [f"minifut.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] == "minifut" and len(parts) > 1:
                packages.add(parts[1])
    return packages


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_layers_import_only_lower_ones(package: str) -> None:
    offenders = {}
    for path in (PACKAGE / package).rglob("*.py"):
        allowed = MAY_IMPORT[package] | COMMON | {package}
        extra = imports_of(path) - allowed
        if extra:
            offenders[str(path.relative_to(ROOT))] = sorted(extra)
    assert not offenders


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
    long = {
        str(path.relative_to(ROOT)): lines
        for path in FILES
        if (lines := path.read_text().count("\n")) > 450
    }
    assert not long


def test_no_function_is_over_eighty_lines() -> None:
    """The docstring of a rule holds its examples and is not counted."""
    long = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                lines -= (ast.get_docstring(node, clean=False) or "").count("\n")
                if lines > 80:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert not long


def test_modules_open_with_their_idea() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path.read_text().count("\n") > 10
        and not ast.get_docstring(ast.parse(path.read_text()))
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


def test_one_name_means_one_class_of_a_package() -> None:
    """The syntax of the front end, the core, kernel code and the runtime may each have
    an `If` or a `Kernel`; within one package a name means one class."""
    seen: dict[tuple[str, str], str] = {}
    twice = []
    for path in FILES:
        package = path.relative_to(PACKAGE).parts[0]
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                other = seen.setdefault((package, node.name), str(path))
                if other != str(path):
                    twice.append(f"{node.name}: {other} and {path}")
    assert not twice
