"""What the builder makes verifies, and carries its place."""

from __future__ import annotations

import pytest

from minifut.errors import InternalError, Location, Source
from minifut.ir import core
from minifut.ir.builder import FALSE, TRUE, Builder, constant, i64
from minifut.ir.core import Function, Param, Program
from minifut.ir.dialect import SOACS
from minifut.ir.printer import show
from minifut.ir.sizes import Size
from minifut.ir.traverse import substitute
from minifut.ir.types import F32, I32, I64, ArrayType
from minifut.ir.verify import verify
from minifut.names import Name, NameSource


@pytest.fixture
def build() -> Builder:
    return Builder(NameSource(), {})


def finished(build: Builder, given: list[Param], *result: core.Atom) -> str:
    """Verify a function of the statements; their text."""
    names = [build.names.fresh("r") for _ in result]
    pairs = zip(result, names, strict=True)
    inner = {atom: name for atom, name in pairs if isinstance(atom, Name)}
    types = [substitute(type_, inner) for type_ in build.types(result)]
    outer = tuple(Param(n, t) for n, t in zip(names, types, strict=True))
    name = build.names.fresh("main")
    body = build.finish(*result)
    function = Function(name, tuple(given), outer, body)
    verify(Program((), (), (function,)), SOACS)
    return show(body)


def parameter(build: Builder, base: str, type_: core.Type) -> Param:
    made = Param(build.names.fresh(base), type_)
    build.scope[made.name] = type_
    return made


def test_scalars_arrays_and_sizes(build: Builder) -> None:
    n = parameter(build, "n", I64)
    xs = build.iota(n.name)
    total = build.add(build.mul(n.name, n.name), i64(1))
    row = build.index(xs, total)
    grid = build.replicate([n.name, 3], row)
    turned = build.rearrange(grid, (1, 0))
    flat = build.reshape(turned, [Size.of(n.name) * 3])
    assert build.rearrange(grid, (0, 1)) is grid
    assert build.reshape(flat, build.shape(flat)) is flat
    assert build.type(flat) == ArrayType(I64, (Size.of(n.name) * 3,))
    text = finished(build, [n], flat)
    assert "let add: i64 = add_i64(mul, 1i64)" in text
    assert "[3 * n]i64 = reshape([3 * n], " in text


def test_sizes_become_atoms_only_when_needed(build: Builder) -> None:
    n = parameter(build, "n", I64)
    assert build.size_atom(Size.of(n.name)) == n.name
    assert build.size_atom(Size.constant(3)) == i64(3)
    assert not build.statements
    assert isinstance(build.size_atom(Size.of(n.name) + 1), Name)
    assert show(build.statements[0]) == "let extent: i64 = size(n + 1)"


def test_conversions_only_when_needed(build: Builder) -> None:
    a = parameter(build, "a", I32)
    assert build.convert(a.name, I32) is a.name
    assert build.type(build.convert(a.name, F32)) == F32


def test_nested_bodies_and_new_sizes(build: Builder) -> None:
    n, c = parameter(build, "n", I64), parameter(build, "c", I64)
    with build.body() as inner:
        then = inner.finish(n.name, inner.iota(n.name))
    with build.body() as inner:
        twice = inner.add(n.name, n.name)
        otherwise = inner.finish(twice, inner.iota(twice))
    condition = build.op("lt", c.name, i64(3))
    size, array = build.names.fresh("k"), build.names.fresh("is")
    bound = Param(size, I64), Param(array, ArrayType(I64, (Size.of(size),)))
    build.bind(bound, core.If(condition, then, otherwise))
    assert build.type(array) == ArrayType(I64, (Size.of(size),))
    finished(build, [n, c], size, array)


def test_unknown_sizes_must_be_given(build: Builder) -> None:
    n = parameter(build, "n", I64)
    with build.body() as inner:
        then = inner.finish(inner.iota(n.name))
    with build.body() as inner:
        otherwise = inner.finish(inner.iota(3))
    with pytest.raises(InternalError, match="the pattern must say the type"):
        build.let(core.If(TRUE, then, otherwise))


def test_lambdas_get_their_result_types(build: Builder) -> None:
    n = parameter(build, "n", I64)
    xs = parameter(build, "xs", ArrayType(F32, (Size.of(n.name),)))
    double = build.function([F32], lambda inner, x: inner.add(x, x))
    assert double.results == (F32,)
    (ys,) = build.map([xs.name], double, ["ys"])
    assert "let ys: [n]f32 = map(n, (xs), " in finished(build, [n, xs], ys)


def test_statements_carry_place_and_attributes() -> None:
    place = Location(Source("a.fut", "x"), 1, 2, 1, 3)
    build = Builder(NameSource(), {}, place, ("sequential",))
    with build.body() as inner:
        inner.check(FALSE, ("no",))
    (statement,) = inner.statements
    assert statement.location is place and statement.attributes == ("sequential",)
    assert statement.exp.backtrace == ("a.fut:1:2",)


def test_constants_fit_their_type() -> None:
    assert constant(1, F32).value == 1.0 and isinstance(constant(1, F32).value, float)
    assert constant(2.0, I32).value == 2 and isinstance(constant(2.0, I32).value, int)
