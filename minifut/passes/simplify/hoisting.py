r"""Loop-invariant code motion, out of loops and lambdas.

    map (\x -> let s = exp c in x * s) xs   →   let s = exp c
                                                map (\x -> x * s) xs

Only what is total moves: scalar operators, sizes, `iota`, rearranged and reshaped
arrays, and SOACs with no check inside. Reads stay, since the body may never run. A
check that comes first in a lambda moves too, made harmless for an empty width: the new
check is `width <= 0 || condition`. Nothing moves out of branches.

Of a SOAC inside of another, what reduces elements of invariant arrays to scalars moves
as a map of its own, done once for each element and not for each pair:

    map (\x -> map (\y -> dot x y / norm y) ys) xs   →
        let ns = map (\y -> norm y) ys
        map (\x -> map2 (\y n -> dot x y / n) ys ns) xs
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from minifut.ir.builder import Builder, i64
from minifut.ir.core import (
    Assert,
    Body,
    ForLoop,
    Iota,
    Lambda,
    Loop,
    Param,
    Program,
    Rearrange,
    Reshape,
    ScalarOp,
    SizeExp,
    Stm,
)
from minifut.ir.kernels import KernelBody
from minifut.ir.marks import WITHOUT_INVARIANTS, add_mark, has_mark
from minifut.ir.node import replace, same_or
from minifut.ir.scalars import operator
from minifut.ir.scope import Scope
from minifut.ir.sizes import Size
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Scatter, Screma, map_
from minifut.ir.traverse import atom_size, free_names, map_children, rename
from minifut.ir.types import BOOL, I64, ScalarType, array_of
from minifut.names import Name, NameSource
from minifut.passes.simplify.dead_code import has_effects

TOTAL = (ScalarOp, SizeExp, Iota, Rearrange, Reshape)
FEW = 16
"""elements that are reduced again as fast as a result is read"""
MAY_MOVE = (*TOTAL, *SOAC_EXPRESSIONS, Assert)


def hoist(
    program: Program, names: NameSource, scope: Scope, changing: Collection[Name]
) -> Program:
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
        if isinstance(node, Body | KernelBody):
            return replace(node, statements=self.statements(node.statements))
        return map_children(node, self.node)

    def statements(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        made: list[Stm] = []
        for statement in statements:
            before, after = self.statement(statement)
            made += (*before, after)
        return same_or(made, statements)

    def statement(self, statement: Stm) -> tuple[list[Stm], Stm]:
        """What moved out of the statement, and the statement."""
        exp = statement.exp
        moved: list[Stm] = []
        if has_mark(statement, WITHOUT_INVARIANTS):
            return moved, statement
        if isinstance(exp, Loop):
            local = {p.name for p in exp.parameters}
            width = None
            if isinstance(exp.form, ForLoop):
                local.add(exp.form.index)
                width = atom_size(exp.form.bound) if exp.form.type == I64 else None
            body = self.body(exp.body, local, width, moved)
            new: Any = replace(exp, body=body)
        elif isinstance(exp, (Screma, Scatter, Hist)):
            new = map_children(exp, lambda part: self.part(part, exp.width, moved))
        else:
            new = map_children(exp, self.node)
        if new is exp and not moved:
            add_mark(statement, WITHOUT_INVARIANTS)
        return moved, replace(statement, exp=new)

    def part(self, part: Any, width: Size | None, moved: list[Stm]) -> Any:
        """A lambda of a SOAC, or an operator with one inside (whose checks stay)."""
        if isinstance(part, Lambda):
            local = {p.name for p in part.parameters}
            inside = part.body.statements
            varying = local.union(*map(_bound, inside))
            made = [s for each in inside for s in self.separated(each, varying)]
            body = replace(part.body, statements=same_or(made, inside))
            return replace(part, body=self.body(body, local, width, moved))
        return map_children(part, lambda inner: self.part(inner, None, moved))

    def body(
        self, body: Body, local: set[Name], width: Size | None, moved: list[Stm]
    ) -> Body:
        """The body without what does not depend on `local`; that goes to `moved`."""
        kept: list[Stm] = []
        statements = self.statements(body.statements)
        first = True
        for statement in statements:
            exp = statement.exp
            if isinstance(exp, MAY_MOVE) and local.isdisjoint(free_names(statement)):
                if is_total(exp):
                    moved.append(statement)
                    continue
                if isinstance(exp, Assert) and first and width is not None:
                    self.guarded(statement, exp, width, moved)
                    continue
            first = first and not isinstance(exp, Loop) and not has_effects(exp)
            kept.append(statement)
            local.update(_bound(statement))
        if statements is body.statements and len(kept) == len(statements):
            return body
        return replace(body, statements=tuple(kept))

    def separated(self, statement: Stm, local: set[Name]) -> tuple[Stm, ...]:
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
        invariant: list[Stm] = []
        reduced: dict[Name, Param] = {}
        for inner in body.statements:
            used = free_names(inner)
            scalars = all(isinstance(p.type, ScalarType) for p in inner.pattern)
            after = not used.isdisjoint(reduced)
            if not is_total(inner.exp) or used & varying or (after and not scalars):
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
        result = Body(tuple(invariant), tuple(p.name for p in results))
        function = Lambda(tuple(given), result, tuple(p.type for p in results))
        first = map_(exp.width, tuple(given.values()), rename(function, self.names))
        types = [array_of(p.type, (exp.width,)) for p in results]
        arrays = tuple(Param(self.names.fresh("reduced"), each) for each in types)
        inside = replace(body, statements=tuple(kept))
        rest = replace(exp.function, parameters=parameters + results, body=inside)
        taken = exp.arrays + tuple(p.name for p in arrays)
        second = replace(statement, exp=replace(exp, arrays=taken, function=rest))
        return Stm(arrays, first, (), statement.location), second

    def guarded(
        self, statement: Stm, exp: Assert, width: Size, moved: list[Stm]
    ) -> None:
        """The check, for a body that runs at least once."""
        known = width.as_constant
        if known is not None and known > 0:
            moved.append(statement)
            return
        build = Builder(self.names, self.scope, statement.location)
        empty = ScalarOp(operator("le", I64), (build.size_atom(width), i64(0)))
        condition = build.let(
            ScalarOp(operator("or", BOOL), (build.let(empty, "empty"), exp.condition)),
            "ok",
        )
        build.bind((), replace(exp, condition=condition))
        moved.extend(build.statements)


def is_total(exp: object) -> bool:
    """Whether it may be computed where the program would not have done so."""
    if isinstance(exp, SOAC_EXPRESSIONS):
        return not has_effects(exp)
    return isinstance(exp, TOTAL)


def _reduces_many(statement: Stm) -> bool:
    exp = statement.exp
    known = exp.width.as_constant if isinstance(exp, Screma) and exp.reduces else 0
    return known is None or known > FEW


def _bound(statement: Stm) -> list[Name]:
    return [p.name for p in statement.pattern]
