"""Passes over the kernels of a program, one kernel at a time.

    prefetch = each_kernel(prefetch_streams)        a pass of prefetch_streams(k)

A pass gets a kernel as a `KernelEditor`, the `CodeBuilder` that lowering would have it
from: its rules declare variables and require tuning parameters as those of lowering do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from minifut.ir.node import replace, same_or
from minifut.ir.search import classes_in
from minifut.ir.traverse import map_children
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_passes.context import CodeContext, rewritten
from minifut.names import Name, NameSource
from minifut.rewrite.rule import Rule
from minifut.rewrite.trace import Derivation, Trace

LoopChange: TypeAlias = Callable[[kc.For], tuple[kc.Statement, ...] | None]
BlockChange: TypeAlias = Callable[[kc.Block], tuple[kc.Statement, ...] | None]


class KernelEditor(CodeBuilder):
    """A finished kernel whose statements are changed."""

    def __init__(self, kernel: kc.Kernel, names: NameSource) -> None:
        super().__init__(names, kernel.name)
        self.kernel = kernel
        self.statements = list(kernel.body.statements)
        self.constants = {constant.name: constant for constant in kernel.constants}

    def use(self, memory: kc.Memory, *, written: bool = False) -> None:
        """What the kernel mentions is among its parameters already."""

    def scalar_parameter(self, name: Name, type_: ScalarType) -> kc.Variable:
        """The same for scalars."""
        return kc.Variable(name, kc.VectorType(type_))

    def change_loops(self, change: LoopChange) -> None:
        """Put in the place of each for loop what `change` makes of it; where that is
        None, go on with the loops inside."""
        self.statements = list(change_loops(tuple(self.statements), change))

    def change_blocks(self, change: BlockChange) -> None:
        """Put in the place of a loop and what follows it in a block what `change` makes
        of them."""
        self.statements = list(_change_blocks(self.statements, change))

    def edited(self) -> kc.Kernel:
        """The kernel as it is now; the same one if nothing was changed."""
        body = self.kernel.body
        if tuple(self.statements) != body.statements:
            body = kc.Block(tuple(self.statements))
        constants = self.kernel.constants
        if len(self.constants) > len(constants):
            constants = tuple(self.constants.values())
        return replace(self.kernel, body=body, constants=constants)


def each_kernel(change: Callable[[KernelEditor], None]) -> Callable[..., KernelProgram]:
    """The pass that changes each kernel."""

    def run(
        program: KernelProgram, names: NameSource, trace: Trace | None = None
    ) -> KernelProgram:
        parameters = dict.fromkeys(program.parameters)
        kernels: list[kc.Kernel] = []
        for kernel in program.kernels:
            k = KernelEditor(kernel, names)
            if trace is not None and kernel.name in trace.origins:
                k.derivation = Derivation(trace, trace.origins[kernel.name])
            change(k)
            kernels.append(k.edited())
            if len(k.constants) > len(kernel.constants):
                parameters.update({c.parameter: None for c in k.constants.values()})
        return replace(program, kernels=tuple(kernels), parameters=tuple(parameters))

    run.__doc__ = change.__doc__
    return run


def loops_inside(loop: kc.For, change: LoopChange) -> kc.For:
    """The loop with the loops inside it changed."""
    made: kc.For = _within(loop, change)
    return made


def _within(statement: Any, change: LoopChange) -> Any:
    """A statement that has blocks with the loops in these changed."""

    def changed(child: Any) -> Any:
        if type(child) is not kc.Block or kc.For not in classes_in(child):
            return child
        statements = change_loops(child.statements, change)
        return child if statements is child.statements else kc.Block(statements)

    if type(statement) is kc.Block:
        return changed(statement)
    return map_children(statement, changed)


def change_loops(
    statements: tuple[kc.Statement, ...], change: LoopChange
) -> tuple[kc.Statement, ...]:
    """Statements with the rewritten loops among them; the same tuple if nothing."""
    found: list[kc.Statement] = []
    for statement in statements:
        made = change(statement) if isinstance(statement, kc.For) else None
        if made is not None:
            found.extend(made)
        elif any(kc.For in classes_in(block) for block in kc.blocks_of(statement)):
            found.append(_within(statement, change))
        else:
            found.append(statement)
    return same_or(found, statements)


def _change_blocks(
    statements: Sequence[kc.Statement], change: BlockChange
) -> tuple[kc.Statement, ...]:
    done: list[kc.Statement] = []
    left = tuple(_change_inside(statement, change) for statement in statements)
    while left:
        if isinstance(left[0], kc.For):
            made = change(kc.Block(left))
            if made is not None:
                left = made
                continue
        done.append(left[0])
        left = left[1:]
    return same_or(done, tuple(statements))


def _change_inside(node: Any, change: BlockChange) -> Any:
    """A statement with the blocks in it changed."""
    if isinstance(node, kc.Expression):
        return node
    if isinstance(node, kc.Block):
        if not has_loops(node):
            return node
        made = _change_blocks(node.statements, change)
        return node if made is node.statements else kc.Block(made)
    if not kc.blocks_of(node):
        return node
    return map_children(node, lambda child: _change_inside(child, change))


def rewrite_scalar_loops(k: KernelEditor, rule: Rule) -> None:
    """Apply a rule to all innermost scalar loops of a kernel."""

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        if loop.parallel or has_loops(loop.body):
            return None
        return rewritten(rule, loop, CodeContext(k))

    k.change_loops(change)


def has_loops(block: kc.Block) -> bool:
    """Whether there are loops in a block."""
    return not classes_in(block).isdisjoint((kc.For, kc.While))


def loops_of(statements: Iterable[kc.Statement]) -> Iterator[kc.For | kc.While]:
    """The loops among statements and inside them, outer ones first."""
    for statement in statements:
        if isinstance(statement, kc.For | kc.While):
            yield statement
        for block in filter(has_loops, kc.blocks_of(statement)):
            yield from loops_of(block.statements)
