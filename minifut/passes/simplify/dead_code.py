r"""Dead-code elimination: statements, results of branches and SOACs, loop parameters.

    let y = f x   (y not used)                       →   nothing
    let (a, b) = map (\x -> {f x, g x}) xs  (b not)  →   let a = map (\x -> {f x}) xs

A statement with a check, a trace or a call inside stays. One sweep backwards with the
set of all names needed so far: names are unique, so that one set serves all bodies.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minifut.ir import calls, core, marks, search, traverse
from minifut.ir.core import Body, Function, Program, Stm
from minifut.ir.kernels import KernelBody, SegMap
from minifut.ir.node import flagged, replace, same_or
from minifut.ir.soacs import Screma, operand_count
from minifut.names import Name

EFFECTS = (core.Assert, core.Trace, core.Apply)


def has_effects(node: object) -> bool:
    """Whether something inside must run even if its results are not needed."""
    return search.contains(node, EFFECTS)


def with_functions(program: Program, functions: tuple[Function, ...]) -> Program:
    """The program with functions in the places of its own, without what those that are
    others do not need any more."""
    pairs = zip(functions, program.functions, strict=True)
    changed = {function.name for function, old in pairs if function is not old}
    if not changed:
        return program
    return remove_dead_code(replace(program, functions=functions), changed)


def remove_dead_code(program: Program, changing: Collection[Name]) -> Program:
    """The program without dead code, removed from those functions and from the
    constants."""
    needed: set[Name] = set()
    functions = []
    for function in program.functions:
        if function.name in changing:
            functions.append(_Sweep(needed).function(function))
            continue
        functions.append(function)
        if program.constants:
            needed |= traverse.used_names(function)
    constants = _Sweep(needed).statements(program.constants)
    return replace(program, constants=constants, functions=tuple(functions))


def remove_dead_code_in(body: Body) -> Body:
    """A body without what does not lead to its results."""
    swept: Body = _Sweep(set()).node(body)
    return swept


class _Sweep:
    def __init__(self, needed: set[Name]) -> None:
        self.needed = needed

    def function(self, function: Function) -> Function:
        for parameter in (*function.parameters, *function.results):
            traverse.own_names(parameter, self.needed)
        return replace(function, body=self.node(function.body))

    def node(self, node: Any) -> Any:
        """Any node below a statement: its names are needed, bodies are swept."""
        traverse.own_names(node, self.needed)
        if isinstance(node, Body):
            return replace(node, statements=self.statements(node.statements))
        if isinstance(node, KernelBody):
            for result in node.result:
                self.node(result)
            return replace(node, statements=self.statements(node.statements))
        return traverse.map_children(node, self.node)

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        kept: list[Stm] = []
        for statement in reversed(statements):
            found = self.statement(statement)
            if found is not None:
                kept.append(found)
        return same_or(kept[::-1], statements)

    def statement(self, statement: Stm) -> Stm | None:
        used = [bound.name in self.needed for bound in statement.pattern]
        if not any(used) and not has_effects(statement.exp):
            return None
        if not all(used):
            statement = self.without_unused(statement, used)
        elif traverse.is_leaf(statement.exp) or marks.has_mark(statement, marks.LIVE):
            self.needed |= traverse.names_in(statement)
            return statement
        for bound in statement.pattern:
            traverse.own_names(bound, self.needed)
        exp = self.node(statement.exp)
        if exp is statement.exp and all(used):
            marks.add_mark(statement, marks.LIVE)
        return replace(statement, exp=exp)

    def without_unused(self, statement: Stm, used: list[bool]) -> Stm:
        """The statement without unused results, where that is possible."""
        pattern = statement.pattern
        for position, wanted in enumerate(used):
            if wanted:
                for name in traverse.size_names(pattern[position].type):
                    for other, bound in enumerate(pattern):
                        used[other] |= bound.name == name
        match statement.exp:
            case core.If(condition, then, otherwise):
                exp: Any = core.If(condition, _only(then, used), _only(otherwise, used))
            case core.Match(scrutinees, cases, default):
                few = tuple(core.Case(c.values, _only(c.body, used)) for c in cases)
                exp = core.Match(scrutinees, few, _only(default, used))
            case Screma():
                return _fewer_mapped(statement, statement.exp, used)
            case SegMap():
                exp = _fewer_points(statement.exp, used)
            case core.Loop():
                return _fewer_carried(statement, statement.exp, used)
            case _:
                return statement
        return replace(statement, pattern=flagged(pattern, used), exp=exp)


def _only(body: Body, wanted: list[bool]) -> Body:
    return replace(body, result=flagged(body.result, wanted))


def _fewer_mapped(statement: Stm, exp: Screma, used: list[bool]) -> Stm:
    """Mapped results one by one, reductions whole; at least one result stays."""
    scanned = operand_count(exp.scans)
    wanted = [True] * scanned
    reduces = []
    for reduce in exp.reduces:
        own = used[len(wanted) : len(wanted) + len(reduce.neutral)]
        if any(own):
            reduces.append(reduce)
        wanted += [any(own)] * len(own)
    wanted += used[len(wanted) :]
    if all(wanted) or not any(wanted):
        return statement
    function = exp.function
    new = replace(
        function,
        body=_only(function.body, wanted),
        results=flagged(function.results, wanted),
    )
    soac = replace(exp, reduces=tuple(reduces), function=new)
    return replace(statement, pattern=flagged(statement.pattern, wanted), exp=soac)


def _fewer_points(exp: SegMap, used: list[bool]) -> SegMap:
    body = replace(exp.body, result=flagged(exp.body.result, used))
    return replace(exp, body=body, types=flagged(exp.types, used))


def _fewer_carried(statement: Stm, exp: core.Loop, used: list[bool]) -> Stm:
    """Parameters that only feed themselves."""
    names = [parameter.name for parameter in exp.parameters]
    anyhow, needs = _needs(exp)
    results = set(flagged(names, used))
    wanted = calls.reachable(needs, anyhow | results)
    keep = [name in wanted for name in names]
    if all(keep) or not any(keep):
        return statement
    loop = core.Loop(
        flagged(exp.parameters, keep),
        flagged(exp.initial, keep),
        exp.form,
        _only(exp.body, keep),
    )
    return replace(statement, pattern=flagged(statement.pattern, keep), exp=loop)


def _needs(exp: core.Loop) -> tuple[set[Name], dict[Name, set[Name]]]:
    """The parameters that the loop needs anyhow, for its form, its types and what has
    effects in it; for each parameter those that its next value needs."""
    parameters = {p.name for p in exp.parameters}
    needs: dict[Name, set[Name]] = {name: {name} for name in parameters}
    anyhow: set[Name] = set()

    def through(names: set[Name]) -> set[Name]:
        return set().union(*[needs[n] for n in names if n in needs])

    traverse.own_names(exp.form, anyhow)
    for parameter in exp.parameters:
        anyhow |= traverse.size_names(parameter.type)
    for statement in exp.body.statements:
        inputs = through(traverse.used_names(statement))
        for bound in statement.pattern:
            needs[bound.name] = inputs
        if has_effects(statement.exp):
            anyhow |= inputs
    found = {
        parameter.name: through({atom}) if isinstance(atom, Name) else set()
        for parameter, atom in zip(exp.parameters, exp.body.result, strict=True)
    }
    return anyhow & parameters, found
