"""Entry points: functions of the core that the outside can call.

    entry main [n] (xs: [n](i32, f32)) : [n]f32
    ->
    fun main(n: i64, xs: [n]i32, xs: [n]f32): ([n]f32)

Sizes that the parameters name come first; a size of the result that is not one of them
is one more result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from minifut.errors import error
from minifut.frontend import syntax, types
from minifut.frontend.elaborate import attributes, checks, entry_types, patterns, values
from minifut.frontend.elaborate.branches import coerce
from minifut.frontend.elaborate.environment import Environment, SizeParameter
from minifut.frontend.elaborate.expressions import evaluate
from minifut.frontend.elaborate.static_types import (
    Static,
    build,
    leaf_types,
    map_array_sizes,
    resolve_type,
    static_sizes,
)
from minifut.frontend.elaborate.values import Value, scalar
from minifut.frontend.elaborate.work import Work
from minifut.ir import core
from minifut.ir.core import Function, Param
from minifut.ir.entries import Entry
from minifut.ir.sizes import Size
from minifut.ir.types import I64, shape_of
from minifut.names import Name

HIGHEST_RANK = 32
"""of arrays from and to the outside: what every NumPy has"""


def entry_point(
    declaration: syntax.ValueDeclaration, env: Environment, work: Work
) -> tuple[Entry, Function]:
    """The core function of an entry point and how it looks from outside."""
    frame = env.child()
    parameter_types, result_type = signature(declaration)
    outside = _Outside(work, frame, frozenset(declaration.scheme_parameters))
    opened = [outside.opened(type_) for type_ in parameter_types]
    sizes = outside.parameters
    for part in declaration.type_parameters:
        if isinstance(part, syntax.SizeParam) and part.name_resolved is not None:
            frame.terms[part.name] = SizeParameter(part.name_resolved, frame)
    statics = [outside.sized(resolve_type(type_, frame, work)) for type_ in opened]
    parameters = list(sizes)
    entry_parameters = []
    arguments: list[Value] = []
    for place, (type_, static) in enumerate(zip(opened, statics, strict=True)):
        pattern = (
            declaration.parameters[place]
            if place < len(declaration.parameters)
            else None
        )
        base, written = entry_types.name_and_type(pattern, place)
        own, argument = _parameter(base, type_, static, work, declaration)
        parameters += own
        arguments.append(argument)
        entry_parameters.append(entry_types.describe(base, type_, static, written))
    function_name = work.names.fresh(declaration.name)
    for parameter in parameters:
        work.build.scope[parameter.name] = parameter.type
    outside_names = {parameter.name for parameter in parameters}
    with work.nested() as build:
        result = _run(declaration, parameter_types, arguments, frame, work)
        work.location = declaration.location
        results, atoms = result_parameters(
            work, result, lambda size: outside_names >= size.names()
        )
        body = build.finish(*atoms)
    for leaf in (*parameters, *results):
        if len(shape_of(leaf.type)) > HIGHEST_RANK:
            raise error(
                declaration.location,
                f"The entry point {declaration.name} takes or gives an array of more "
                f"than {HIGHEST_RANK} dimensions, which NumPy does not have.",
                "not-supported",
                "flatten some of the dimensions",
            )
    function = Function(function_name, tuple(parameters), results, body)
    entry = Entry(
        declaration.name,
        function_name,
        len(sizes),
        tuple(entry_parameters),
        entry_types.describe_results(result_type, declaration.result, result),
        tuple(attributes.show(a) for a in declaration.attributes),
    )
    return entry, function


def signature(
    declaration: syntax.ValueDeclaration,
) -> tuple[list[types.Type], types.Type]:
    """The types of all parameters, those of a function in the result included."""
    found: list[types.Type] = []
    type_ = declaration.type
    assert type_ is not None
    while isinstance(type_, types.Arrow):
        found.append(type_.argument)
        type_ = type_.result
    for place, pattern in enumerate(declaration.parameters):
        if pattern.type is not None:
            found[place] = pattern.type
    return found, type_


class _Outside:
    """The sizes of an entry point's parameters as a caller gives them.

    A size parameter of the definition has a parameter of its own. So has, under a
    new name, any other size but a number: that it is right is checked inside.
    """

    def __init__(self, work: Work, frame: Environment, named: frozenset[Name]) -> None:
        self.work, self.frame, self.named = work, frame, named
        self.parameters: list[Param] = []

    def opened(self, type_: types.Type) -> types.Type:
        """The type with only plain sizes."""
        return types.map_type(type_, lambda _: None, self._size)

    def sized(self, static: Static) -> Static:
        """The type with a parameter for each size that an abstract type hides."""
        return map_array_sizes(static, lambda s: self._new("size") if s is None else s)

    def _new(self, base: str) -> Size:
        name = self.work.names.fresh(base)
        self.work.known.sizes.add(name)
        self.parameters.append(Param(name, I64))
        return Size.of(name)

    def _size(self, size: types.Size) -> types.Size:
        if isinstance(size, types.SizeConst):
            return size
        if not isinstance(size, types.SizeVar) or size.name not in self.named:
            size = types.SizeVar(self.work.names.fresh("size"))
        if size.name not in self.frame.names:
            self.frame.names[size.name] = self._new(size.name.base)
        return size


def _parameter(
    base: str,
    type_: types.Type,
    static: Static,
    work: Work,
    declaration: syntax.ValueDeclaration,
) -> tuple[list[Param], Value]:
    """The parameters that stand for one argument, and the argument made of them."""
    work.location = declaration.location
    unique = types.has_unique(type_)
    own = [Param(work.names.fresh(base), leaf, unique) for leaf in leaf_types(static)]
    leaves = (scalar(p.name, p.type) for p in own)
    return own, build(static, leaves, work)


def _run(
    declaration: syntax.ValueDeclaration,
    parameter_types: list[types.Type],
    arguments: list[Value],
    frame: Environment,
    work: Work,
) -> Value:
    from minifut.frontend.elaborate.application import apply

    count = len(declaration.parameters)
    for place, type_ in enumerate(parameter_types):
        argument = _checked(type_, arguments[place], frame, work, declaration)
        arguments[place] = argument
        if place < count:
            patterns.bind(declaration.parameters[place], argument, frame, work)
    unsafe = any(a.name == "unsafe" for a in declaration.attributes)
    with work.under(replace(work.mode, unsafe=unsafe)):
        result = evaluate(declaration.body, frame, work)
        return apply(work, result, arguments[count:], declaration.location)


def _checked(
    type_: types.Type,
    value: Value,
    frame: Environment,
    work: Work,
    declaration: syntax.ValueDeclaration,
) -> Value:
    """An argument with the sizes that its type requires."""
    own = values.array_sizes(value)
    wanted = static_sizes(resolve_type(type_, frame, work, emit=True))
    sizes = [w if w is not None else o for w, o in zip(wanted, own, strict=True)]
    conditions = [
        work.op("eq", work.size_leaf(o), work.size_leaf(s))
        for o, s in dict.fromkeys(zip(own, sizes, strict=True))
        if o != s
    ]
    message = ("Entry point arguments have invalid sizes.",)
    condition = checks.all_of(work, conditions)
    checks.check(work, condition, message, declaration.location)
    return coerce(work, value, sizes)


def result_parameters(
    work: Work, value: Value, is_known: Callable[[Size], bool]
) -> tuple[tuple[Param, ...], list[core.Atom]]:
    """The function's results: sizes that are not known outside, then all leaves.

    Callers of an entry point know its parameters only, not the program's constants.
    """
    unknown: dict[Size, Name] = {}
    named = []
    for size in values.array_sizes(value):
        if is_known(size):
            named.append(size)
        else:
            name = unknown.setdefault(size, work.names.fresh("size"))
            named.append(Size.of(name))
    shape = values.resized(value, named)
    results = [Param(name, I64) for name in unknown.values()]
    results += [
        Param(work.names.fresh("result"), leaf.type) for leaf in values.leaves(shape)
    ]
    atoms: list[core.Atom] = [work.build.size_atom(size) for size in unknown]
    return tuple(results), [*atoms, *values.atoms(value)]
