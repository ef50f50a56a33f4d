r"""Flattening: each nest of SOACs that the host runs becomes one segmented operation.

    map (\xs -> reduce (+) 0 xs) xss     →     segred grid (i < n, j < m) {add, 0} ...

Host code (statements of functions, bodies of host loops and branches) stays as it is;
each SOAC in it is handed to the rules, first with an empty nest around it. A rule looks
at the nest so far and the SOAC inside it and either emits kernels that compute the
results with the nest's dimensions in front, or declines; the order of `RULES` is the
preference, and the last two never decline. Today that is *moderate* flattening: perfect
nests only. Versions and distribution are further rules at the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from minifut.ir.builder import Builder
from minifut.ir.core import Exp, Param, Program, Stm
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import map_children
from minifut.names import Name, NameSource
from minifut.passes.flatten.inner_hist import flatten_hist
from minifut.passes.flatten.inner_reduce import flatten_reduce
from minifut.passes.flatten.inner_scan import flatten_scan
from minifut.passes.flatten.inner_scatter import flatten_scatter
from minifut.passes.flatten.interchange_operator import interchange_operator
from minifut.passes.flatten.map_nest import flatten_perfect_nest
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site
from minifut.passes.flatten.thread_body import run_in_one_thread, run_map_in_threads

Rule: TypeAlias = Callable[[Site, Nest, Stm, tuple[Param, ...]], bool]

RULES: tuple[Rule, ...] = (
    flatten_perfect_nest,
    # before the two that need scalar operators
    interchange_operator,
    flatten_reduce,
    flatten_scan,
    flatten_hist,
    flatten_scatter,
    # what is left runs sequentially
    run_map_in_threads,
    run_in_one_thread,
)


def flatten(program: Program, names: NameSource) -> Program:
    """The program with segmented operations in place of the host's SOACs."""
    flattener = _Flattener(names, scope_of(program))
    constants = flattener.statements(program.constants)
    functions = tuple(flattener.node(function) for function in program.functions)
    return replace(program, constants=constants, functions=functions)


class _Flattener:
    def __init__(self, names: NameSource, scope: Scope) -> None:
        self.names = names
        self.scope = scope
        self.definitions: dict[Name, Exp] = {}

    def node(self, node: Any) -> Any:
        """Host code: a body's statements one by one, other nodes part by part."""
        statements = getattr(node, "statements", None)
        if statements is not None:
            return replace(node, statements=self.statements(statements))
        return map_children(node, self.node)

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        build = Builder(self.names, self.scope)
        site = Site(build, self.definitions, apply_rules)
        for statement in statements:
            build.location = statement.location
            if isinstance(statement.exp, SOAC_EXPRESSIONS):
                apply_rules(site, Nest(), statement, statement.pattern)
            else:
                if len(statement.pattern) == 1:
                    self.definitions[statement.pattern[0].name] = statement.exp
                build.append(map_children(statement, self.node))
        if not any(isinstance(s.exp, SOAC_EXPRESSIONS) for s in statements):
            same = zip(build.statements, statements, strict=True)
            if all(new is old for new, old in same):
                return statements
        return tuple(build.statements)


def apply_rules(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Emit what computes the statement's results in the nest, bound to `pattern`."""
    return any(rule(site, nest, statement, pattern) for rule in RULES)
