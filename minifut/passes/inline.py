"""Put the bodies of functions in the place of their calls.

    let (y: f32) = f(x)        →   the statements of f with x for its parameter

Inlined are functions called from inside a SOAC (a kernel has no calls), small ones and
those called once; functions that no entry point needs any more go. Large functions that
the host calls several times stay shared, and so do recursive ones, which therefore may
not be called from parallel code.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeVar

from minifut.errors import CompileError, Location
from minifut.ir.core import Apply, Assert, Atom, Body, Function, Program, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import children, map_children, rename, substitute, walk
from minifut.names import Name, NameSource

T = TypeVar("T")

SMALL = 60
"""A function with at most this many statements (nested ones count) is copied freely."""


def inline(program: Program, names: NameSource) -> Program:
    """The program with calls replaced as the module says."""
    calls = {f.name: _calls(f.body) for f in program.functions}
    recursive = _recursive({name: set(found) for name, found in calls.items()})
    parallel = _called_in_parallel(program, calls)
    _refuse_recursion(program, recursive & parallel)
    chosen = _choose(program, calls, parallel) - recursive
    inliner = _Inliner(names, {f.name: f for f in program.functions}, chosen)
    order = _callees_first(program, calls)
    done = {name: inliner.function(name) for name in order}
    constants = inliner.finished(inliner.statements(program.constants))
    functions = tuple(done[f.name] for f in program.functions)
    if constants is program.constants and all(map(_same, functions, program.functions)):
        return _without_dead(program)
    return _without_dead(replace(program, constants=constants, functions=functions))


def _calls(*nodes: object) -> Counter[Name]:
    return Counter(
        inner.function
        for node in nodes
        for inner in walk(node)
        if isinstance(inner, Apply)
    )


def _recursive(graph: dict[Name, set[Name]]) -> set[Name]:
    """The functions on a cycle of calls."""
    reach = {name: set(callees) for name, callees in graph.items()}
    for name in graph:
        waiting = list(reach[name])
        while waiting:
            for callee in graph.get(waiting.pop(), ()):
                if callee not in reach[name]:
                    reach[name].add(callee)
                    waiting.append(callee)
    return {name for name in graph if name in reach[name]}


def _called_in_parallel(
    program: Program, calls: dict[Name, Counter[Name]]
) -> set[Name]:
    """The functions called, directly or not, from inside a SOAC."""
    found: set[Name] = set()
    for node in walk(program):
        if isinstance(node, SOAC_EXPRESSIONS):
            found.update(n.function for n in walk(node) if isinstance(n, Apply))
    waiting = list(found)
    while waiting:
        for callee in calls.get(waiting.pop(), ()):
            if callee not in found:
                found.add(callee)
                waiting.append(callee)
    return found


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


def _choose(
    program: Program, calls: dict[Name, Counter[Name]], parallel: set[Name]
) -> set[Name]:
    counts: Counter[Name] = _calls(*program.constants)
    for found in calls.values():
        counts.update(found)
    entries = {entry.function for entry in program.entries}
    chosen = set(parallel)
    for function in program.functions:
        once = counts[function.name] == 1 and function.name not in entries
        if once or sum(isinstance(n, Stm) for n in walk(function)) <= SMALL:
            chosen.add(function.name)
    return chosen


def _callees_first(program: Program, calls: dict[Name, Counter[Name]]) -> list[Name]:
    order: list[Name] = []
    seen: set[Name] = set()
    for function in program.functions:
        waiting: list[tuple[Name, bool]] = [(function.name, False)]
        while waiting:
            name, finished = waiting.pop()
            if finished:
                order.append(name)
            elif name not in seen and name in calls:
                seen.add(name)
                waiting.append((name, True))
                waiting.extend((callee, False) for callee in calls[name])
    return order


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
        if isinstance(node, Body):
            return replace(node, statements=self.statements(node.statements))
        return map_children(node, self.node)

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        made: list[Stm] = []
        for statement in statements:
            exp = statement.exp
            if isinstance(exp, Apply) and exp.function in self.chosen:
                made.extend(self.call(statement, exp))
            else:
                made.append(map_children(statement, self.node))
        if len(made) == len(statements) and all(map(_same, made, statements)):
            return statements
        return tuple(made)

    def call(self, statement: Stm, exp: Apply) -> tuple[Stm, ...]:
        function = rename(self.functions[exp.function], self.names)
        arguments = dict(
            zip((p.name for p in function.parameters), exp.arguments, strict=True)
        )
        body = substitute(function.body, arguments)
        for bound, atom in zip(statement.pattern, body.result, strict=True):
            self.replaced[bound.name] = atom
        if statement.location is None:
            return body.statements
        return tuple(_called_from(s, statement.location) for s in body.statements)

    def resolved(self) -> dict[Name, Atom]:
        """What each replaced name stands for in the end."""
        final: dict[Name, Atom] = {}
        for name, atom in self.replaced.items():
            while isinstance(atom, Name) and atom in self.replaced:
                atom = self.replaced[atom]
            final[name] = atom
        return final


def _same(a: object, b: object) -> bool:
    return a is b


def _called_from(node: Any, location: Location) -> Any:
    """The node with the call's place added to the backtrace of its checks."""
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
    functions = {f.name: f for f in program.functions}
    needed = {entry.function for entry in program.entries}
    needed |= set(_calls(*program.constants))
    waiting = list(needed)
    while waiting:
        function = functions.get(waiting.pop())
        for callee in _calls(function.body) if function else ():
            if callee not in needed:
                needed.add(callee)
                waiting.append(callee)
    if len(needed) == len(functions):
        return program
    kept = tuple(f for f in program.functions if f.name in needed)
    return replace(program, functions=kept)
