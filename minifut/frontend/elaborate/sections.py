"""Sections, index lists, functional updates, and size coercions.

(+ 1)    (.x.y)    (.[i, j])    r with x[i] = e    e :> [n]t
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from minifut.errors import Location
from minifut.frontend import syntax, types
from minifut.frontend.elaborate import arrays, checks, values
from minifut.frontend.elaborate.application import apply
from minifut.frontend.elaborate.arrays import IndexPart, Slice
from minifut.frontend.elaborate.branches import coerce
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.static_types import resolve_type, static_sizes
from minifut.frontend.elaborate.values import Call, Leaf, Primitive, Value
from minifut.frontend.elaborate.work import Work
from minifut.ir.core import Atom
from minifut.ir.sizes import Size

AccessStep: TypeAlias = "str | tuple[syntax.DimIndex, ...]"


def index_parts(
    indices: tuple[syntax.DimIndex, ...], env: Environment, work: Work
) -> list[IndexPart]:
    """Indices and slices, evaluated."""
    from minifut.frontend.elaborate.expressions import evaluate

    def part(exp: syntax.Exp | None) -> Leaf | None:
        if exp is None:
            return None
        value = evaluate(exp, env, work)
        assert isinstance(value, Leaf)
        return arrays.as_index(work, value)

    found: list[IndexPart] = []
    for index in indices:
        if isinstance(index, syntax.SliceIndex):
            found.append(Slice(part(index.start), part(index.stop), part(index.step)))
        else:
            leaf = part(index)
            assert leaf is not None
            found.append(leaf)
    return found


def update_steps(
    work: Work,
    env: Environment,
    old: Value,
    steps: Sequence[AccessStep],
    value: Value,
    location: Location,
) -> Value:
    """`old with steps = value`."""
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        assert isinstance(old, values.RecordValue)
        inner = old.fields[step]
        new = update_steps(work, env, inner, rest, value, location) if rest else value
        return values.RecordValue({**old.fields, step: new})
    parts = index_parts(step, env, work)
    work.location = location
    if rest:
        row = arrays.index(work, old, parts, location)
        value = update_steps(work, env, row, rest, value, location)
    return arrays.update(work, old, parts, value, location)


# --- sections ----------------------------------------------------------------------


def operator_section(
    exp: syntax.OperatorSection, env: Environment, work: Work
) -> Value:
    """`(+)`, `(e +)`, `(+ e)`."""
    from minifut.frontend.elaborate.expressions import evaluate

    function = evaluate(exp.operator, env, work)
    if exp.left is not None:
        left = evaluate(exp.left, env, work)
        return apply(work, function, (left,), exp.location)
    if exp.right is None:
        return function
    right = evaluate(exp.right, env, work)

    def call(c: Call) -> Value:
        return apply(work, function, (c.arguments[0], right), c.location, c.expected)

    return Primitive(str(exp.operator.name), 1, call, captured=(function, right))


def project_section(exp: syntax.ProjectSection, env: Environment, work: Work) -> Value:
    """`(.x.y)`."""

    def call(c: Call) -> Value:
        value = c.arguments[0]
        for field in exp.fields:
            assert isinstance(value, values.RecordValue)
            value = value.fields[field]
        return value

    return Primitive("projection", 1, call)


def index_section(exp: syntax.IndexSection, env: Environment, work: Work) -> Value:
    """`(.[i, j])`."""
    parts = index_parts(exp.indices, env, work)
    return Primitive(
        "index",
        1,
        lambda c: arrays.index(c.work, c.arguments[0], parts, exp.location),
        captured=_parts(parts),
    )


def mixed_section(exp: syntax.UpdateSection, env: Environment, work: Work) -> Value:
    """`(.x[i].y)`."""
    steps = [
        step if isinstance(step, str) else index_parts(step, env, work)
        for step in exp.steps
    ]

    def call(c: Call) -> Value:
        value = c.arguments[0]
        for step in steps:
            if isinstance(step, str):
                assert isinstance(value, values.RecordValue)
                value = value.fields[step]
            else:
                value = arrays.index(c.work, value, step, exp.location)
        return value

    captured = [v for s in steps if not isinstance(s, str) for v in _parts(s)]
    return Primitive("projection", 1, call, captured=tuple(captured))


def _parts(parts: list[IndexPart]) -> tuple[Value, ...]:
    """The scalars in indices and slices."""
    found: list[Value] = []
    for part in parts:
        if isinstance(part, Leaf):
            found.append(part)
        else:
            bounds = (part.start, part.stop, part.step)
            found += [b for b in bounds if b is not None]
    return tuple(found)


# --- coercions ---------------------------------------------------------------------


def coercion(exp: syntax.Coercion, value: Value, env: Environment, work: Work) -> Value:
    """`e :> t`: the sizes of t, checked to be those of e."""
    assert exp.type is not None
    own = values.array_sizes(value)
    wanted = static_sizes(resolve_type(exp.type, env, work, emit=True))
    if len(own) != len(wanted):
        return value
    sizes = [w if w is not None else o for w, o in zip(wanted, own, strict=True)]
    differing = [
        (o, s) for o, s in dict.fromkeys(zip(own, sizes, strict=True)) if o != s
    ]
    if differing and not work.mode.unsafe:
        conditions = [
            work.op("eq", work.size_leaf(o), work.size_leaf(s)) for o, s in differing
        ]
        message: list[str | Atom] = ["Value of (core language) shape "]
        message += checks.shape_text(work, tuple(own))
        message += [' cannot match shape of type "']
        message += [*_type_text(exp, sizes, work), '".']
        condition = checks.all_of(work, conditions)
        checks.check(work, condition, tuple(message), exp.location)
    return coerce(work, value, sizes)


def _type_text(exp: syntax.Coercion, sizes: list[Size], work: Work) -> list[str | Atom]:
    """The type with the sizes that it requires."""
    type_ = exp.type
    shape: list[Size] = []
    for size in sizes:
        if isinstance(type_, types.Array):
            shape.append(size)
            type_ = type_.element
    if not shape or type_ is None:
        return [" ".join(exp.target.location.text().split())]
    return [*checks.shape_text(work, tuple(shape)), types.show(type_)]
