"""Adjoints of what moves values without computing: the movement backwards."""

from __future__ import annotations

from typing import Any

from minifut.ir import core, sizes, types
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, DimSlice, Stm
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import fit, total
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


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
            return map(n, (x, x_1), add_f64)
          }, (zeros)),
          \(x_4: [n]f64) -> ([n]f64) {x_4})
        return replicated, total
    """
    (result,) = statement.pattern

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if adjoint is not None:
            _move_back(build, adjoints, statement.exp, adjoint)

    return Reversed((statement,), back)


@rule(paper="Griewank and Walther 2008, section 3.2")
def vjp_iota(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""The start is in every element, the stride in each as often as its index says.

    before:
        given (x: i64, dy: [3]i64)
        let (y: [3]i64, dx: i64) = vjp(\(a: i64) -> ([3]i64) {
          return iota i64 (3, a, 1i64)
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
            (weighted,) = build.map((adjoint, places), Builder.mul)
            adjoints.add(build, exp.stride, total(build, weighted))

    return Reversed((statement,), back)


_I64 = types.element_of(i64(0).type)


def _move_back(build: Builder, adjoints: Adjoints, exp: Any, adjoint: Atom) -> None:
    """Add the parts of the adjoint of a result to those of the operands."""
    match exp, adjoint:
        case ((core.Copy(atom) | core.Trace(_, atom) | core.Opaque(atom)), _):
            adjoints.add(build, atom, adjoint)
        case core.Manifest(array), _:
            adjoints.add(build, array, adjoint)
        case core.Index(array, slice_), _:
            adjoints.add_at(build, array, slice_, adjoint)
        case core.Reshape(_, array), _:
            adjoints.add(build, array, fit(build, adjoint, build.type(array)))
        case core.Update(array, slice_, value), Name():
            # the new value gets what is in its place; what was there before, nothing
            if value in adjoints.activity:
                adjoints.add(build, value, build.index(adjoint, *slice_))
            left = core.Update(adjoint, slice_, build.zero(build.type(value)))
            adjoints.add(build, array, build.let(left, f"{array.base}_adj"))
        case core.Replicate(shape, value), Name():
            inner = build.shape(adjoint)[len(shape) :]
            flat = build.reshape(adjoint, (sizes.product(shape), *inner))
            adjoints.add(build, value, total(build, flat))
        case core.ArrayLiteral(rows), Name():
            for number, row in enumerate(rows):
                if row in adjoints.activity:
                    adjoints.add(build, row, build.index(adjoint, i64(number)))
        case core.Rearrange(permutation, array), Name():
            inverse = sorted(range(len(permutation)), key=permutation.__getitem__)
            adjoints.add(build, array, build.rearrange(adjoint, inverse))
        case core.Concat(arrays=arrays, dimension=dimension), Name():
            start = sizes.Size.constant(0)
            outer = [
                DimSlice(i64(0), size, i64(1))
                for size in build.shape(adjoint)[:dimension]
            ]
            for array in arrays:
                size = build.shape(array)[dimension]
                if array in adjoints.activity:
                    own = DimSlice(build.size_atom(start), size, i64(1))
                    adjoints.add(build, array, build.index(adjoint, *outer, own))
                start = start + size
        case _:
            raise AssertionError(exp)
