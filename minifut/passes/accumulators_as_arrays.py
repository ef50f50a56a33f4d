r"""In sequential code an accumulator is its arrays.

    with_acc((acc([k], (xs), ..)), \a -> loop (b = a) for .. do update_acc(b, (i), (v)))
    →
    loop (as = xs) for .. do
      let inside = 0 <= i && i < k
      if inside then let old = as[i]  let new = op(old, v)  as with [i] = new else as

Every name of an accumulator becomes one name for each of its arrays; branches and loops
pass these on. Last-use analysis then does the updates in place. What a thread does, and
the code of the sequential backend, needs no accumulators but those from outside.
"""

from __future__ import annotations

from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Case, Copy, If, Loop, Match, Opaque, Param, Stm
from minifut.ir.node import replace
from minifut.ir.types import AccType
from minifut.names import Name
from minifut.passes.sequential_parts import in_bounds


def accumulate_in_arrays(build: Builder, statement: Stm, exp: WithAcc) -> None:
    """Emit what the statement does, its bodies free of SOACs, without accumulators."""
    inputs = zip(exp.function.parameters, exp.inputs, strict=True)
    threading = _Threading({p.name: item for p, item in inputs})
    for parameter, item in zip(exp.function.parameters, exp.inputs, strict=True):
        threading.arrays[parameter.name] = item.arrays
    results = threading.body_of(build, exp.function.body)
    for bound, atom in zip(statement.pattern, results, strict=True):
        build.bind((bound,), Copy(atom))


class _Threading:
    """`inputs` by root; `arrays` that stand for each accumulator so far."""

    def __init__(self, inputs: dict[Name, AccInput]) -> None:
        self.inputs = inputs
        self.arrays: dict[Name, tuple[Name, ...]] = {}

    def is_own(self, parameter: Param) -> bool:
        type_ = parameter.type
        return isinstance(type_, AccType) and type_.root in self.inputs

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """With arrays for accumulators."""
        found: list[Atom] = []
        for atom in atoms:
            found += (
                self.arrays.get(atom, (atom,)) if isinstance(atom, Name) else (atom,)
            )
        return tuple(found)

    def pattern(
        self, build: Builder, parameters: tuple[Param, ...]
    ) -> tuple[Param, ...]:
        """The same, with fresh parameters for the arrays of accumulators."""
        found: list[Param] = []
        for parameter in parameters:
            if not self.is_own(parameter):
                found.append(parameter)
                continue
            assert isinstance(parameter.type, AccType)
            arrays = self.inputs[parameter.type.root].arrays
            own = [
                Param(build.names.like(array), build.type(array)) for array in arrays
            ]
            build.scope.update((p.name, p.type) for p in own)
            self.arrays[parameter.name] = tuple(p.name for p in own)
            found += own
        return tuple(found)

    def body_of(self, build: Builder, body: Body) -> tuple[Atom, ...]:
        """Emit the statements of a body; its results."""
        for statement in body.statements:
            self.statement(build, statement)
        return self.atoms(body.result)

    def nested(self, build: Builder, body: Body) -> Body:
        inner = build.nested()
        return inner.finish(*self.body_of(inner, body))

    def statement(self, build: Builder, statement: Stm) -> None:
        exp, pattern = statement.exp, statement.pattern
        build.location = statement.location
        match exp:
            case Copy(atom) | Opaque(atom) if self.is_own(pattern[0]):
                assert isinstance(atom, Name)
                self.arrays[pattern[0].name] = self.arrays[atom]
                return
            case UpdateAcc() if self.is_own(pattern[0]):
                self.update(build, pattern[0], exp)
                return
            case If(condition, then, otherwise):
                both = self.nested(build, then), self.nested(build, otherwise)
                made: object = If(condition, *both)
            case Match(scrutinees, cases, default):
                few = tuple(Case(c.values, self.nested(build, c.body)) for c in cases)
                made = Match(scrutinees, few, self.nested(build, default))
            case Loop(parameters, initial, form, body):
                starts = self.atoms(initial)
                own = self.pattern(build, parameters)
                made = Loop(own, starts, form, self.nested(build, body))
            case _:
                made = exp
        bound = self.pattern(build, pattern)
        build.append(replace(statement, pattern=bound, exp=made))

    def update(self, build: Builder, bound: Param, exp: UpdateAcc) -> None:
        """One update of all arrays, if the indices are in bounds."""
        assert isinstance(bound.type, AccType)
        item = self.inputs[bound.type.root]
        arrays = self.arrays[exp.accumulator]
        inside = in_bounds(build, exp.indices, item.shape)
        then, values = build.nested(), exp.values
        if item.operator is not None:
            old = tuple(then.index(array, *exp.indices) for array in arrays)
            values = then.apply(item.operator, (*old, *values))
        pairs = zip(arrays, values, strict=True)
        new = [then.update(array, exp.indices, value) for array, value in pairs]
        choice = If(inside, then.finish(*new), Body((), arrays))
        build.bind(self.pattern(build, (bound,)), choice)
