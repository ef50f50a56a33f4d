r"""Partial inlining: callers run the last map of a function, where it fuses with more.

    fun f(n, xs) -> (r) { ..; let a = ..; let r = map g a; return r }
    let y = apply f(n, xs)
    let z = map h y
  →
    fun f(n, xs) -> (a) { ..; let a = ..; return a }
    let a = apply f(n, xs)
    let z = map (\x -> h (g x)) a

A call hides what makes its result from fusion, so that an array is stored and loaded
once more. Functions that are called twice or more stay functions, since copies of
them would cost compile time; their last map alone is copied. With it go the scalars,
ranges, views and short maps that it needs, of which callers would know less as results;
other arrays are returned.

Conditions: some caller reads the result once, in a SOAC; the map has no check, nothing
else in the function reads what it makes, and what is returned for it shares no memory
with other results. Functions that threads call or that are recursive stay as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set

from minifut.analysis.aliases import find_aliases
from minifut.immutables import immutable
from minifut.ir import calls, core
from minifut.ir.core import Apply, Atom, Body, Function, Param, Program, Stm
from minifut.ir.host_bodies import map_statements
from minifut.ir.node import replace
from minifut.ir.search import contains, count_of, nodes_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma, soac_of
from minifut.ir.traverse import (
    bound_types,
    free_names,
    rename,
    size_names,
    substitute,
)
from minifut.ir.types import ArrayType, Type
from minifut.names import Name, NameSource
from minifut.passes.fusion.driver import fuse
from minifut.passes.fusion.pair import UNTOUCHED
from minifut.passes.simplify.dead_code import has_effects

GROWTH = 400
"""statements that copies of the last map of one function may add"""
FEW = 8
"""points of a map that callers compute again"""


def partial_inline(program: Program, names: NameSource) -> Program:
    """Copy the last maps of functions to their calls, and fuse them there."""
    if not contains(program, Apply):
        return program
    wanted = _wanted(program)
    for entry in program.entries:
        wanted.pop(entry.function, None)
    if not wanted:
        return program
    recursive = calls.recursive(calls.call_graph(program))
    fixed = recursive | calls.called_in_threads(program)
    count = calls.calls_in(program)
    moved: dict[Name, MovedMaps] = {}
    for function in program.functions:
        if function.name in wanted and function.name not in fixed:
            end = _moved_maps(function, wanted[function.name], names)
            if end and end.size * (count[function.name] - 1) <= GROWTH:
                moved[function.name] = end
    if not moved:
        return program

    def changed(statement: Stm) -> Iterable[Stm]:
        exp = statement.exp
        if isinstance(exp, Apply) and exp.function in moved:
            return moved[exp.function].called(statement, exp, names)
        return (map_statements(statement, changed),)

    before = [moved[f.name].before if f.name in moved else f for f in program.functions]
    functions = tuple(map_statements(function, changed) for function in before)
    constants = map_statements(program.constants, changed)
    return fuse(replace(program, constants=constants, functions=functions), names)


def _wanted(program: Program) -> dict[Name, set[int]]:
    """The results of functions that some caller reads once, in a SOAC."""
    found: dict[Name, set[int]] = defaultdict(set)
    for body in (Body(program.constants, ()), *nodes_of(Body, program)):
        made = {
            bound.name: (statement.exp.function, position)
            for statement in body.statements
            if isinstance(statement.exp, Apply)
            for position, bound in enumerate(statement.pattern)
        }
        if made:
            uses = _uses(body, made.keys())
            for name, (function, position) in made.items():
                if uses[name] == [True]:
                    found[function].add(position)
    return found


def _uses(body: Body, names: Set[Name]) -> dict[Name, list[bool]]:
    """For each use of those names in a body whether it is as an input of a SOAC."""
    uses: dict[Name, list[bool]] = defaultdict(list)
    for statement in body.statements:
        is_soac = isinstance(statement.exp, SOAC_EXPRESSIONS)
        for name in names & free_names(statement):
            reads = is_soac and name in soac_of(statement).arrays
            uses[name].append(reads)
    for atom in body.result:
        if isinstance(atom, Name):
            uses[atom].append(False)
    return uses


@immutable
class MovedMaps:
    """What callers run of a function: `before` is the function without it, `kept` are
    the positions of results that it still returns, before `returned` (names of its
    body, with their types), and `maps` and what they need are `statements`, whose last
    `len(maps)` make the results at those positions."""

    function: Function
    before: Function
    kept: tuple[int, ...]
    returned: Mapping[Name, Type]
    statements: tuple[Stm, ...]
    maps: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """The statements that a copy adds."""
        return count_of(Stm, *self.statements)

    def called(self, call: Stm, exp: Apply, names: NameSource) -> tuple[Stm, ...]:
        """What replaces a call of the function."""
        parameters = (parameter.name for parameter in self.function.parameters)
        meaning: dict[Name, Atom] = dict(zip(parameters, exp.arguments, strict=True))
        results = self.function.results
        for position in self.kept:
            meaning[results[position].name] = call.pattern[position].name
            atom = self.function.body.result[position]
            if isinstance(atom, Name):
                meaning.setdefault(atom, call.pattern[position].name)
        new = {name: names.like(name) for name in self.returned}
        meaning |= new
        kept = (call.pattern[position] for position in self.kept)
        taken = [
            Param(new[name], substitute(type_, meaning))
            for name, type_ in self.returned.items()
        ]
        first = replace(call, pattern=(*kept, *taken))
        copied = rename(Body(self.statements, ()), names, meaning).statements
        start = len(copied) - len(self.maps)
        maps = (
            replace(each, pattern=tuple(call.pattern[i] for i in positions))
            for each, positions in zip(copied[start:], self.maps, strict=True)
        )
        return (first, *copied[:start], *maps)


def _moved_maps(
    function: Function, wanted: Set[int], names: NameSource
) -> MovedMaps | None:
    """The maps that make those results, with what they need; None if there are none."""
    body = function.body
    readers = Counter(name for each in body.statements for name in free_names(each))
    places = {a: i for i, a in enumerate(body.result) if isinstance(a, Name)}
    made = {bound.name: s for s in body.statements for bound in s.pattern}
    asked = [made[name] for name, at in places.items() if at in wanted and name in made]
    maps = [
        statement
        for statement in dict.fromkeys(asked)
        if _is_plain_map(statement)
        and all(
            bound.name in places
            and not readers[bound.name]
            and body.result.count(bound.name) == 1
            for bound in statement.pattern
        )
    ]
    if not maps:
        return None
    positions = tuple(tuple(places[p.name] for p in each.pattern) for each in maps)
    moved = {i for each in positions for i in each}
    kept = tuple(i for i in range(len(body.result)) if i not in moved)
    repeated, needed = _needs(function, maps, made)
    kept_names = {body.result[i] for i in kept}
    needed = [name for name in needed if name not in kept_names]
    types = bound_types(body.statements)
    returned = {name: types[name] for name in needed}
    if not (kept or returned) or not _may_return(function, kept, returned, made):
        return None
    results = (
        *(function.results[i] for i in kept),
        *(Param(names.like(name), type_) for name, type_ in returned.items()),
    )
    left = tuple(s for s in body.statements if s not in maps)
    atoms = (*(body.result[i] for i in kept), *returned)
    before = replace(function, results=results, body=Body(left, atoms))
    return MovedMaps(function, before, kept, returned, (*repeated, *maps), positions)


def _is_plain_map(statement: Stm) -> bool:
    exp = statement.exp
    is_map = isinstance(exp, Screma) and exp.is_map
    return is_map and not UNTOUCHED & {*statement.attributes} and not has_effects(exp)


def _needs(
    function: Function, maps: list[Stm], made: Mapping[Name, Stm]
) -> tuple[tuple[Stm, ...], list[Name]]:
    """What the maps read: statements that callers repeat, in order, and other names
    that the body binds."""
    repeated: set[Name] = set()
    needed: list[Name] = []
    waiting = [name for each in maps for name in _read(each)]
    while waiting:
        name = waiting.pop()
        statement = made.get(name)
        if statement is None or name in repeated or name in needed:
            continue
        if _is_repeated(statement, made):
            repeated.add(name)
            waiting += _read(statement)
        else:
            needed.append(name)
    statements = function.body.statements
    return tuple(s for s in statements if _binds(s, repeated)), needed


def _is_repeated(statement: Stm, made: Mapping[Name, Stm]) -> bool:
    """Whether callers compute again what a statement does, which takes no time and
    cannot fail."""
    exp = statement.exp
    match exp:
        case core.ScalarOp() | core.SizeExp() | core.Iota():
            return True
        case Screma():
            width = exp.width.as_constant
            is_short = exp.is_map and width is not None and width <= FEW
            return is_short and not has_effects(exp)
        case core.Index() | core.Rearrange() | core.Reshape():
            source = made.get(exp.array)
            return isinstance(statement.pattern[0].type, ArrayType) and (
                source is None or _knows_sizes(source, exp.array, made)
            )
    return False


def _knows_sizes(statement: Stm, array: Name, made: Mapping[Name, Stm]) -> bool:
    """Whether callers know the sizes of an array that the body makes."""
    (bound,) = (p for p in statement.pattern if p.name == array)
    return made.keys().isdisjoint(size_names(bound.type))


def _read(statement: Stm) -> list[Name]:
    names = free_names(statement)
    for bound in statement.pattern:
        names |= size_names(bound.type)
    return sorted(names, key=lambda name: name.tag)


def _binds(statement: Stm, names: Set[Name]) -> bool:
    return any(bound.name in names for bound in statement.pattern)


def _may_return(
    function: Function,
    kept: Iterable[int],
    returned: Mapping[Name, Type],
    made: Mapping[Name, Stm],
) -> bool:
    """Whether the function may return these arrays: callers know their sizes, and they
    share no memory with each other or with other results."""
    for type_ in returned.values():
        if not isinstance(type_, ArrayType) or made.keys() & size_names(type_):
            return False
    aliases = find_aliases(function)
    others = [function.body.result[i] for i in kept]
    found = [aliases.of(atom) for atom in (*others, *returned)]
    return sum(map(len, found)) == len(frozenset().union(*found))
