r"""Derivatives of functions: operations that the pass `differentiate` removes.

    let (y: f64, dy: f64) = jvp(\(a: f64) -> (f64) {..}, (x), (dx), [])
    let (y: f64, dx: f64) = vjp(\(a: f64) -> (f64) {..}, (x), (dy), [])

`Jvp` (Jacobian times vector, forward mode) takes a tangent for each argument and gives
one for each result; `Vjp` (vector times Jacobian, reverse mode) takes an adjoint for
each result and gives one for each argument. Both give the results themselves first. A
tangent or adjoint has the type of its variable, integers and booleans included. With
`shape` [n] there are n seeds at once, and n derivatives: a leading dimension of each.

`CustomVjp` is a function with an adjoint of its own, which counts in reverse mode only.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Lambda
from minifut.ir.node import node
from minifut.ir.sizes import Size


@node
class Jvp:
    """Results, then their tangents; `seeds` are the tangents of the arguments."""

    printed = "jvp({function}, {arguments}, {seeds}, {shape})"
    function: Lambda
    arguments: tuple[Atom, ...]
    seeds: tuple[Atom, ...]
    shape: tuple[Size, ...] = ()


@node
class Vjp:
    """Results, then the adjoints of the arguments; `seeds` are those of the results."""

    printed = "vjp({function}, {arguments}, {seeds}, {shape})"
    function: Lambda
    arguments: tuple[Atom, ...]
    seeds: tuple[Atom, ...]
    shape: tuple[Size, ...] = ()


@node
class CustomVjp:
    """The results of `function`. `adjoint` takes the results and their adjoints and
    gives the adjoints of the arguments."""

    printed = "custom_vjp({function}, {adjoint}, {arguments})"
    function: Lambda
    adjoint: Lambda
    arguments: tuple[Atom, ...]


DERIVATIVE_EXPRESSIONS = (Jvp, Vjp, CustomVjp)

RETURN_SWEEP = "return_sweep"
"""the attribute of loops that reverse mode makes: what all rounds add to a sum may be
added in any order"""
