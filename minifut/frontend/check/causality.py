"""Causality: an unknown size must be computed before it is needed.

A use of a function whose size parameter is only in function types, an empty array, a
constructor or a hole needs the sizes of its type. What is known grows in the order of
evaluation: a `let` before its body, arguments (the last first) before the function.
"""

from __future__ import annotations

from minifut.errors import error
from minifut.frontend import syntax
from minifut.frontend.check.messages import quote, source_text
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.witnesses import free_sizes
from minifut.frontend.syntax.traverse import children
from minifut.frontend.types import mentioned
from minifut.names import Name


def check_causality(state: Sizing, body: syntax.Exp) -> None:
    """Refuse a body that needs a size before it is known."""
    unknown = {n for n, r in state.rigid.items() if not r.is_parameter}
    if unknown:
        _Causality(state, unknown).visit(body, frozenset())


class _Causality:
    def __init__(self, state: Sizing, unknown: set[Name]) -> None:
        self.state = state
        self.unknown = unknown

    def need(
        self, what: str, node: syntax.Exp | syntax.Pattern, known: frozenset[Name]
    ) -> None:
        """The sizes in a node's type are needed here."""
        assert node.type is not None
        if self.unknown.isdisjoint(mentioned(node.type)):
            return
        missing = (self.unknown & free_sizes(node.type)) - known
        if not missing:
            return
        name = min(missing, key=lambda n: n.tag)
        shown = quote(name.base)
        place = self.state.rigid[name].location
        where = f" at {place.line}:{place.column}" if place else " elsewhere"
        raise error(
            node.location,
            f"Causality check: size {shown} needed for type of {what}:\n"
            f"  {self.state.show(node.type)}\nBut {shown} is computed{where}.",
            "causality-check",
            f"bind the expression producing {shown} with 'let' beforehand",
        )

    def visit(self, node: syntax.Node, known: frozenset[Name]) -> frozenset[Name]:
        """Check a node; the sizes that come into being in it."""
        match node:
            case syntax.Var():
                self.need(quote(str(node.name)), node, known)
                return frozenset()
            case (
                syntax.OperatorSection()
                | syntax.UpdateSection()
                | syntax.ProjectSection()
                | syntax.IndexSection()
            ):
                self.need("operator section", node, known)
            case syntax.ArrayExp(_, ()):
                self.need("empty array", node, known)
            case syntax.Hole():
                self.need("hole", node, known)
            case syntax.Lambda(_, parameters, _, body):
                for parameter in parameters:
                    self.need(source_text(parameter), parameter, known)
                self.visit(body, known)
                return frozenset()
            case syntax.Let() | syntax.LetFunction() | syntax.LetUpdate():
                return self._chain(node, known)
            case syntax.Match(_, scrutinee, cases):
                new = self.visit(scrutinee, known)
                for case in cases:
                    self.visit(case.body, known | new)
                return new | set(node.exts)
            case syntax.Apply(_, function, arguments):
                new = frozenset()
                for argument in reversed(arguments):
                    new |= self.visit(argument, known | new)
                    new |= set(argument.exts)
                self.visit(function, known | new)
                return new | set(node.exts)
            case syntax.Constructor(_, name, arguments):
                new = frozenset()
                for argument in arguments:
                    new |= self.visit(argument, known | new)
                self.need(quote("#" + name), node, known | new)
                return new
            case syntax.BinaryOp(_, operator, left, right):
                new = self.visit(left, known) | set(left.exts)
                new |= self.visit(right, known | new) | set(right.exts)
                self.visit(operator, known | new)
                return new | set(node.exts)
        new = frozenset()
        for child in children(node):
            if not isinstance(child, (syntax.Pattern, syntax.TypeExp)):
                new |= self.visit(child, known)
        return new | set(getattr(node, "exts", ()))

    def _chain(self, node: syntax.Node, known: frozenset[Name]) -> frozenset[Name]:
        new: frozenset[Name] = frozenset()
        while True:
            match node:
                case syntax.Let(_, _, _, value, body) | syntax.LetUpdate(
                    _, _, _, value, body
                ):
                    new |= self.visit(value, known | new)
                    new |= set(node.exts)
                case syntax.LetFunction(_, _, _, _, _, value, body):
                    self.visit(value, known | new)
                    new |= set(node.exts)
                case _:
                    return new | self.visit(node, known | new)
            node = body
