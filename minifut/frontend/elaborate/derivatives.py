r"""jvp, vjp, jmp, mjp and with_vjp: operations of the core that hold a lambda.

    vjp2 (\(a, b) -> a * b) (x, y) s
    ->
    let (r: f64, a': f64, b': f64) = vjp(\(a: f64, b: f64) -> .., (x, y), (s), [])

A tangent or adjoint has the structure and the sizes of the value that it belongs to.
"""

from __future__ import annotations

from minifut.errors import error
from minifut.frontend.elaborate import soacs, values
from minifut.frontend.elaborate.branches import coerce
from minifut.frontend.elaborate.lambdas import Made, make_lambda
from minifut.frontend.elaborate.values import Call, Leaf, Value, pair, scalar
from minifut.ir import core, derivatives
from minifut.ir.core import Atom, Param
from minifut.ir.sizes import Size
from minifut.names import Name


def jvp(call: Call) -> Value:
    """`jvp2 f x dx`: the result and its tangent."""
    return _forward(call, None)


def jmp(call: Call) -> Value:
    """`jmp2 f x dxs`: the result and a tangent for each seed."""
    return _forward(call, values.outer_size(call.arguments[2]))


def vjp(call: Call) -> Value:
    """`vjp2 f x dy`: the result and the adjoint of the argument."""
    return _reverse(call, None)


def mjp(call: Call) -> Value:
    """`mjp2 f x dys`: the result and an adjoint of the argument for each seed."""
    return _reverse(call, values.outer_size(call.arguments[2]))


def _forward(call: Call, count: Size | None) -> Value:
    function, argument, seed = call.arguments
    made = _function(call, function, argument, None)
    outer = [] if count is None else [count]
    seed = coerce(call.work, seed, [*outer, *values.array_sizes(argument)])
    exp = derivatives.Jvp(
        made.function, values.atoms(argument), values.atoms(seed), tuple(outer)
    )
    return _bind(call, exp, made.result, made.result, count)


def _reverse(call: Call, count: Size | None) -> Value:
    function, argument, seed = call.arguments
    outer = [] if count is None else [count]
    sizes = values.array_sizes(seed)[len(outer) :]
    made = _function(call, function, argument, sizes)
    exp = derivatives.Vjp(
        made.function, values.atoms(argument), values.atoms(seed), tuple(outer)
    )
    return _bind(call, exp, made.result, argument, count)


def with_vjp(call: Call) -> Value:
    """`with_vjp f f' x`: f x, whose adjoint is made by f'."""
    work = call.work
    function, adjoint, argument = call.arguments
    made = _function(call, function, argument, None)
    parameters: list[Param] = []
    result = _renamed(call, made.result, parameters)
    direction = _renamed(call, made.result, parameters)
    sizes = values.array_sizes(argument)
    back = make_lambda(call, adjoint, parameters, [result, direction], sizes)
    exp = derivatives.CustomVjp(made.function, back.function, values.atoms(argument))
    work.build.location = work.place_of(call.location)
    names = work.build.let_many(exp, ["result"] * len(values.leaves(made.result)))
    return values.with_atoms(made.result, iter(names))


def _function(
    call: Call, function: Value, argument: Value, sizes: list[Size] | None
) -> Made:
    """The function on fresh parameters that look like the argument."""
    if values.has_function(argument):
        raise error(
            call.location,
            f"{call.name} of a function whose argument holds functions is not "
            "supported",
            "not-supported",
            "let the function capture them instead",
        )
    parameters: list[Param] = []
    inside = _renamed(call, argument, parameters)
    return make_lambda(call, function, parameters, [inside], sizes)


def _renamed(call: Call, value: Value, parameters: list[Param]) -> Value:
    """The value with a new parameter for each leaf."""

    def change(leaf: Leaf) -> Leaf:
        base = leaf.atom.base if isinstance(leaf.atom, Name) else "x"
        name = call.work.names.fresh(base)
        parameters.append(Param(name, leaf.type))
        call.work.build.scope[name] = leaf.type
        return scalar(name, leaf.type)

    return values.map_leaves(value, change)


def _bind(
    call: Call, exp: core.Exp, primal: Value, direction: Value, count: Size | None
) -> Value:
    """The results of a derivative: those of the function, then tangents or adjoints."""
    work = call.work
    work.build.location = work.place_of(call.location)
    bases = ["result"] * len(values.leaves(primal))
    bases += ["derivative"] * len(values.leaves(direction))
    names: list[Atom] = list(work.build.let_many(exp, bases))
    own = iter(names)
    result = values.with_atoms(primal, own)
    if count is None:
        return pair(result, values.with_atoms(direction, own))
    return pair(result, values.with_atoms(soacs.lift(direction, count), own))
