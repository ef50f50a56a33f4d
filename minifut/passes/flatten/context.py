"""The context of flattening rules: the builder that they emit into, the versions that
they are within, and how to flatten what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as replace_context
from typing import NamedTuple

from minifut.ir import builder, core, kernels, scope, traverse
from minifut.ir.core import Atom, Constant, Exp, Index, Lambda, Param, Replicate, Stm
from minifut.ir.kernels import GRID, KernelBody
from minifut.ir.node import immutable, replace
from minifut.ir.types import I64, ScalarType, Type, array_of
from minifut.names import Name
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.version_names import VersionNames
from minifut.passes.sequentialise import sequential_lambda
from minifut.rewrite.trace import Derivation

SEGMENTED = (kernels.SegMap, kernels.SegRed, kernels.SegScan, kernels.SegHist)


class Judgement(NamedTuple):
    """Σ ⊢ e: a statement at each point of a nest, whose results are bound, with the
    dimensions of the nest in front, to the pattern."""

    nest: Nest
    statement: Stm
    pattern: tuple[Param, ...]

    @property
    def exp(self) -> Exp:
        """The expression of the statement."""
        return self.statement.exp

    def as_statement(self, context: NestContext) -> Stm:
        """The judgement as a statement: each point of the nest is a thread."""
        nest, statement, pattern = self
        if not nest.depth:
            return replace(statement, pattern=pattern)
        body = returns(
            (*nest.statements, statement), tuple(p.name for p in statement.pattern)
        )
        types = tuple(p.type for p in statement.pattern)
        kernel = kernels.SegMap(context.level, nest.space, body, types)
        return Stm(pattern, kernel, (), statement.location)


def _as_it_is(context: NestContext, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
    return statements


@immutable
class NestContext:
    """`build` takes host statements; `definitions` are the expressions of host names;
    `again` applies all rules to a judgement in a deeper nest, `attempt` those that find
    parallelism in it; `path` are the versions that contain this place; kernels are made
    at `level`; `code` flattens statements that are in no nest."""

    build: builder.Builder
    definitions: dict[Name, Exp]
    again: Callable[[Judgement, NestContext], bool]
    attempt: Callable[[Judgement, NestContext], bool]
    versions: VersionNames
    path: tuple[str, ...] = ()
    code: Callable[[NestContext, tuple[Stm, ...]], tuple[Stm, ...]] = _as_it_is
    level: kernels.Level = GRID
    derivation: Derivation | None = None

    @property
    def emitted(self) -> list[Stm]:
        """The host statements so far."""
        return self.build.statements

    def inner(self, *path: str) -> NestContext:
        """The same for the statements of a body on the host."""
        return replace_context(self, build=self.build.nested(), path=self.path + path)

    def fresh_index(self, base: str) -> Name:
        """A new index name, known as an i64."""
        name = self.build.names.fresh(base)
        self.build.scope[name] = I64
        return name

    def operator(self, operator: Lambda) -> Lambda:
        """An operator as it may occur in a segmented operation: without SOACs."""
        return sequential_lambda(operator, self.build.names, self.build.scope)

    def emit(self, pattern: tuple[Param, ...], exp: Exp) -> None:
        """A host statement with a given pattern. A nest's statements may be in several
        kernels, so each kernel gets names of its own."""
        if isinstance(exp, SEGMENTED):
            exp = traverse.rename(exp, self.build.names)
        self.build.append(Stm(pattern, exp, (), self.build.location))

    def expanded(self, nest: Nest, base: Name, type_: Type) -> Param:
        """A fresh name for an array of such values, one for each point of the nest."""
        made = Param(self.build.names.like(base), array_of(type_, nest.sizes))
        scope.add_parameters(self.build.scope, (made,))
        return made

    def definition(self, nest: Nest, name: Name) -> Exp | None:
        """The expression that made a name, in the nest or on the host, if known."""
        for statement in nest.statements:
            if len(statement.pattern) == 1 and statement.pattern[0].name == name:
                return statement.exp
        return self.definitions.get(name)

    def replicated(self, nest: Nest, atom: Atom) -> Atom | None:
        """The scalar that an array repeats at all its indices, or a scalar itself, if
        it is known and the same for all points of the nest."""
        if isinstance(atom, Constant):
            return atom
        if isinstance(self.build.scope[atom], ScalarType):
            return None if atom in nest.bound else atom
        exp = self.definition(nest, atom)
        if isinstance(exp, Index):
            return self.replicated(nest, exp.array)
        rows = exp.rows if isinstance(exp, core.ArrayLiteral) else ()
        values = (exp.value,) if isinstance(exp, Replicate) else rows
        found = {self.replicated(nest, value) for value in values}
        return found.pop() if len(found) == 1 else None


def returns(statements: tuple[Stm, ...], results: tuple[Atom, ...]) -> KernelBody:
    """A kernel body where each point returns these values."""
    return KernelBody(statements, tuple(kernels.Returns(atom) for atom in results))
