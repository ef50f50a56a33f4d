"""Lambda lifting: what functions mention of their callers becomes a parameter.

    fun main(k: i64) { ... apply f(n) ... }       fun main(k: i64) { ... apply f(n, k) }
    fun f(n: i64) { ... add(n, k) ...          →  fun f(n: i64, k': i64) {
                    apply f(m) ... }                ... add(n, k') ... apply f(m, k') }

A recursive function whose argument is a function is specialised for it, and so mentions
what that function has captured where it is. Johnsson, "Lambda lifting", 1985.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from minifut.ir import search, traverse, types
from minifut.ir.core import Apply, Function, Param
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.names import Name, NameSource


def lift(
    functions: tuple[Function, ...], known: Set[Name], names: NameSource
) -> tuple[Function, ...]:
    """The functions, mentioning nothing but their own and what is `known` to all."""
    if not any(traverse.free_names(function) - known for function in functions):
        return functions
    scope = scope_of(*functions)
    needs = {
        # sizes before the arrays that have them
        name: sorted(own, key=lambda n: (isinstance(scope[n], types.ArrayType), n.tag))
        for name, own in _needs(functions, known, scope).items()
    }
    return tuple(_lifted(function, needs, scope, names) for function in functions)


def _needs(
    functions: tuple[Function, ...], known: Set[Name], scope: Scope
) -> dict[Name, set[Name]]:
    """What each function, and those that it calls, mention of their callers."""
    needs, inside, calls = {}, {}, {}
    for function in functions:
        name = function.name
        needs[name] = traverse.free_names(function) - known
        calls[name] = {n.function for n in search.nodes_of(Apply, function)}
        inside[name] = {*traverse.bound_names(function), *known}
    changed = True
    while changed:
        changed = False
        for name, own in needs.items():
            more = set().union(*[needs.get(callee, ()) for callee in calls[name]])
            more = more.union(*[traverse.size_names(scope[need]) for need in own])
            if not more <= own | inside[name]:
                own |= more - inside[name]
                changed = True
    return needs


def _lifted(
    function: Function, needs: dict[Name, list[Name]], scope: Scope, names: NameSource
) -> Function:
    def called(node: Any) -> Any:
        if isinstance(node, Apply) and needs.get(node.function):
            return replace(node, arguments=(*node.arguments, *needs[node.function]))
        return traverse.map_children(node, called)

    function = traverse.map_children(function, called)
    own = needs[function.name]
    if not own:
        return function
    inner = {name: names.like(name) for name in own}
    more = tuple(Param(inner[n], traverse.substitute(scope[n], inner)) for n in own)
    changed = traverse.substitute(function, inner)
    return replace(changed, parameters=(*changed.parameters, *more))
