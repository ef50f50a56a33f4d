"""Fallback: what cannot run in a kernel runs point by point on the host, slowly.

A `SegMap` becomes host loops. A reduction, scan or histogram whose body is the trouble
is split: the body as a `SegMap` that returns its values as arrays, then the operation
on those.
"""

from __future__ import annotations

from typing import Any

from minifut.errors import CompileError
from minifut.ir import core, kernels, sizes, soacs
from minifut.ir.core import Index, Param, Stm
from minifut.ir.node import replace
from minifut.ir.types import I64, array_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.host.code import value_of, write
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap.points import output_of


def run_on_host(host: HostBuilder, statement: Stm, reason: str) -> None:
    """Lower a segmented operation that kernels cannot do as it is, for that reason."""
    operation: Any = statement.exp
    what = ", ".join(bound.name.base for bound in statement.pattern)
    where = statement.location or "-"
    host.program.fallbacks.on_host.append(f"{where}  {what}: {reason}")
    host.emit(kc.HostComment(f"{what} point by point: {reason}"))
    if isinstance(operation, kernels.SegMap):
        map_on_host(host, statement, operation)
        return
    if only_reads(operation):
        raise CompileError(
            statement.location,
            f"this operation cannot run on the device: {reason}",
            "give the arrays that its operator makes a constant size",
        )
    host.statements_of(split_body(host, statement, operation))


def only_reads(operation: Any) -> bool:
    """Whether the body of an operation does no more than read arrays."""
    return all(isinstance(s.exp, Index) for s in operation.body.statements)


def split_body(host: HostBuilder, statement: Stm, operation: Any) -> tuple[Stm, ...]:
    """The body as a map of its own, which returns mapped results as they are wanted;
    then the operation on the arrays of its operands."""
    space, body = operation.space, operation.body
    count = len(body.result)
    if not isinstance(operation, kernels.SegHist):
        count = soacs.operand_count(operation.operators)
    operands: list[Param] = []
    reads: list[Stm] = []
    indices = tuple(host.names.like(name) for name in space.indices)
    for result, type_ in zip(body.result, operation.types, strict=True):
        if not isinstance(result, kernels.Returns):
            raise CompileError(
                statement.location, "writes inside this operation are not supported"
            )
        if len(operands) < count:
            operands.append(
                Param(host.names.fresh("mapped"), array_of(type_, space.sizes))
            )
            element = Param(host.names.fresh("x"), type_)
            reads.append(Stm((element,), Index(operands[-1].name, indices)))
    pattern = (*operands, *statement.pattern[count:])
    mapped = kernels.SegMap(operation.level, space, body, operation.types)
    results = tuple(kernels.Returns(read.pattern[0].name) for read in reads)
    rest = replace(
        operation,
        space=kernels.SegSpace(indices, space.sizes),
        body=kernels.KernelBody(tuple(reads), results),
        types=operation.types[:count],
    )
    return (
        replace(statement, pattern=pattern, exp=mapped),
        replace(statement, pattern=statement.pattern[:count], exp=rest),
    )


def map_on_host(host: HostBuilder, statement: Stm, operation: kernels.SegMap) -> None:
    """A loop on the host for each dimension."""
    assert operation.scan is None, "scans do not run on the host"
    space, body = operation.space, operation.body
    outputs = [
        output_of(host, bound, result, space)
        for bound, result in zip(statement.pattern, body.result, strict=True)
    ]

    def nest(depth: int) -> None:
        if depth == len(space.sizes):
            host.statements_of(body.statements)
            for output, result in zip(outputs, body.result, strict=True):
                finish(host, space, output, result)
            return
        name = space.indices[depth]
        bound = host.scalar(core.SizeExp(host.size(space.sizes[depth])), I64, "bound")
        host.own_scalar(name, I64)
        with host.nested() as inner:
            nest(depth + 1)
        host.emit(kc.HostFor(name, bound, kc.HostBlock(tuple(inner))))

    nest(0)
    host.bind_all(statement.pattern, outputs)


def finish(
    host: HostBuilder,
    space: kernels.SegSpace,
    output: Array,
    result: kernels.KernelResult,
) -> None:
    """Write the result of one point."""
    match result:
        case kernels.Returns(value):
            indices = tuple(sizes.Size.of(name) for name in space.indices)
            write(host, output.row(indices), value_of(host, value))
        case kernels.WriteReturns(_, _, writes):
            for where, value in writes:
                write_if_inside(host, output, where, value)


def write_if_inside(
    host: HostBuilder, output: Array, where: tuple[core.Atom, ...], value: core.Atom
) -> None:
    """As in kernels: indices out of bounds write nothing."""
    from minifut.ir.scalars import operator
    from minifut.ir.types import BOOL

    condition: core.Atom = core.Constant(True, BOOL)
    for atom, size in zip(where, output.shape, strict=False):
        index = host.atom(atom)
        bound = host.scalar(core.SizeExp(size), I64, "bound")
        for op, pair in (
            ("le", (core.Constant(0, I64), index)),
            ("lt", (index, bound)),
        ):
            test = host.scalar(core.ScalarOp(operator(op, I64), pair), BOOL, "inside")
            both = core.ScalarOp(operator("and", BOOL), (condition, test))
            condition = host.scalar(both, BOOL, "inside")
    with host.nested() as then:
        places = tuple(host.index(atom) for atom in where)
        write(host, output.row(places), value_of(host, value))
    host.emit(kc.HostIf(condition, kc.HostBlock(tuple(then)), kc.HostBlock(())))
