"""Entry points: functions of the core that the outside can call.

    entry main [n] (xs: [n](i32, f32)) : [n]f32
    ->
    fun main(n: i64, xs: [n]i32, xs: [n]f32): ([n]f32)

Sizes that the parameters name come first; a size of the result that is not one of them
is one more result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import CompileError
from minifut.frontend import syntax, types
from minifut.frontend.elaborate import entry_types, patterns, values
from minifut.frontend.elaborate.environment import Environment, SizeParameter
from minifut.frontend.elaborate.expressions import evaluate
from minifut.frontend.elaborate.sizes import resolve_size
from minifut.frontend.elaborate.static_types import build, leaf_types, resolve_type
from minifut.frontend.elaborate.values import Value, scalar
from minifut.ir import core
from minifut.ir.core import Entry, Function, Param
from minifut.ir.sizes import Size
from minifut.ir.types import I64
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


def entry_point(
    declaration: syntax.ValueDeclaration, env: Environment, work: Work
) -> tuple[Entry, Function]:
    """The core function of an entry point and how it looks from outside."""
    frame = env.child()
    parameter_types, result_type = _signature(declaration)
    sizes = _size_parameters(parameter_types, frame, work)
    for part in declaration.type_parameters:
        if isinstance(part, syntax.SizeParam) and part.name_resolved is not None:
            frame.terms[part.name] = SizeParameter(part.name_resolved, frame)
    parameters = list(sizes)
    entry_parameters = []
    arguments: list[Value] = []
    for place, type_ in enumerate(parameter_types):
        pattern = (
            declaration.parameters[place]
            if place < len(declaration.parameters)
            else None
        )
        base, written = entry_types.name_and_type(pattern, place)
        own, argument = _parameter(base, type_, frame, work, declaration)
        parameters += own
        arguments.append(argument)
        entry_parameters.append(entry_types.describe(base, type_, written, len(own)))
    function_name = work.names.fresh(declaration.name)
    for parameter in parameters:
        work.build.scope[parameter.name] = parameter.type
    mark = work.names.fresh("mark").tag
    with work.nested() as build:
        result = _run(declaration, arguments, frame, work)
        work.location = declaration.location
        results, atoms = result_parameters(work, result, mark)
        body = build.finish(*atoms)
    function = Function(function_name, tuple(parameters), results, body)
    entry = Entry(
        declaration.name,
        function_name,
        len(sizes),
        tuple(entry_parameters),
        entry_types.describe_results(result_type, declaration.result, result),
        tuple(str(a.name) for a in declaration.attributes),
    )
    return entry, function


def _signature(
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


def _size_parameters(
    parameter_types: list[types.Type], frame: Environment, work: Work
) -> list[Param]:
    """A parameter for each size that is named in an array's type."""
    made: list[Param] = []

    def visit(type_: types.Type) -> None:
        match type_:
            case types.Array(size, element):
                if isinstance(size, types.SizeVar) and frame.meaning(size.name) is None:
                    name = work.names.fresh(size.name.base)
                    frame.names[size.name] = Size.of(name)
                    work.sizes.add(name)
                    made.append(Param(name, I64))
                visit(element)
            case types.Record(fields):
                for _, part in fields:
                    visit(part)
            case types.Sum(constructors):
                for _, payload in constructors:
                    for part in payload:
                        visit(part)

    for type_ in parameter_types:
        visit(type_)
    return made


def _parameter(
    base: str,
    type_: types.Type,
    frame: Environment,
    work: Work,
    declaration: syntax.ValueDeclaration,
) -> tuple[list[Param], Value]:
    """The parameters that stand for one argument, and the argument made of them."""
    work.location = declaration.location
    _require_known(type_, frame, work, declaration)
    static = resolve_type(type_, frame, work)
    unique = types.has_unique(type_)
    own = [Param(work.names.fresh(base), leaf, unique) for leaf in leaf_types(static)]
    leaves = (scalar(p.name, p.type) for p in own)
    return own, build(static, leaves, work)


def _require_known(
    type_: types.Type,
    frame: Environment,
    work: Work,
    declaration: syntax.ValueDeclaration,
) -> None:
    match type_:
        case types.Array(size, element):
            if resolve_size(size, frame, work) is None:
                raise CompileError(
                    declaration.location,
                    f"the size {types.show_size(size)} of a parameter of entry point"
                    f" {declaration.name} is not supported",
                    "give each dimension a name or a number of its own",
                )
            _require_known(element, frame, work, declaration)
        case types.Record(fields):
            for _, part in fields:
                _require_known(part, frame, work, declaration)


def _run(
    declaration: syntax.ValueDeclaration,
    arguments: list[Value],
    frame: Environment,
    work: Work,
) -> Value:
    from minifut.frontend.elaborate.application import apply

    count = len(declaration.parameters)
    for pattern, argument in zip(declaration.parameters, arguments, strict=False):
        patterns.bind(pattern, argument, frame, work)
    unsafe = any(a.name == "unsafe" for a in declaration.attributes)
    before, work.unsafe = work.unsafe, unsafe
    result = evaluate(declaration.body, frame, work)
    result = apply(work, result, arguments[count:], declaration.location)
    work.unsafe = before
    return result


def result_parameters(
    work: Work, value: Value, mark: int
) -> tuple[tuple[Param, ...], list[core.Atom]]:
    """The function's results: sizes that are not known outside, then all leaves."""
    unknown: dict[Size, Name] = {}
    named = []
    for size in values.array_sizes(value):
        if work.is_inner(size, mark):
            name = unknown.setdefault(size, work.names.fresh("size"))
            named.append(Size.of(name))
        else:
            named.append(size)
    shape = values.resized(value, named)
    results = [Param(name, I64) for name in unknown.values()]
    results += [
        Param(work.names.fresh("result"), leaf.type) for leaf in values.leaves(shape)
    ]
    atoms: list[core.Atom] = [work.build.size_atom(size) for size in unknown]
    return tuple(results), [*atoms, *values.atoms(value)]
