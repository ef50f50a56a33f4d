"""Adjoints of what moves values without computing: the movement backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, DimSlice, Stm
from minifut.ir.sizes import Size, product
from minifut.ir.types import element_of
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import fit, total
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule

Back = Callable[[Builder, Adjoints, Any, Atom], None]


@rule(paper="Griewank and Walther 2008, section 3.2")
def vjp_linear(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""Each operand gets the part of the adjoint that came from it.

    before:
        given (n: i64, xs: [n]f64)
        let replicated: [2][n]f64 = replicate([2], xs)
    after:
        let replicated: [2][n]f64 = replicate([2], xs)
        let zeros: [n]f64 = replicate([n], 0.0f64)
        let total: [n]f64 = redomap(2, (replicated_seed),
          reduce commutative(\(x: [n]f64, x_1: [n]f64) -> ([n]f64) {
            let sum: [n]f64 = map(n, (x, x_1), add_f64)
            return sum
          }, (zeros)),
          \(x_4: [n]f64) -> ([n]f64) {x_4})
        return replicated, total
    """
    (result,) = statement.pattern
    exp = statement.exp
    rule = _BACK[type(exp)]

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if adjoint is not None:
            rule(build, adjoints, exp, adjoint)

    return Reversed((statement,), back)


@rule(paper="Griewank and Walther 2008, section 3.2")
def vjp_iota(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""The start is in every element, the stride in each as often as its index says.

    before:
        given (x: i64, dy: [3]i64)
        let (y: [3]i64, dx: i64) = vjp(\(a: i64) -> ([3]i64) {
          let b: [3]i64 = iota i64 (3, a, 1i64)
          return b
        }, (x), (dy), [])
        return y, dx
    after:
        let b: [3]i64 = iota i64 (3, x, 1i64)
        let total: i64 = redomap(3, (dy),
          reduce commutative(add_i64, (0i64)),
          \(x_3: i64) -> (i64) {x_3})
        return b, total
    """
    exp = statement.exp_of(core.Iota)
    (result,) = statement.pattern

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if not isinstance(adjoint, Name):
            return
        length = exp.length.as_name
        if length in sweep.activity and length is not None:
            adjoints.add(build, length, build.convert(total(build, adjoint), _I64))
        if exp.start in sweep.activity:
            adjoints.add(build, exp.start, total(build, adjoint))
        if exp.stride in sweep.activity:
            places = build.iota(exp.length, element=exp.element)
            types = (exp.element, exp.element)
            function = build.function(types, lambda inner, a, b: inner.mul(a, b))
            (weighted,) = build.map((adjoint, places), function)
            adjoints.add(build, exp.stride, total(build, weighted))

    return Reversed((statement,), back)


_I64 = element_of(i64(0).type)


def _copy(build: Builder, adjoints: Adjoints, exp: Any, adjoint: Atom) -> None:
    adjoints.add(build, exp.atom, adjoint)


def _whole(build: Builder, adjoints: Adjoints, exp: Any, adjoint: Atom) -> None:
    adjoints.add(build, exp.array, adjoint)


def _index(build: Builder, adjoints: Adjoints, exp: core.Index, adjoint: Atom) -> None:
    adjoints.add_at(build, exp.array, exp.slice, adjoint)


def _update(
    build: Builder, adjoints: Adjoints, exp: core.Update, adjoint: Atom
) -> None:
    """The new value gets what is in its place; what was there before, nothing."""
    assert isinstance(adjoint, Name)
    if exp.value in adjoints.activity:
        adjoints.add(build, exp.value, build.index(adjoint, *exp.slice))
    nothing = build.zero(build.type(exp.value))
    left = core.Update(adjoint, exp.slice, nothing)
    adjoints.add(build, exp.array, build.let(left, f"{exp.array.base}_adj"))


def _replicate(
    build: Builder, adjoints: Adjoints, exp: core.Replicate, adjoint: Atom
) -> None:
    assert isinstance(adjoint, Name)
    inner = build.shape(adjoint)[len(exp.shape) :]
    flat = build.reshape(adjoint, (product(exp.shape), *inner))
    adjoints.add(build, exp.value, total(build, flat))


def _literal(
    build: Builder, adjoints: Adjoints, exp: core.ArrayLiteral, adjoint: Atom
) -> None:
    assert isinstance(adjoint, Name)
    for number, row in enumerate(exp.rows):
        if row in adjoints.activity:
            adjoints.add(build, row, build.index(adjoint, i64(number)))


def _rearrange(
    build: Builder, adjoints: Adjoints, exp: core.Rearrange, adjoint: Atom
) -> None:
    assert isinstance(adjoint, Name)
    places = enumerate(exp.permutation)
    inverse = [place for place, _ in sorted(places, key=lambda pair: pair[1])]
    adjoints.add(build, exp.array, build.rearrange(adjoint, inverse))


def _reshape(
    build: Builder, adjoints: Adjoints, exp: core.Reshape, adjoint: Atom
) -> None:
    adjoints.add(build, exp.array, fit(build, adjoint, build.type(exp.array)))


def _concat(
    build: Builder, adjoints: Adjoints, exp: core.Concat, adjoint: Atom
) -> None:
    assert isinstance(adjoint, Name)
    start = Size.constant(0)
    whole = build.shape(adjoint)
    for array in exp.arrays:
        size = build.shape(array)[exp.dimension]
        if array in adjoints.activity:
            outer = [DimSlice(i64(0), s, i64(1)) for s in whole[: exp.dimension]]
            own = DimSlice(build.size_atom(start), size, i64(1))
            adjoints.add(build, array, build.index(adjoint, *outer, own))
        start = start + size


_BACK: dict[type, Back] = {
    core.Copy: _copy,
    core.Trace: _copy,
    core.Opaque: _copy,
    core.Index: _index,
    core.Update: _update,
    core.Replicate: _replicate,
    core.ArrayLiteral: _literal,
    core.Rearrange: _rearrange,
    core.Reshape: _reshape,
    core.Concat: _concat,
    core.Manifest: _whole,
}
