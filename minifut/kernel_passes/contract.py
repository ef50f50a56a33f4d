"""Contract multiplications and additions into fused multiply-adds.

    reassociate {                              reassociate {
      let product: f32 = mul_f32(a, b)    →      let t: f32 = fma_f32(a, b, sum)
      let t: f32 = add_f32(sum, product)       }
    }

The compilers of GPUs contract only where a pragma says so, and the pragma
is Clang's, from version 11 on: with an older front end a step of a product of
matrices is a multiplication and an addition, at half the peak. Every GPU that computes
with floats of a type has its multiply-add.

Conditions: within statements whose float arithmetic may be contracted; the product is
declared in the same block, and neither factor is assigned to there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from minifut.ir import scalars, search, traverse
from minifut.ir.node import replace
from minifut.ir.types import F32, F64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_passes.editor import KernelEditor
from minifut.names import Name

Factors = tuple[kc.Expression, kc.Expression]


def contract_multiply_adds(k: KernelEditor) -> None:
    """Contract multiplications and additions where float arithmetic allows it."""
    k.statements = [_changed(statement, False) for statement in k.statements]


def _changed(node: Any, allowed: bool) -> Any:
    """A statement, or a block, with what is inside contracted where that is allowed."""
    if isinstance(node, kc.Expression):
        return node
    if isinstance(node, kc.Block):
        statements = tuple(_changed(each, allowed) for each in node.statements)
        return kc.Block(_contracted(statements) if allowed else statements)
    if isinstance(node, kc.Reassociate):
        allowed = True
    if not kc.blocks_of(node):
        return node
    return traverse.map_children(node, lambda child: _changed(child, allowed))


def _contracted(statements: tuple[kc.Statement, ...]) -> tuple[kc.Statement, ...]:
    """The statements of a block, without products that are used no more."""
    changing = assigned(statements)
    products: dict[Name, Factors] = {}
    found: list[kc.Statement] = []
    for statement in statements:
        match statement:
            case kc.Declare(kc.Variable(name) as variable, kc.Operation() as exp):
                fused = _fused(exp, products)
                found.append(kc.Declare(variable, fused))
                factors = _factors(exp)
                if factors and changing.isdisjoint(_variables((*factors, variable))):
                    products[name] = factors
            case _:
                found.append(statement)
    if not products:
        return statements
    uses = Counter(node.name for node in search.nodes_of(kc.Variable, *found))
    return tuple(
        each
        for each in found
        if not (
            isinstance(each, kc.Declare)
            and isinstance(each.variable, kc.Variable)
            and each.variable.name in products
            and uses[each.variable.name] == 1  # its declaration
        )
    )


def _fused(exp: kc.Operation, products: dict[Name, Factors]) -> kc.Operation:
    """A sum of which one operand is a product, the right one rather than the left."""
    if exp.operator.name != "add" or exp.operator.type not in (F32, F64):
        return exp
    for product, other in (exp.operands[::-1], exp.operands):
        if isinstance(product, kc.Variable) and product.name in products:
            type_ = exp.operator.type
            fma = scalars.Operator("fma", (type_, type_, type_), type_)
            operands = (*products[product.name], other)
            return replace(exp, operator=fma, operands=operands)
    return exp


def _factors(exp: kc.Operation) -> Factors | None:
    """The factors of a product of floats, if these are variables or constants."""
    if exp.operator.name != "mul" or exp.operator.type not in (F32, F64):
        return None
    left, right = exp.operands
    simple = all(isinstance(e, kc.Variable | kc.Literal) for e in exp.operands)
    return (left, right) if simple else None


def _variables(expressions: Iterable[kc.Expression]) -> set[Name]:
    return {e.name for e in expressions if isinstance(e, kc.Variable)}
