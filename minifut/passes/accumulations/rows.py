r"""Updates of rows element by element (`update_elements_of_rows`).

    with_acc((acc([k], (xss), map op)), \a -> .. update_acc(b, (i), (row)))
    →  with_acc((acc([k][m], (xss), op)), \a ->
         .. map(m, (b, iota m, row), \c j x -> update_acc(c, (i, j), (x))))

One more dimension of indices takes the place of one of the rows. So sums of rows become
sums of scalars, which can be tiled, and atomics need no locks.
"""

from __future__ import annotations

from typing import Any

from minifut.ir import core, soacs, traverse
from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.builder import Builder
from minifut.ir.node import replace
from minifut.ir.types import I64, AccType, DataType, row_type, shape_of
from minifut.names import Name
from minifut.passes.flatten.interchange_operator import elementwise_operator
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(WithAcc)
def update_elements_of_rows(statement: core.Stm, context: StatementContext) -> Outcome:
    r"""Index the elements of rows that are combined one by one.

    before:
        given (n: i64, k: i64, m: i64, hss: [k][m]i32, is: [n]i64, xss: [n][m]i32)
        let zeros: [m]i32 = replicate([m], 0i32)
        let ys: [k][m]i32 = with_acc((acc([k], (hss), (zeros),
          \(p: [m]i32, q: [m]i32) -> ([m]i32) {
            return map(m, (p, q), add_i32)
          })), \(a: acc a [k] ([m]i32)) -> (acc a [k] ([m]i32)) {
            return map(n, (a, is, xss),
              \(b: acc a [k] ([m]i32), i: i64, xs: [m]i32) -> (acc a [k] ([m]i32)) {
                return update_acc(b, (i), (xs))
              })
          })
    after:
        let zeros: [m]i32 = replicate([m], 0i32)
        let js: [m]i64 = iota i64 (m, 0i64, 1i64)
        let ys: [k][m]i32 = with_acc((acc([k][m], (hss), (0i32),
          add_i32)), \(a: acc a [k][m] (i32)) -> (acc a [k][m] (i32)) {
            return map(n, (a, is, xss),
              \(b: acc a [k][m] (i32), i: i64, xs: [m]i32) -> (acc a [k][m] (i32)) {
                return map(m, (b, js, xs),
                  \(e: acc a [k][m] (i32), j: i64, x: i32) -> (acc a [k][m] (i32)) {
                    return update_acc(e, (i, j), (x))
                  })
              })
          })
    declines: no operator combines rows
        like declines of gather_in_histogram
    """
    exp = statement.exp_of(WithAcc)
    build = context.builder(statement)
    build.attributes = ()
    for number, item in enumerate(exp.inputs):
        finer = _finer(build, context, item)
        if finer is None:
            continue
        elements = _Elements(build, exp.function.parameters[number], finer)
        inputs = (*exp.inputs[:number], finer, *exp.inputs[number + 1 :])
        made = WithAcc(inputs, elements.node(exp.function))
        return (*build.statements, replace(statement, exp=made))
    return Declined("no operator combines rows element by element")


def _finer(
    build: Builder, context: StatementContext, item: AccInput
) -> AccInput | None:
    """The input with one more dimension of indices, if its operator is a map."""
    if item.operator is None:
        return None
    found = elementwise_operator(item.operator)
    if found is None:
        return None
    operator, width = found
    neutral: list[core.Atom] = []
    for atom in item.neutral:
        made = context.definitions.get(atom) if isinstance(atom, Name) else None
        if made is None or not isinstance(made.exp, core.Replicate):
            return None
        _, *rest = made.exp.shape
        value = made.exp.value
        neutral.append(build.replicate(rest, value) if rest else value)
    return AccInput((*item.shape, width), item.arrays, tuple(neutral), operator)


class _Elements:
    """Changes the type of an accumulator, and its updates of rows to maps."""

    def __init__(self, build: Builder, root: core.Param, item: AccInput) -> None:
        assert isinstance(root.type, AccType)
        self.build = build
        self.root = root.name
        rows = [row_type(element) for element in root.type.elements]
        elements: tuple[DataType, ...] = tuple(
            row for row in rows if not isinstance(row, AccType)
        )
        self.type = AccType(root.name, item.shape, elements)
        self.points = build.iota(item.shape[-1])

    def is_own(self, type_: object) -> bool:
        return isinstance(type_, AccType) and type_.root == self.root

    def node(self, node: Any) -> Any:
        if isinstance(node, UpdateAcc):
            own = self.is_own(self.build.type(node.accumulator))
            return self.row_by_element(node) if own else node
        node = traverse.map_children(node, self.node)
        if isinstance(node, core.Param) and self.is_own(node.type):
            return replace(node, type=self.type)
        if isinstance(node, core.Lambda):
            results = [self.type if self.is_own(t) else t for t in node.results]
            return replace(node, results=tuple(results))
        return node

    def row_by_element(self, update: UpdateAcc) -> Any:
        """The update as a map over the elements of the rows."""
        build = self.build
        values = [atom for atom in update.values if isinstance(atom, Name)]
        types = [I64, *[row_type(type_) for type_ in build.types(values)]]

        def point(inner: Builder, acc: Name, j: Name, *elements: Name) -> Name:
            exp = UpdateAcc(acc, (*update.indices, j), elements)
            return inner.let(exp, acc.base, self.type)

        function = build.function((self.type, *types), point, self.root.base)
        arrays = (update.accumulator, self.points, *values)
        return soacs.map_(shape_of(build.type(values[0]))[0], arrays, function)
