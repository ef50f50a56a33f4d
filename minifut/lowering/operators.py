"""Properties of the operators of reductions and scans, and their accumulators.

    commutes(op)        may the order of elements change? (a + b, min, pairs of those)
    sums_floats(op)     does it gain from reassociation?
    is_cheap(body)      scalar code without checks or inner loops, worth duplicating

`Accumulators` are the running values of all operators of one operation: variables for
scalars, arrays for vectorised operators and operators on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from minifut.analysis.operators import component_operators
from minifut.ir import core
from minifut.ir.kernels import KernelBody, Returns, SegBinOp
from minifut.ir.node import divided
from minifut.ir.scalars import identities
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType, Type, array_of, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue
from minifut.names import Name
from minifut.passes.flatten.cheap import is_scalar_code

# --- properties -----------------------------------------------------------------------


def commutes(operator: SegBinOp) -> bool:
    """Whether the order of elements does not matter to the operator."""
    if operator.commutative:
        return True
    components = component_operators(operator.operator)
    return components is not None and all(
        identities(exp.operator).commutative for exp in components
    )


def sums_floats(operator: SegBinOp) -> bool:
    """Whether a component is a sum or product of floats, which needs reassociation to
    be executed in parallel."""
    components = component_operators(operator.operator) or []
    return any(
        exp.operator.name in ("add", "mul") and exp.operator.result.is_float
        for exp in components
    )


OF_ARRAYS = "the operator combines arrays"
"""the reason why rules for scalar operators decline"""


def works_on_scalars(operator: SegBinOp) -> bool:
    """Whether the running values are scalars."""
    return not operator.shape and all(
        isinstance(t, ScalarType) for t in operator.operator.results
    )


def is_cheap(body: KernelBody) -> bool:
    """Scalar code without checks, loops or arrays of its own."""
    return is_scalar_code(body.statements)


def is_cheap_operator(operator: SegBinOp) -> bool:
    """Whether the operator itself is cheap and works on scalars."""
    statements = operator.operator.body.statements
    return works_on_scalars(operator) and is_scalar_code(statements, 32)


def value_types(operators: tuple[SegBinOp, ...]) -> list[Type]:
    """The types of the running values, operator by operator."""
    return [
        array_of(type_, operator.shape)
        for operator in operators
        for type_ in operator.operator.results
    ]


# --- accumulators ---------------------------------------------------------------------


def returned(k: KernelBuilder, body: KernelBody) -> list[LoweredValue]:
    """The values that the body, just lowered, returns."""
    values = []
    for result in body.result:
        assert isinstance(result, Returns)
        values.append(k.atom(result.value))
    return values


def neutral_at(k: KernelBuilder, atom: core.Atom, at: tuple[Size, ...]) -> Any:
    """The neutral element, or its part at an index of a vectorised operator."""
    value = k.atom(atom)
    return value.row(at) if isinstance(value, Array) and at else value


AccumulatorPlace: TypeAlias = kc.Variable | kc.Register | Array


class Accumulators:
    """The running values of all operators in one thread; in the given variables and
    arrays, or in new ones."""

    def __init__(
        self,
        k: KernelBuilder,
        operators: tuple[SegBinOp, ...],
        given: list[list[AccumulatorPlace]] | None = None,
    ) -> None:
        self.k = k
        self.operators = operators
        self.places: list[list[AccumulatorPlace]] = given or []
        if given is not None:
            return
        for operator in operators:
            places: list[AccumulatorPlace] = []
            for type_ in operator.operator.results:
                whole = array_of(type_, operator.shape)
                if isinstance(whole, ScalarType):
                    place = k.declare("acc", type_=kc.VectorType(whole))
                    places.append(place)
                else:
                    shape = k.shape(whole)
                    places.append(k.new_array(element_of(whole), shape, "acc"))
            self.places.append(places)

    @property
    def all_places(self) -> list[AccumulatorPlace]:
        """The places of all operators in order."""
        return [place for places in self.places for place in places]

    def reset(self) -> None:
        """All become neutral."""
        k = self.k
        for operator, places in zip(self.operators, self.places, strict=True):
            for place, atom in zip(places, operator.neutral, strict=True):
                if isinstance(place, Array):
                    fill(k, place, atom, len(operator.shape))
                else:
                    k.assign(place, k.scalar(atom))

    def load(self, sources: list[Array], at: tuple[Any, ...]) -> None:
        """Load all from memory at an index."""
        for place, source in zip(self.all_places, sources, strict=True):
            if isinstance(place, Array):
                self.k.copy(place, source.row(self.k.as_sizes(at)))
            else:
                self.k.assign(place, self.k.read(source, at))

    def save(self, targets: Sequence[Array | None], at: tuple[Any, ...]) -> None:
        """Store those with a target to memory at an index."""
        for place, target in zip(self.all_places, targets, strict=True):
            if target is not None:
                self.k.write(target, at, place)

    def combine(
        self, values: Sequence[LoweredValue], reassociate: bool = False
    ) -> None:
        """Each becomes `running op value`."""
        groups = divided(values, map(len, self.places))
        for operator, places, mine in zip(
            self.operators, self.places, groups, strict=True
        ):
            with self.k.reassociate(reassociate and sums_floats(operator)):
                combine_into(self.k, operator, places, mine)


def fill(k: KernelBuilder, place: Array, atom: core.Atom, vectorised: int) -> None:
    """Neutral elements everywhere in an array."""

    def visit(at: tuple[Size, ...]) -> None:
        k.write(place, at, neutral_at(k, atom, at))

    k.each(place.shape[:vectorised], visit)


def fill_with(
    k: KernelBuilder, place: Array, shape: tuple[Size, ...], value: LoweredValue
) -> None:
    """The value, a scalar or a row, at all indices of a shape."""
    k.each(shape, lambda at: k.write(place, at, value))


def combine_into(
    k: KernelBuilder,
    operator: SegBinOp,
    places: list[AccumulatorPlace],
    values: Sequence[LoweredValue],
) -> None:
    """`places = places op values`, elementwise where the operator is vectorised."""
    if not operator.shape:
        replace_all(k, places, list(k.apply(operator.operator, (*places, *values))))
        return

    def part(value: Any, at: tuple[Size, ...]) -> Any:
        assert isinstance(value, Array)
        return k.read(value, at) if len(at) == value.rank else value.row(at)

    def visit(at: tuple[Size, ...]) -> None:
        left = [part(place, at) for place in places]
        left = [k.named(v, "left") if isinstance(v, kc.Expression) else v for v in left]
        right = [part(value, at) for value in values]
        results = k.apply(operator.operator, (*left, *right))
        for place, result in zip(places, results, strict=True):
            assert isinstance(place, Array)
            k.write(place, at, result)

    first = places[0]
    assert isinstance(first, Array)
    k.each(first.shape[: len(operator.shape)], visit)


def replace_all(
    k: KernelBuilder, places: list[AccumulatorPlace], results: list[LoweredValue]
) -> None:
    """Parallel assignment: the new values may refer to the places themselves."""
    names = {_variable(p) for p in places if not isinstance(p, Array)}
    memories = {p.memory for p in places if isinstance(p, Array)}
    taken: list[tuple[Any, Any]] = []
    for place, result in zip(places, results, strict=True):
        if isinstance(place, Array):
            assert isinstance(result, Array)
            if result.memory in memories and result != place:
                temporary = k.new_array(result.memory.element, place.shape, "temporary")
                k.copy(temporary, result)
                result = temporary
        elif isinstance(result, kc.Variable | kc.Register) and (
            _variable(result) in names
        ):
            if _variable(result) == _variable(place):
                continue
            result = k.declare("temporary", result)
        taken.append((place, result))
    for place, result in taken:
        if isinstance(place, Array):
            k.copy(place, result)
        else:
            k.assign(place, result)


def _variable(place: kc.Variable | kc.Register) -> Name:
    """The name of a variable, or of the family of which one copy at a time is seen."""
    return place.name if isinstance(place, kc.Variable) else place.family
