"""What a flattening rule may look at and emit into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Constant, Exp, Index, Lambda, Param, Replicate, Stm
from minifut.ir.kernels import KernelBody, Returns
from minifut.ir.types import I64, ScalarType
from minifut.names import Name
from minifut.passes.flatten.nest import Nest
from minifut.passes.sequentialise import sequential_lambda


@dataclass(frozen=True, slots=True)
class Site:
    """`build` takes host statements; `definitions` are what host names stand for;
    `again` applies all rules to a statement in a deeper nest."""

    build: Builder
    definitions: dict[Name, Exp]
    again: Callable[[Site, Nest, Stm, tuple[Param, ...]], bool]

    def fresh_index(self, base: str) -> Name:
        """A new index name, known as an i64."""
        name = self.build.names.fresh(base)
        self.build.scope[name] = I64
        return name

    def operator(self, operator: Lambda) -> Lambda:
        """An operator as it may stand in a segmented operation: without SOACs."""
        return sequential_lambda(operator, self.build.names, self.build.scope)

    def emit(self, pattern: tuple[Param, ...], exp: Exp) -> None:
        """A host statement with a given pattern."""
        self.build.append(Stm(pattern, exp, (), self.build.location))

    def definition(self, nest: Nest, name: Name) -> Exp | None:
        """The expression that made a name, in the nest or on the host, if known."""
        for statement in nest.statements:
            if len(statement.pattern) == 1 and statement.pattern[0].name == name:
                return statement.exp
        return self.definitions.get(name)

    def replicated(self, nest: Nest, atom: Atom) -> Atom | None:
        """The scalar that an array repeats at all its indices, if it is known to and
        the scalar is the same for all points of the nest."""
        if isinstance(atom, Constant):
            return None
        exp = self.definition(nest, atom)
        if isinstance(exp, Index):
            return self.replicated(nest, exp.array)
        if not isinstance(exp, Replicate):
            return None
        value = exp.value
        if isinstance(value, Constant):
            return value
        if isinstance(self.build.scope[value], ScalarType):
            return None if value in nest.bound else value
        return self.replicated(nest, value)


def returns(statements: tuple[Stm, ...], results: tuple[Atom, ...]) -> KernelBody:
    """A kernel body where each point returns these values."""
    return KernelBody(statements, tuple(Returns(atom) for atom in results))
