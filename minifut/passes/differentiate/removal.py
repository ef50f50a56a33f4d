"""Rounds of removing the innermost derivatives; see `driver`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.ir.calls import Graph, call_graph, calls_in, reachable, reaching
from minifut.ir.core import Apply, Copy, Program, Stm
from minifut.ir.derivatives import CustomVjp, Jvp, Vjp
from minifut.ir.host_bodies import map_statements
from minifut.ir.node import replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import walk
from minifut.names import Name, NameSource
from minifut.passes.differentiate.context import Context, refuse
from minifut.passes.differentiate.forward.apply import apply_jvp
from minifut.passes.differentiate.reverse.apply import apply_vjp
from minifut.passes.inline import inline
from minifut.passes.simplify.driver import simplify
from minifut.rewrite.trace import Trace


def remove_derivatives(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program without derivatives. Functions with an adjoint of their own stay as
    long as there is something that may require it."""
    program = simplify(inline(program, names), names)
    while contains(program, (Jvp, Vjp)):
        program = _round(program, names, trace, (Jvp, Vjp))
    if contains(program, (CustomVjp,)):
        program = _round(program, names, trace, (CustomVjp,))
    return program


def _round(
    program: Program, names: NameSource, trace: Trace | None, kinds: tuple[type, ...]
) -> Program:
    """The program without the innermost expressions of these classes."""
    context = Context.of(program, names, trace)
    graph = call_graph(program)
    direct = {f.name for f in program.functions if contains(f, kinds)}
    waiting = reaching(graph, direct)
    remover = _Remover(context, kinds, waiting)
    constants = remover.node(program.constants)
    nested = _called_from_derivatives(program, graph)
    functions = []
    for function in program.functions:
        remover.inside = function.name in nested
        functions.append(remover.node(function))
    remover.check_progress()
    made = replace(program, constants=constants, functions=(*functions, *context.made))
    return simplify(inline(made, names), names)


def _called_from_derivatives(program: Program, graph: Graph) -> set[Name]:
    """The functions called, directly or not, from what reverse mode differentiates."""
    derivatives = list(nodes_of(Vjp, program))
    return reachable(graph, calls_in(*derivatives))


class _Remover:
    """Replaces the innermost derivatives. `waiting` are the functions in which, or in
    whose calls, something is differentiated."""

    def __init__(
        self, context: Context, kinds: tuple[type, ...], waiting: set[Name]
    ) -> None:
        self.context = context
        self.kinds = kinds
        self.waiting = waiting
        self.removed = 0
        self.inside = False
        self.left: list[Stm] = []

    def node(self, node: Any) -> Any:
        return map_statements(node, self.statement)

    def statement(self, statement: Stm) -> Iterable[Stm]:
        outer, exp = self.inside, statement.exp
        if isinstance(exp, self.kinds):
            if self.is_innermost(exp):
                self.removed += 1
                self.context.may_accumulate = not outer
                return self.derivative(statement)
            self.left.append(statement)
            self.inside = outer or isinstance(exp, Vjp)
        made = replace(statement, exp=self.node(exp))
        self.inside = outer
        return (made,)

    def is_innermost(self, exp: Any) -> bool:
        """Whether nothing inside, or called there, is still to be removed."""
        parts = (
            (exp.function, exp.adjoint)
            if isinstance(exp, CustomVjp)
            else (exp.function,)
        )
        inside = [node for part in parts for node in walk(part)]
        if any(isinstance(node, self.kinds) for node in inside):
            return False
        called = {node.function for node in inside if isinstance(node, Apply)}
        return called.isdisjoint(self.waiting)

    def derivative(self, statement: Stm) -> tuple[Stm, ...]:
        build = self.context.builder(statement)
        match statement.exp:
            case Jvp():
                results = apply_jvp(self.context, build, statement.exp)
            case Vjp():
                results = apply_vjp(self.context, build, statement.exp)
            case CustomVjp(function, _, arguments):
                results = build.apply(function, arguments)
        for parameter, atom in zip(statement.pattern, results, strict=True):
            build.bind((parameter,), Copy(atom))
        return tuple(build.statements)

    def check_progress(self) -> None:
        """A function that differentiates itself is refused."""
        if not self.removed:
            raise refuse(
                self.left[0].location,
                "a recursive function cannot differentiate itself",
                "differentiate it where it is called from outside",
            )
