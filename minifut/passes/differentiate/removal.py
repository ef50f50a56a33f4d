r"""Rounds of removing the innermost derivatives; see `driver`.

    let (y, ys') = jvp(f, (x), (xs'), [n])   →   let y = f x
                                                 let ys' = map (\x' -> f' x x') xs'
    let (y, xs') = vjp(f, (x), (ys'), [n])   →   the forward sweep of f x, then
                                                 map (\y' -> the return sweep) ys'

With many seeds the forward sweep is run once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.ir import calls, host_bodies, traverse
from minifut.ir.builder import Builder
from minifut.ir.core import Apply, Atom, Copy, Program, Stm
from minifut.ir.derivatives import CustomVjp, Jvp, Vjp
from minifut.ir.node import replace
from minifut.ir.search import contains, nodes_of
from minifut.names import Name, NameSource
from minifut.passes.differentiate.arithmetic import fit
from minifut.passes.differentiate.context import Context, refuse, without_checks
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.passes.differentiate.reverse.sweep import ReverseSweep, run_back
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
    graph = calls.call_graph(program)
    direct = {f.name for f in program.functions if contains(f, kinds)}
    waiting = calls.reaching(graph, direct)
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


def _called_from_derivatives(program: Program, graph: calls.Graph) -> set[Name]:
    """The functions called, directly or not, from what reverse mode differentiates."""
    derivatives = list(nodes_of(Vjp, program))
    return calls.reachable(graph, calls.calls_in(*derivatives))


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
        return host_bodies.map_statements(node, self.statement)

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
        inside = [node for part in parts for node in traverse.walk(part)]
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


def apply_vjp(context: Context, build: Builder, exp: Vjp) -> tuple[Atom, ...]:
    """Emits what `vjp` is; the results, then the adjoints of the arguments."""
    sweep = ReverseSweep(context, context.activity())
    start = len(build.statements)
    body = build.bound(exp.function, exp.arguments)
    arguments = [p.name for s in build.statements[start:] for p in s.pattern]
    sweep.activity.names.update(arguments)
    backs = sweep.forward(build, body.statements)

    def back(inner: Builder, *seeds: Atom) -> tuple[Atom, ...]:
        adjoints = sweep.adjoints()
        for atom, seed in zip(body.result, seeds, strict=True):
            adjoints.add(inner, atom, seed)
        run_back(inner, backs, adjoints)
        return tuple(adjoints.or_zero(inner, name) for name in arguments)

    if not exp.shape:
        return (*body.result, *back(build, *exp.seeds))
    seeds = tuple(seed for seed in exp.seeds if isinstance(seed, Name))
    return (*body.result, *build.map(seeds, back))


def apply_jvp(context: Context, build: Builder, exp: Jvp) -> tuple[Atom, ...]:
    """Emits what `jvp` is; its results, then their tangents."""
    if not exp.shape:
        return _tangents(context, build, exp, exp.seeds)
    body = build.bound(exp.function, exp.arguments)
    build.extend(body.statements)
    silent = Jvp(without_checks(exp.function), exp.arguments, exp.seeds)
    seeds = [seed for seed in exp.seeds if isinstance(seed, Name)]

    def tangents(inner: Builder, *rows: Name) -> tuple[Atom, ...]:
        found = _tangents(context, inner, silent, rows)
        pairs = zip(found[len(body.result) :], build.types(body.result), strict=True)
        return tuple(fit(inner, atom, type_) for atom, type_ in pairs)

    return (*body.result, *build.map(seeds, tangents))


def _tangents(
    context: Context, build: Builder, exp: Jvp, seeds: tuple[Atom, ...]
) -> tuple[Atom, ...]:
    """One tangent for each result."""
    sweep = Tangents(context, context.activity())
    start = len(build.statements)
    body = build.bound(exp.function, exp.arguments)
    names = [p for s in build.statements[start:] for p in s.pattern]
    sweep.activity.mark(names, [True] * len(names))
    for parameter, seed in zip(names, seeds, strict=True):
        sweep.values[parameter.name] = fit(build, seed, parameter.type)
    sweep.statements(build, body.statements)
    return (*body.result, *sweep.results(build, body.result, [True] * len(body.result)))
