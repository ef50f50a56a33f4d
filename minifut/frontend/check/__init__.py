"""The type checker: from syntax to annotated syntax.

`check_program(source)` parses a program and what it imports, infers all types and sizes
and writes them into the *checked* slots of the syntax tree. It raises a `CompileError`,
with the faults of other declarations in it. What later stages find in the tree:

names       every bound name has a unique `Name` (`name_resolved`); `Var.name_resolved`
            refers to it. In `r.x` (a variable written with qualifiers) `Var.fields`
            are the record fields behind the value; qualifiers before it are modules.
types       `Exp.type`, `Pattern.type`, `TypeExp.type`: no metas, no type variables
            but the parameters of the definition around. No `*` outside of functions on
            the types of expressions; function types keep it on parameters and results.
            `ValueDeclaration.type` with `scheme_parameters` (all of them, inferred ones
            included; their kinds are in `context.values[name].parameters`).
unknown     `Exp.exts`: the sizes that come into being at an expression. Evaluate it,
sizes       then bind each by matching `.type` with the value. An ext of an expression
            of type i64 names the value itself (an argument that a result's type needs
            and that is no size term). `Arrow.exts` are bound anew at each application.
            An ext that is no array's size in the value (a phantom) may be ignored.
instances   `Var.instance`: parameter `Name` to type or size at this use, for anything
            polymorphic. `SizeAny` in it is an unknown size bound inside of a function
            type: read it off values. For operators the one type parameter gives the
            scalar type (equality: any type). Empty for what is monomorphic.
sizes       `SizeOpaque` holds an expression with (name, size) for each local name free
            in it: evaluate it in an environment extended by those.
loops       `Loop.initial` is always there (filled in if not written); `Loop.sizes` are
            bound by the pattern at each iteration; `exts` by the result.
entries     `CheckedProgram.entries`, in order; `main` counts as one.
modules     Bindings for elaboration: `ModuleApply.bindings` is a `FunctorBindings`,
            `.bindings` of an ascription (also of a declaration or lambda with a
            signature) a `ModuleBindings`, see `matching`. To apply a functor: extend
            the environment by `parameter`, evaluate the body's declarations, then bind
            the new names of `result` to what the body gave. After an ascription the
            names of the signature stand for those of the module inside.
prelude     `CheckedProgram.prelude`: `definitions` (name to checked declaration) and
            `intrinsics` (name to key: "+", "map", "f32.sqrt", "i32.i64", "f64.pi").
            Numeric modules are not syntax: their values are prelude values by name.
"""

from __future__ import annotations

import posixpath
import sys
from typing import TYPE_CHECKING

from minifut.errors import Source, error
from minifut.frontend.check.environment import Checking, Scope
from minifut.frontend.check.imports import FileReader, Files
from minifut.ir.node import mutable
from minifut.names import NameSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from minifut.frontend import syntax
    from minifut.frontend.check.prelude import Prelude

_DEPTH = 20_000
"""Nested expressions are walked recursively; Python's own limit is for less."""


@mutable
class CheckedProgram:
    """A program with all annotations in place."""

    program: syntax.Program
    imports: dict[str, syntax.Program]
    """the other files, each after those it imports itself"""
    entries: list[syntax.ValueDeclaration]
    warnings: list[str]
    prelude: Prelude
    names: NameSource
    context: Checking


def check_program(
    source: Source, *, read_import: Callable[[str], Source] | None = None
) -> CheckedProgram:
    """Check a program; `read_import` gives the text of a file by its path, which is
    relative to where `source.name` is relative to (without: files are read from disk,
    below the import root)."""
    from minifut.frontend.check.modules import Checker
    from minifut.frontend.check.prelude import Prelude
    from minifut.frontend.parser import parse_program

    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, _DEPTH))
    context = Checking(NameSource())
    try:
        program = parse_program(source)
        prelude = Prelude(context)
        files = Files(context, prelude, read_import or FileReader(source.name))
        files.open.append(posixpath.normpath(source.name))
        checker = Checker(
            context,
            Scope(prelude),
            lambda path, location: files.load(source.name, path, location),
        )
        checker.is_main = True
        checker.program(program.declarations)
    except RecursionError:
        raise error(
            None,
            "The program is nested too deeply.",
            "nested-too-deeply",
            "split the deepest expression by 'let'",
        ) from None
    finally:
        sys.setrecursionlimit(depth)
    return CheckedProgram(
        program,
        files.programs,
        checker.entries,
        context.warnings,
        prelude,
        context.names,
        context,
    )
