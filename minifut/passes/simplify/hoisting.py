r"""Loop-invariant code motion, out of loops and lambdas.

    map (\x -> let s = exp c in x * s) xs   →   let s = exp c
                                                map (\x -> x * s) xs

What is total moves as it is: scalar operators, sizes, `iota`, rearranged and reshaped
arrays, and SOACs that neither check nor access other arrays. Reads stay. What may only
run where the body does, and after the checks before it, moves if it comes first, made
harmless for a body that never runs (`EntryCondition`): a check, a SOAC whose lambda
reads elements of other arrays, and a branch with such a SOAC. Nothing moves out of
branches.

Of a SOAC inside of another, what reduces elements of invariant arrays to scalars moves
as a map of its own, done once for each element and not for each pair:

    map (\x -> map (\y -> dot x y / norm y) ys) xs   →
        let ns = map (\y -> norm y) ys
        map (\x -> map2 (\y n -> dot x y / n) ys ns) xs
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minifut.immutables import immutable
from minifut.ir import core, kernels, marks
from minifut.ir.builder import Builder, constant
from minifut.ir.node import replace, same_or
from minifut.ir.scope import Scope
from minifut.ir.search import contains
from minifut.ir.sizes import Size
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Scatter, Screma, map_
from minifut.ir.traverse import free_names, is_leaf, map_children, names_in, rename
from minifut.ir.types import BOOL, I64, ScalarType, array_of
from minifut.names import Name, NameSource
from minifut.passes.simplify.dead_code import has_effects

TOTAL = (core.ScalarOp, core.SizeExp, core.Iota, core.Rearrange, core.Reshape)
FEW = 16
"""elements that are reduced again as fast as a result is read"""
PARTIAL = (core.Index, core.Update, core.WhileLoop)
"""what is defined only where facts of its place hold: indices in bounds, an end"""
GUARDED = (*SOAC_EXPRESSIONS, core.Assert, core.If)
MAY_MOVE = (*TOTAL, *GUARDED)


def hoist(
    program: core.Program, names: NameSource, scope: Scope, changing: Collection[Name]
) -> core.Program:
    """The program with invariant statements moved out as far as they go, in those
    functions and in the constants."""
    hoister = _Hoister(names, scope)
    constants = hoister.statements(program.constants)
    functions = tuple(
        hoister.node(function) if function.name in changing else function
        for function in program.functions
    )
    return replace(program, constants=constants, functions=functions)


class _Hoister:
    def __init__(self, names: NameSource, scope: Scope) -> None:
        self.names = names
        self.scope = scope

    def node(self, node: Any) -> Any:
        """Nodes from which nothing moves out."""
        if isinstance(node, core.Body | kernels.KernelBody):
            return replace(node, statements=self.statements(node.statements))
        return map_children(node, self.node)

    def statements(self, statements: tuple[core.Stm, ...]) -> tuple[core.Stm, ...]:
        made: list[core.Stm] = []
        for statement in statements:
            before, after = self.statement(statement)
            made += (*before, after)
        return same_or(made, statements)

    def statement(self, statement: core.Stm) -> tuple[list[core.Stm], core.Stm]:
        """What moved out of the statement, and the statement."""
        exp = statement.exp
        moved: list[core.Stm] = []
        if is_leaf(exp) or marks.has_mark(statement, marks.WITHOUT_INVARIANTS):
            return moved, statement
        if isinstance(exp, core.Loop):
            local = {p.name for p in exp.parameters}
            if not isinstance(exp.form, core.WhileLoop):
                local.add(exp.form.index)
            body = self.body(exp.body, local, EntryCondition.of_loop(exp), moved)
            new: Any = replace(exp, body=body)
        elif isinstance(exp, (Screma, Scatter, Hist)):
            entry = EntryCondition(exp.width, I64)
            new = map_children(exp, lambda part: self.part(part, entry, moved))
        else:
            new = map_children(exp, self.node)
        if new is exp and not moved:
            marks.add_mark(statement, marks.WITHOUT_INVARIANTS)
        return moved, replace(statement, exp=new)

    def part(
        self, part: Any, entry: EntryCondition | None, moved: list[core.Stm]
    ) -> Any:
        """A lambda of a SOAC, or an operator with one inside (whose checks stay)."""
        if isinstance(part, core.Lambda):
            local = {p.name for p in part.parameters}
            inside = part.body.statements
            varying = local.union(*map(_bound, inside))
            made = [s for each in inside for s in self.separated(each, varying)]
            body = replace(part.body, statements=same_or(made, inside))
            return replace(part, body=self.body(body, local, entry, moved))
        return map_children(part, lambda inner: self.part(inner, None, moved))

    def body(
        self,
        body: core.Body,
        local: set[Name],
        entry: EntryCondition | None,
        moved: list[core.Stm],
    ) -> core.Body:
        """The body without what does not depend on `local`; that goes to `moved`."""
        kept: list[core.Stm] = []
        statements = self.statements(body.statements)
        first = True
        for statement in statements:
            exp = statement.exp
            if isinstance(exp, MAY_MOVE) and local.isdisjoint(names_in(statement)):
                if is_total(exp):
                    moved.append(statement)
                    continue
                if (
                    first
                    and entry is not None
                    and self.guarded(statement, entry, moved)
                ):
                    continue
            first = first and not isinstance(exp, core.Loop) and not has_effects(exp)
            kept.append(statement)
            local.update(_bound(statement))
        if statements is body.statements and len(kept) == len(statements):
            return body
        return replace(body, statements=tuple(kept))

    def separated(self, statement: core.Stm, local: set[Name]) -> tuple[core.Stm, ...]:
        """The statement, perhaps after a map of what it reduces of other arrays."""
        exp = statement.exp
        if not isinstance(exp, Screma) or statement.attributes:
            return (statement,)
        body = exp.function.body
        if exp.width.names() & local or not any(map(_reduces_many, body.statements)):
            return (statement,)
        parameters = exp.function.parameters
        inputs = zip(parameters, exp.arrays, strict=True)
        given = {p: array for p, array in inputs if array not in local}
        varying = local.union(p.name for p in parameters if p not in given)
        invariant: list[core.Stm] = []
        reduced: dict[Name, core.Param] = {}
        checked = False
        for inner in body.statements:
            used = free_names(inner)
            scalars = all(isinstance(p.type, ScalarType) for p in inner.pattern)
            after = not used.isdisjoint(reduced)
            checked = checked or has_effects(inner.exp)
            soac = isinstance(inner.exp, SOAC_EXPRESSIONS)
            movable = (soac and not checked) or is_total(inner.exp)
            if not movable or used & varying or (after and not scalars):
                varying.update(_bound(inner))
                continue
            invariant.append(inner)
            if scalars and (after or _reduces_many(inner)):
                reduced.update((p.name, p) for p in inner.pattern)
        kept = [s for s in body.statements if reduced.keys().isdisjoint(_bound(s))]
        wanted = {*body.result}.union(*map(free_names, kept))
        results = tuple(p for p in reduced.values() if p.name in wanted)
        if not (results and given):
            return (statement,)
        result = core.Body(tuple(invariant), tuple(p.name for p in results))
        function = core.Lambda(tuple(given), result, tuple(p.type for p in results))
        first = map_(exp.width, tuple(given.values()), rename(function, self.names))
        types = [array_of(p.type, (exp.width,)) for p in results]
        arrays = tuple(core.Param(self.names.fresh("reduced"), each) for each in types)
        inside = replace(body, statements=tuple(kept))
        rest = replace(exp.function, parameters=parameters + results, body=inside)
        taken = exp.arrays + tuple(p.name for p in arrays)
        second = replace(statement, exp=replace(exp, arrays=taken, function=rest))
        return core.Stm(arrays, first, (), statement.location), second

    def guarded(
        self, statement: core.Stm, entry: EntryCondition, moved: list[core.Stm]
    ) -> bool:
        """Whether it moved, for a body that runs at least once."""
        exp = statement.exp
        if isinstance(exp, core.Assert):
            moved += guard_check(statement, exp, entry, self.names, self.scope)
            return True
        if has_effects(exp) or (isinstance(exp, core.If) and not _computes_arrays(exp)):
            return False
        moved += guard_value(statement, entry, self.names, self.scope)
        return True


def is_total(exp: object) -> bool:
    """Whether it may be computed where the program would not have done so."""
    if isinstance(exp, SOAC_EXPRESSIONS):
        return not has_effects(exp) and not contains(exp, PARTIAL)
    return isinstance(exp, TOTAL)


def _computes_arrays(exp: core.If) -> bool:
    """Whether a branch runs a SOAC, and no result is an array from outside."""
    statements = (*exp.then.statements, *exp.otherwise.statements)
    inside = {name for each in statements for name in _bound(each)}
    results = (*exp.then.result, *exp.otherwise.result)
    return contains(exp, SOAC_EXPRESSIONS) and all(
        not isinstance(atom, Name) or atom in inside for atom in results
    )


def _reduces_many(statement: core.Stm) -> bool:
    exp = statement.exp
    known = exp.width.as_constant if isinstance(exp, Screma) and exp.reduces else 0
    return known is None or known > FEW


def _bound(statement: core.Stm) -> list[Name]:
    return [p.name for p in statement.pattern]


@immutable
class EntryCondition:
    """When a body runs at least once: where a width or bound is above 0, or where a
    loop's condition holds at the start."""

    width: Size | core.Atom
    """of a SOAC or a `for` loop; for a `while` loop the condition at its start"""
    type: ScalarType

    @staticmethod
    def of_loop(loop: core.Loop) -> EntryCondition:
        """The entry of a loop's body."""
        form = loop.form
        if not isinstance(form, core.WhileLoop):
            return EntryCondition(form.bound, form.type)
        names = [parameter.name for parameter in loop.parameters]
        return EntryCondition(loop.initial[names.index(form.condition)], BOOL)

    @property
    def is_certain(self) -> bool:
        """Whether the body runs in any case."""
        width = self.width
        known = width.as_constant if isinstance(width, Size) else None
        if isinstance(width, core.Constant):
            known = int(width.value)
        return known is not None and known > 0

    def misses(self, build: Builder) -> core.Atom:
        """Whether the body never runs."""
        width = self.width
        atom = build.size_atom(width) if isinstance(width, Size) else width
        if self.type == BOOL:
            return build.op("not", atom, base="empty")
        return build.op("le", atom, constant(0, self.type), base="empty")


def guard_check(
    statement: core.Stm,
    check: core.Assert,
    entry: EntryCondition,
    names: NameSource,
    scope: Scope,
) -> list[core.Stm]:
    """The check, for a body that runs at least once."""
    if entry.is_certain:
        return [statement]
    build = Builder(names, scope, statement.location)
    condition = build.op("or", entry.misses(build), check.condition, base="ok")
    build.bind((), replace(check, condition=condition))
    return build.statements


def guard_value(
    statement: core.Stm, entry: EntryCondition, names: NameSource, scope: Scope
) -> list[core.Stm]:
    """What computes values, and zeros for a body that never runs."""
    if entry.is_certain:
        return [statement]
    build = Builder(names, scope, statement.location)
    empty = build.nested()
    zeros = empty.finish(*[empty.zero(p.type) for p in statement.pattern])
    runs = Builder(names, scope, statement.location, statement.attributes)
    values = runs.finish(*runs.let_many(statement.exp))
    guard = core.If(entry.misses(build), zeros, values)
    build.append(replace(statement, exp=guard, attributes=()))
    return build.statements
