"""Elaboration: a static interpretation of the checked program.

Modules, functors, polymorphism, higher-order functions, records, tuples, sums and local
functions all vanish here. A value at compile time is a core variable with a type, a
record or sum of values, or a closure; applying a closure emits core statements.

    entry main xs = map (\\x -> let f = (+ x) in f 1) xs
    ->
    fun main(n: i64, xs: [n]i32): ([n]i32) =
      let ys: [n]i32 = map(xs, \\(x: i32) -> let y: i32 = add_i32(1, x) in {y})

`values`, `environment`, `static_types`: what there is; `expressions` the interpreter,
with a file per group of forms; `application`, `lambdas`, `soacs`, `intrinsics`,
`numeric` what functions do; `modules`, `entries` the program; `checks` the run-time
checks.
"""

from __future__ import annotations

from minifut.frontend import syntax
from minifut.frontend.check import CheckedProgram
from minifut.frontend.elaborate.environment import Environment, Module, Term
from minifut.ir import core
from minifut.names import Name, NameSource

DEEPEST = 100_000
"""Python frames; an expression takes a few per level of nesting"""

SAFE_BY_CONSTRUCTION = ("filter", "partition", "partition2")
"""definitions of the prelude whose indices are in bounds by their own reasoning"""


def elaborate_program(
    checked: CheckedProgram, entries: list[str] | None = None
) -> core.Program:
    """The program's entry points (all, or the named ones) in the Soacs dialect."""
    import sys

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST))
    try:
        return _elaborate(checked, entries)
    finally:
        sys.setrecursionlimit(limit)


def _elaborate(checked: CheckedProgram, wanted: list[str] | None) -> core.Program:
    from minifut.frontend.elaborate.entries import entry_point
    from minifut.frontend.elaborate.functions import Specialisations
    from minifut.frontend.elaborate.lift import lift
    from minifut.frontend.elaborate.modules import Modules
    from minifut.frontend.elaborate.work import Work
    from minifut.ir import core

    outermost = Environment()
    outermost.captured = True
    prelude = PreludeTerms(checked, outermost)
    outermost.terms = prelude
    warn = checked.context.warn
    main = checked.program
    shared = Specialisations((main, *checked.imports.values()))
    work = Work(NameSource(), shared, warn, prelude.by_name)
    modules = Modules(work, outermost, checked.imports.get)
    modules.declarations(main.declarations, outermost.child())
    made = []
    checked_entries = set(map(id, checked.entries))
    for declaration, env in modules.entries:
        if id(declaration) not in checked_entries:
            continue
        if wanted is None or declaration.name in wanted:
            made.append(entry_point(declaration, env, work))
    constants = tuple(work.constants.statements)
    known = {parameter.name for s in constants for parameter in s.pattern}
    functions = tuple(function for _, function in made)
    functions = lift(functions + work.specialisations.functions(), known, work.names)
    program = core.Program(tuple(entry for entry, _ in made), constants, functions)
    if work.has_accumulators:
        from minifut.frontend.elaborate.accumulators import check_accumulators

        check_accumulators(program)
    return program


class PreludeTerms(dict[str, Term]):
    """The prelude's values and modules by name, made on demand."""

    def __init__(self, checked: CheckedProgram, frame: Environment) -> None:
        super().__init__()
        self.prelude = checked.prelude
        self.frame = frame

    def get(self, name: str, default: Term | None = None) -> Term | None:  # type: ignore[override]
        found = super().get(name)
        if found is None:
            found = self.make(name)
            if found is None:
                return default
            self[name] = found
        return found

    def __contains__(self, name: object) -> bool:
        from minifut.frontend.check.builtins import OPERATORS
        from minifut.frontend.check.prelude import index
        from minifut.ir.types import SCALARS

        return ("value", name) in index() or name in OPERATORS or name in SCALARS

    def make(self, name: str) -> Term | None:
        """An intrinsic, or a definition of the prelude's files."""
        from minifut.frontend.elaborate.intrinsics import intrinsic, unsupported

        found = intrinsic(name)
        if found is not None:
            return found
        if name == "intrinsics":
            return Module(self)
        described = self.prelude.lookup_value(name)
        if described is None:
            return None
        if described.declaration is None:
            return unsupported(name)
        return self.closure(described.declaration)

    def by_name(self, name: Name) -> Term | None:
        """A value by its unique name."""
        key = self.prelude.intrinsics.get(name)
        if key is not None:
            module, _, member = key.rpartition(".")
            found = self.get(module) if module else None
            if isinstance(found, Module):
                return found.terms.get(member)
            return self.get(key)
        declaration = self.prelude.definitions.get(name)
        return self.closure(declaration) if declaration is not None else None

    def closure(self, declaration: syntax.ValueDeclaration) -> Term:
        """A definition of the prelude as a function."""
        from minifut.frontend.elaborate.values import Closure

        return Closure(
            declaration.name,
            declaration.parameters,
            declaration.body,
            self.frame,
            sizes=tuple(
                p
                for p in declaration.type_parameters
                if isinstance(p, syntax.SizeParam)
            ),
            unsafe=declaration.name in SAFE_BY_CONSTRUCTION,
        )


__all__ = ["elaborate_program"]
