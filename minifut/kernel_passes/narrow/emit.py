"""Index arithmetic of a kernel in 32 bits.

    let row: i64 = (at / m)                let row_1: i32 = (at_1 / m_1)
    let i: i64 = (row + 1)           →     let i_1: i32 = (row_1 + 1)
    let x: f32 = xs[size(i * m)]           let x: f32 = xs[(i_1 * m_1)]
    store ys[at] = f64(i)                  store ys[at_1] = f64(i64(i_1))

A variable of i64 that indices and loops need, and whose bound is known, gets a twin of
i32. What else needs it has the variable itself, a copy of the twin. `wanted` collects
the bounds of all sums, differences and products that are computed in 32 bits: the
kernel is right if these are below 2^31, and the scalars in `natural` at least 0.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.node import replace
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.narrow.expressions import NarrowExpressions
from minifut.kernel_passes.narrow.plan import names_in


class Narrowing(NarrowExpressions):
    """The statements of a kernel by its plan."""

    def narrowed(self, kernel: kc.Kernel) -> kc.Kernel | None:
        """The kernel with indices of 32 bits; None if there are none."""
        statements = self.statements(kernel.body.statements)
        if not self.twins:
            return None
        head = [
            kc.Declare(twin, kc.Cast(kc.Variable(name, kc.LONG), kc.INT))
            for name, twin in self.scalars.items()
        ]
        body = self._without_unused(kc.Block((*head, *statements)))
        return replace(kernel, body=body)

    def statements(
        self, statements: tuple[kc.Statement, ...]
    ) -> tuple[kc.Statement, ...]:
        """Statements in order."""
        found: list[kc.Statement] = []
        for statement in statements:
            found += self.statement(statement)
        return tuple(found)

    def statement(self, statement: kc.Statement) -> tuple[kc.Statement, ...]:
        """What stands for a statement. A variable with a twin is a copy of that."""
        match statement:
            case kc.Declare(kc.Variable() as variable, init) if self.plan.is_paired(
                variable
            ):
                twin = self.twin(variable)
                if init is None:
                    return kc.Declare(twin), statement
                value = self.narrow(init)
                return kc.Declare(twin, value), kc.Declare(variable, wide(twin))
            case kc.Assign(kc.Variable() as variable, exp) if self.plan.is_paired(
                variable
            ):
                twin = self.twin(variable)
                return kc.Assign(twin, self.narrow(exp)), kc.Assign(
                    variable, wide(twin)
                )
            case kc.HideValue(variable) if self.plan.is_paired(variable):
                twin = self.twin(variable)
                return kc.HideValue(twin), kc.Assign(variable, wide(twin))
            case kc.For() if self.plan.is_paired(statement.variable):
                return (self.loop(statement),)
            case kc.Branch(condition, then, otherwise):
                condition = self.exp(condition)
                with self.plan.bounds.assuming((statement.condition,)):
                    then = self.block(then)
                otherwise = otherwise and self.block(otherwise)
                return (kc.Branch(condition, then, otherwise),)
            case kc.Unrolled(body=body):
                return (replace(statement, body=self.block(body)),)
            case kc.StaticIf(_, then, otherwise):
                then, otherwise = self.block(then), self.block(otherwise)
                return (replace(statement, then=then, otherwise=otherwise),)
            case kc.Store(_, index, exp):
                index = self.index(index)
                return (replace(statement, index=index, exp=self.exp(exp)),)
            case kc.AtomicUpdate(_, _, index, operands):
                operands = tuple(map(self.exp, operands))
                index = self.index(index)
                return (replace(statement, index=index, operands=operands),)
            case kc.DeclareArray() | kc.CallFunction():
                return (statement,)
        return (map_children(statement, self._part),)

    def block(self, block: kc.Block) -> kc.Block:
        return kc.Block(self.statements(block.statements))

    def loop(self, loop: kc.For) -> kc.For:
        """A loop whose variable counts in 32 bits; it is incremented beyond its
        bound."""
        after = self.plan.bounds.of(loop.variable), self.plan.bounds.of(loop.step)
        assert after[0] is not None and after[1] is not None
        self.wanted.setdefault(after[0].size + after[1].size)
        twin = self.twin(loop.variable)
        body = self.block(loop.body).statements
        copy = kc.Declare(loop.variable, wide(twin))
        return replace(
            loop,
            variable=twin,
            start=self.narrow(loop.start),
            bound=self.narrow(loop.bound),
            step=self.narrow(loop.step),
            body=kc.Block((copy, *body)),
            full=loop.full and self.narrow(loop.full),
            extent=loop.extent and self.narrow(loop.extent),
        )

    def _without_unused(self, body: kc.Block) -> kc.Block:
        """The body without copies of twins that nothing needs."""
        used = names_in(body, loads=True)
        unused = self.twins.keys() - used

        def kept(node: Any) -> Any:
            if not isinstance(node, kc.Block):
                return (
                    node
                    if isinstance(node, kc.Expression)
                    else map_children(node, kept)
                )
            found = [map_children(s, kept) for s in node.statements if not is_copy(s)]
            return kc.Block(tuple(found))

        def is_copy(statement: kc.Statement) -> bool:
            match statement:
                case kc.Declare(kc.Variable(name)) | kc.Assign(kc.Variable(name)):
                    return name in unused
            return False

        made: kc.Block = kept(body)
        return made

    def _part(self, node: Any) -> Any:
        """A part of a statement."""
        return self.block(node) if isinstance(node, kc.Block) else self._inside(node)


def wide(twin: kc.Variable) -> kc.Expression:
    """A variable of 32 bits as an i64."""
    return kc.Cast(twin, kc.LONG)
