"""Which function calls which: the graph of calls, its cycles, and what threads call.

    graph = call_graph(program)         how often each function calls which
    recursive(graph)                    the functions on a cycle
    reaching(graph, those)              the functions that come to one of those
    called_in_threads(program)          what is called from inside of SOACs and kernels

All of it takes time linear in the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from minifut.ir.core import Apply, Program
from minifut.ir.kernels import SegHist, SegMap, SegRed, SegScan
from minifut.ir.search import nodes_of
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import children
from minifut.names import Name

T = TypeVar("T")
Graph = Mapping[Name, Counter[Name]]

IN_THREADS = (*SOAC_EXPRESSIONS, SegMap, SegRed, SegScan, SegHist)
"""the expressions whose insides threads run"""


def calls_in(*nodes: object) -> Counter[Name]:
    """How often each function is called somewhere in the nodes."""
    return Counter(call.function for call in nodes_of(Apply, *nodes))


def call_graph(program: Program) -> dict[Name, Counter[Name]]:
    """For each function how often it calls which."""
    return {f.name: calls_in(f.body) for f in program.functions}


def reachable(graph: Mapping[T, Iterable[T]], start: Iterable[T]) -> set[T]:
    """The functions of `start` and all that they call, directly or not; or what is
    reached in another graph."""
    found = set(start)
    waiting = list(found)
    while waiting:
        for callee in graph.get(waiting.pop(), ()):
            if callee not in found:
                found.add(callee)
                waiting.append(callee)
    return found


def reaching(graph: Graph, goals: Collection[Name]) -> set[Name]:
    """The functions of `goals` and all that call one, directly or not."""
    callers: dict[Name, Counter[Name]] = {}
    for caller, callees in graph.items():
        for callee in callees:
            callers.setdefault(callee, Counter())[caller] += 1
    return reachable(callers, goals)


def callees_first(graph: Graph) -> list[Name]:
    """All functions, each after those it calls (but for those that call it too)."""
    order: list[Name] = []
    seen: set[Name] = set()
    for start in graph:
        waiting = [(start, False)]
        while waiting:
            name, finished = waiting.pop()
            if finished:
                order.append(name)
            elif name not in seen and name in graph:
                seen.add(name)
                waiting.append((name, True))
                waiting.extend((callee, False) for callee in graph[name])
    return order


def recursive(graph: Graph) -> set[Name]:
    """The functions on a cycle: Kosaraju's strongly connected components."""
    callers: dict[Name, list[Name]] = {name: [] for name in graph}
    for caller, callees in graph.items():
        for callee in callees:
            if callee in callers:
                callers[callee].append(caller)
    found = {name for name, callees in graph.items() if name in callees}
    assigned: set[Name] = set()
    for root in reversed(callees_first(graph)):
        if root in assigned:
            continue
        assigned.add(root)
        component, waiting = [root], [root]
        while waiting:
            for caller in callers[waiting.pop()]:
                if caller not in assigned:
                    assigned.add(caller)
                    component.append(caller)
                    waiting.append(caller)
        if len(component) > 1:
            found.update(component)
    return found


def called_in_threads(program: Program) -> set[Name]:
    """The functions called, directly or not, from inside SOACs and segmented
    operations."""
    found: set[Name] = set()
    waiting: list[object] = [program]
    while waiting:
        node = waiting.pop()
        if isinstance(node, IN_THREADS):
            found.update(calls_in(node))
        else:
            waiting += children(node)
    return reachable(call_graph(program), found) if found else found
