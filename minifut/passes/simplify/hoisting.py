r"""Loop-invariant code motion, out of loops and lambdas.

    map (\x -> let s = exp c in x * s) xs   →   let s = exp c
                                                map (\x -> x * s) xs

Only what is total moves: scalar operators, sizes, `iota`, rearranged and reshaped
arrays, and SOACs with no check inside. Reads stay, since the body may never run. A
check that comes first in a lambda moves too, made harmless for an empty width: the new
check is `width <= 0 || condition`. Nothing moves out of branches.
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
    Program,
    Rearrange,
    Reshape,
    ScalarOp,
    SizeExp,
    Stm,
)
from minifut.ir.kernels import KernelBody
from minifut.ir.node import replace, same_or
from minifut.ir.scalars import operator
from minifut.ir.scope import Scope
from minifut.ir.sizes import Size
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Scatter, Screma
from minifut.ir.traverse import atom_size, free_names, map_children
from minifut.ir.types import BOOL, I64
from minifut.names import Name, NameSource
from minifut.passes.simplify.dead_code import has_effects

TOTAL = (ScalarOp, SizeExp, Iota, Rearrange, Reshape)
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
        return moved, replace(statement, exp=new)

    def part(self, part: Any, width: Size | None, moved: list[Stm]) -> Any:
        """A lambda of a SOAC, or an operator with one inside (whose checks stay)."""
        if isinstance(part, Lambda):
            local = {p.name for p in part.parameters}
            return replace(part, body=self.body(part.body, local, width, moved))
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
            local.update(p.name for p in statement.pattern)
        if statements is body.statements and len(kept) == len(statements):
            return body
        return replace(body, statements=tuple(kept))

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
