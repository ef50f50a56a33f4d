"""Inline functions: their bodies replace calls.

    let (y: f32) = f(x)        →   the statements of f with x for its parameter

Inlined are small functions, those called once, and those called from inside a SOAC,
where they may bring parallelism with them, or at least make one body to optimise.

    map (\\x -> let y = apply f(x) in apply f(y)) xs   →   the same, calling f', a copy

Functions stay where copies of them would make the program grow beyond measure: those
that the host calls, recursive ones, and, inside SOACs, those without parallelism worth
a kernel. The latter get a copy of their own for threads, which flattening leaves alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from minifut.errors import CompileError, Location
from minifut.ir import calls
from minifut.ir.core import Apply, Assert, Atom, Function, Program, Stm
from minifut.ir.host_bodies import map_statements
from minifut.ir.node import replace
from minifut.ir.search import count_of
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import children, map_children, rename, substitute, walk
from minifut.names import Name, NameSource

T = TypeVar("T")

SMALL = 60
"""A function with at most this many statements (nested ones count) is copied freely."""
GROWTH = 2000
"""statements that copies of one function may add to what threads run"""
FEW = 32
"""points of a SOAC that are not worth a kernel"""


def inline(program: Program, names: NameSource) -> Program:
    """Put function bodies in the place of calls."""
    graph = calls.call_graph(program)
    deep = calls.recursive(graph)
    parallel = calls.called_in_threads(program)
    _refuse_recursion(program, deep & parallel)
    kept = _kept_in_threads(program, graph, parallel - deep) if parallel else set()
    chosen = _choose(program, graph, parallel) - deep - kept
    inliner = _Inliner(names, {f.name: f for f in program.functions}, chosen)
    done = {name: inliner.function(name) for name in calls.callees_first(graph)}
    # what calls in constants give is used in functions, too
    constants, functions = inliner.finished(
        (
            inliner.node(program.constants),
            tuple(done[f.name] for f in program.functions),
        )
    )
    program = replace(program, constants=constants, functions=functions)
    return _without_dead(_with_copies_for_threads(program, kept, names))


def _kept_in_threads(
    program: Program, graph: calls.Graph, parallel: set[Name]
) -> set[Name]:
    """The functions whose copies in threads would be many and large."""
    functions = {f.name: f for f in program.functions}
    order = calls.callees_first(graph)
    copies = Counter(calls.calls_in(*program.constants))
    copies.update(entry.function for entry in program.entries)
    for name in reversed(order):
        for callee, count in graph[name].items():
            copies[callee] += copies[name] * count
    kept: set[Name] = set()
    size: dict[Name, int] = {}
    busy: set[Name] = set()
    for name in order:
        body = functions[name].body
        size[name] = count_of(Stm, body)
        for callee, count in graph[name].items():
            if callee not in kept:
                size[name] += size.get(callee, 0) * count
        if any(map(_is_wide, walk(body))) or not busy.isdisjoint(graph[name]):
            busy.add(name)
            continue
        growth = size[name] * (copies[name] - 1)
        if name in parallel and size[name] > SMALL and growth > GROWTH:
            kept.add(name)
    return kept


def _is_wide(node: object) -> bool:
    """Whether the statement is a SOAC that may be worth a kernel."""
    if not isinstance(node, Stm) or not isinstance(node.exp, SOAC_EXPRESSIONS):
        return False
    width = node.exp.width.as_constant
    return "sequential" not in node.attributes and (width is None or width >= FEW)


def _with_copies_for_threads(
    program: Program, kept: set[Name], names: NameSource
) -> Program:
    """Threads call copies of functions, so that each is for the host or for threads."""
    if not kept:
        return program
    copies = {name: names.like(name) for name in sorted(kept, key=lambda n: n.tag)}

    def inside(node: Any) -> Any:
        if isinstance(node, Apply) and node.function in copies:
            return replace(node, function=copies[node.function])
        return map_children(node, inside)

    def outside(node: Any) -> Any:
        if isinstance(node, SOAC_EXPRESSIONS):
            return inside(node)
        return map_children(node, outside)

    functions = {f.name: f for f in program.functions}
    made = tuple(
        replace(inside(rename(functions[old], names)), name=new)
        for old, new in copies.items()
    )
    program = map_children(program, outside)
    return replace(program, functions=(*program.functions, *made))


def _refuse_recursion(program: Program, bad: set[Name]) -> None:
    for statement in walk(program) if bad else ():
        if isinstance(statement, Stm) and isinstance(statement.exp, Apply):
            function = statement.exp.function
            if function in bad:
                raise CompileError(
                    statement.location,
                    f"recursion inside parallel code is not supported: {function.base}",
                    "write the recursion as a loop, or call it outside of map, reduce "
                    "and scan",
                )


def _choose(program: Program, graph: calls.Graph, parallel: set[Name]) -> set[Name]:
    counts = calls.calls_in(*program.constants)
    for found in graph.values():
        counts.update(found)
    entries = {entry.function for entry in program.entries}
    chosen = set(parallel)
    for function in program.functions:
        once = counts[function.name] == 1 and function.name not in entries
        if once or count_of(Stm, function) <= SMALL:
            chosen.add(function.name)
    return chosen


class _Inliner:
    """Rewrites bodies; what replaced patterns stand for is substituted at the end of
    each function, before the function itself is copied anywhere."""

    def __init__(
        self, names: NameSource, functions: dict[Name, Function], chosen: set[Name]
    ) -> None:
        self.names = names
        self.functions = functions
        self.chosen = chosen
        self.replaced: dict[Name, Atom] = {}
        self.located: dict[Name, bool] = {}

    def function(self, name: Name) -> Function:
        """The function with the chosen calls in it replaced; remembered for callers."""
        before = self.functions[name]
        after = self.finished(map_children(before, self.node))
        self.functions[name] = after
        return after

    def finished(self, node: T) -> T:
        """The node with what replaced names stand for."""
        if not self.replaced:
            return node
        meaning = self.resolved()
        self.replaced = {}
        return substitute(node, meaning)

    def node(self, node: Any) -> Any:
        return map_statements(node, self.statement)

    def statement(self, statement: Stm) -> Sequence[Stm]:
        exp = statement.exp
        if isinstance(exp, Apply) and exp.function in self.chosen:
            return self.call(statement, exp)
        return (map_children(statement, self.node),)

    def call(self, statement: Stm, exp: Apply) -> tuple[Stm, ...]:
        function = self.functions[exp.function]
        parameters = [parameter.name for parameter in function.parameters]
        arguments = dict(zip(parameters, exp.arguments, strict=True))
        body = rename(function.body, self.names, arguments)
        for bound, atom in zip(statement.pattern, body.result, strict=True):
            self.replaced[bound.name] = atom
        if statement.location is None or not self.has_places(exp.function):
            return body.statements
        return tuple(_called_from(s, statement.location) for s in body.statements)

    def has_places(self, name: Name) -> bool:
        """Whether the function, as it is by now, has checks with backtraces, or
        statements of the prelude."""
        if name not in self.located:
            found = any(
                isinstance(n, Assert) or _is_of_prelude(n)
                for n in walk(self.functions[name])
            )
            self.located[name] = found
        return self.located[name]

    def resolved(self) -> dict[Name, Atom]:
        """What each replaced name stands for in the end."""
        final: dict[Name, Atom] = {}
        for name, atom in self.replaced.items():
            while isinstance(atom, Name) and atom in self.replaced:
                atom = self.replaced[atom]
            final[name] = atom
        return final


def _is_of_prelude(node: object) -> bool:
    return isinstance(node, Stm) and (
        node.location is not None and node.location.in_prelude
    )


def _called_from(node: Any, location: Location) -> Any:
    """The node with the call's place added to the backtrace of its checks, and as the
    place of what is in the prelude, where users would not look."""
    if _is_of_prelude(node):
        node = replace(node, location=location)
    if isinstance(node, Assert):
        where = str(location)
        if node.backtrace and node.backtrace[-1] == where:
            return node
        return replace(node, backtrace=(*node.backtrace, where))
    if not children(node):
        return node
    return map_children(node, lambda child: _called_from(child, location))


def _without_dead(program: Program) -> Program:
    """Without the functions that nothing reaches from an entry point."""
    start = {entry.function for entry in program.entries}
    needed = calls.reachable(
        calls.call_graph(program), start | set(calls.calls_in(*program.constants))
    )
    kept = tuple(f for f in program.functions if f.name in needed)
    if len(kept) == len(program.functions):
        return program
    return replace(program, functions=kept)
