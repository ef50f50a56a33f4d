"""From type expressions to types.

`evaluate` gives a type and the unknown sizes (`[]` and `?[n].`) that are to be bound
where the type is. In the result of a function type they become the arrow's `exts`;
in a parameter they belong to the whole, as a caller gives them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from minifut.errors import Location, error
from minifut.frontend import syntax
from minifut.frontend.check import hints
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.messages import quote, refuse_again, source_text
from minifut.frontend.check.size_terms import has_binding, size_term
from minifut.frontend.check.witnesses import witnessed
from minifut.frontend.types import (
    I64,
    Array,
    Arrow,
    Record,
    Scalar,
    Scheme,
    Size,
    SizeVar,
    Sum,
    Type,
    mark_unique,
    parts,
    record,
    substitute,
    tuple_type,
)
from minifut.names import Name

BoundNames: TypeAlias = "tuple[Name, ...]"
Evaluated: TypeAlias = tuple[Type, BoundNames, BoundNames, str]
"""type, sizes for the whole, sizes bound here, liftedness"""

RANK = {"": 0, "~": 1, "^": 2}


def most_lifted(*kinds: str) -> str:
    return max(kinds, key=RANK.__getitem__, default="")


def infer_type(state: Inference, node: syntax.TypeExp) -> tuple[Type, BoundNames, str]:
    """A type, its unknown sizes, its liftedness."""
    _refuse_repeated_names(node)
    type_, whole, here, lifted = evaluate(state, node)
    state.anonymous[node] = (*whole, *here)
    return type_, (*whole, *here), lifted


def _refuse_repeated_names(node: syntax.TypeExp) -> None:
    """The parameters along one chain of arrows have different names."""
    seen: dict[str, Location] = {}
    while True:
        match node:
            case syntax.TypeParens(_, inner) | syntax.TypeExistential(_, _, inner):
                node = inner
            case syntax.TypeArrow(location, parameter, _, result):
                if parameter is not None:
                    what = f"Name {quote(parameter)} also bound at"
                    refuse_again(seen, parameter, location, what)
                node = result
            case _:
                return


def evaluate(state: Inference, node: syntax.TypeExp) -> Evaluated:
    """The type that a type expression stands for."""
    result = _RULES[type(node)](state, node)
    node.type = result[0]
    return result


def _reference(state: Inference, node: syntax.TypeRef) -> Evaluated:
    binding = state.resolve_type(node.name)
    if binding.parameters:
        shown = " ".join(
            f"[{p.base}]" if kind == "size" else f"'{kind}{p.base}"
            for p, kind in binding.parameters
        )
        raise error(
            node.location,
            f"Type constructor {quote(f'{node.name} {shown}')} used without any "
            "arguments.",
            "type-arguments",
        )
    type_, exts = rename_exts(state, binding.type, binding.exts)
    return type_, (), exts, binding.lifted


def rename_exts(
    state: Inference, type_: Type, exts: BoundNames
) -> tuple[Type, BoundNames]:
    """Fresh names for the unknown sizes of a type abbreviation."""
    if not exts:
        return type_, ()
    fresh = tuple(state.context.names.like(e) for e in exts)
    mapping = {e: SizeVar(f) for e, f in zip(exts, fresh, strict=True)}
    return substitute(type_, mapping), fresh


def _parens(state: Inference, node: syntax.TypeParens) -> Evaluated:
    return evaluate(state, node.inner)


def _tuple(state: Inference, node: syntax.TypeTuple) -> Evaluated:
    parts = [evaluate(state, e) for e in node.elements]
    return _combine(tuple_type(tuple(p[0] for p in parts)), parts)


def _combine(type_: Type, parts: list[Evaluated]) -> Evaluated:
    whole = tuple(n for p in parts for n in p[1])
    here = tuple(n for p in parts for n in p[2])
    return type_, whole, here, most_lifted(*(p[3] for p in parts))


def _record(state: Inference, node: syntax.TypeRecord) -> Evaluated:
    _refuse_duplicates(
        node, [name for name, _ in node.fields], "Duplicate record fields"
    )
    parts = [evaluate(state, t) for _, t in node.fields]
    fields = {name: p[0] for (name, _), p in zip(node.fields, parts, strict=True)}
    return _combine(record(fields), parts)


def _refuse_duplicates(node: syntax.Node, names: list[str], what: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise error(
            node.location,
            f"{what} in {source_text(node)}: {', '.join(repeated)}.",
            "duplicate-definition",
        )


def _sum(state: Inference, node: syntax.TypeSum) -> Evaluated:
    names = [name for name, _ in node.constructors]
    _refuse_duplicates(node, names, "Duplicate constructors")
    if len(names) > 255:
        text = "Sum types must have less than 256 constructors."
        raise error(node.location, text, "sum-type-size")
    parts: list[Evaluated] = []
    constructors = []
    for name, payload in node.constructors:
        evaluated = [evaluate(state, t) for t in payload]
        parts += evaluated
        constructors.append((name, tuple(p[0] for p in evaluated)))
    return _combine(Sum(tuple(sorted(constructors))), parts)


def _array(state: Inference, node: syntax.TypeArray) -> Evaluated:
    anonymous: BoundNames = ()
    size: Size
    if node.size is None:
        name = state.context.names.fresh("d")
        anonymous = (name,)
        size = SizeVar(name)
    else:
        size = infer_size(state, node.size)
    element, whole, here, lifted = evaluate(state, node.element)
    if lifted:
        kind, why = (
            ("size-lifted", "might cause irregular array")
            if lifted == "~"
            else ("lifted", "might contain function")
        )
        raise error(
            node.location,
            f"Cannot create array with elements of {kind} type "
            f"{quote(source_text(node.element))} ({why}).",
            "lifted-array-element",
        )
    return Array(size, element), whole, (*anonymous, *here), ""


def _check_declared(state: Inference, name: syntax.QualName) -> None:
    """A size that has no declaration looks like any unknown name otherwise."""
    if not name.qualifiers and state.scope.term(name.name) is None:
        text = f"Unknown name {quote(name.name)}"
        raise error(name.location, text, "unknown-name", hints.UNDECLARED_SIZE)


def infer_size(state: Inference, expression: syntax.Exp) -> Size:
    """Check an expression used as a size and turn it into a term."""
    from minifut.frontend.check.inference.expressions import infer

    if isinstance(expression, syntax.Var):
        _check_declared(state, expression.name)
    found = infer(state, expression)
    state.unify(
        expression.location, I64, found, "A size must be of type i64, cannot unify"
    )
    if has_binding(expression):
        raise error(
            expression.location,
            "Size expression with binding is forbidden.",
            "size-expression-bind",
            "bind the size to a name with 'let' before",
        )
    return to_size(state, expression)


def to_size(state: Inference, expression: syntax.Exp) -> Size:
    """The size term of an expression whose names are resolved."""
    operators = state.scope.prelude.operator_symbol
    prelude = state.scope.prelude
    return size_term(expression, operators, lambda name: not prelude.owns(name))


def _unique(state: Inference, node: syntax.TypeUnique) -> Evaluated:
    type_, whole, here, lifted = evaluate(state, node.inner)
    if not _may_contain_array(type_):
        state.context.warn(
            node.location,
            f"Declaring {quote(state.show(type_))} as unique has no effect.",
        )
    return mark_unique(type_), whole, here, lifted


def _may_contain_array(type_: Type) -> bool:
    if isinstance(type_, Record | Sum):
        return any(map(_may_contain_array, parts(type_)))
    return not isinstance(type_, Scalar | Arrow)


def _arrow(state: Inference, node: syntax.TypeArrow) -> Evaluated:
    argument, whole, here, _ = evaluate(state, node.argument)
    mark = state.scope.mark()
    if node.parameter is not None:
        node.name_resolved = state.bind(node.parameter, argument)
    result, result_whole, exts, _ = evaluate(state, node.result)
    state.scope.restore(mark)
    arrow = Arrow(node.name_resolved, argument, result, exts)
    return arrow, (*whole, *here, *result_whole), (), "^"


def _existential(state: Inference, node: syntax.TypeExistential) -> Evaluated:
    mark = state.scope.mark()
    names = tuple(state.bind(size, I64) for size in node.sizes)
    node.names_resolved = names
    type_, whole, here, lifted = evaluate(state, node.body)
    state.scope.restore(mark)
    constructive = witnessed(type_)
    for name in names:
        if name not in constructive:
            raise error(
                node.location,
                f"Existential size {quote(name.base)} not used as array size.",
                "unused-existential",
            )
    return type_, whole, (*names, *here), most_lifted(lifted, "~")


def _apply(state: Inference, node: syntax.TypeApply) -> Evaluated:
    function: syntax.TypeExp = node.function
    while isinstance(function, syntax.TypeParens):
        function = function.inner
    if not isinstance(function, syntax.TypeRef):
        text = f"Type {quote(source_text(function))} is not a type constructor."
        raise error(node.location, text, "type-arguments")
    binding = state.resolve_type(function.name)
    if len(binding.parameters) != len(node.arguments):
        raise error(
            node.location,
            f"Type constructor {quote(str(function.name))} requires "
            f"{len(binding.parameters)} arguments, but provided {len(node.arguments)}.",
            "type-arguments",
            None if binding.parameters else hints.NO_TYPE_ARGUMENTS,
        )
    type_, exts = rename_exts(state, binding.type, binding.exts)
    mapping: dict[Name, Type | Size] = {}
    whole: list[Name] = []
    here = list(exts)
    lifted = binding.lifted
    for (parameter, kind), argument in zip(
        binding.parameters, node.arguments, strict=True
    ):
        if (kind == "size") != isinstance(argument, syntax.SizeArgument):
            raise _bad_argument(argument.location, argument, parameter, kind)
        if isinstance(argument, syntax.SizeArgument):
            if argument.size is None:
                name = state.context.names.fresh("d")
                here.append(name)
                mapping[parameter] = SizeVar(name)
            else:
                mapping[parameter] = infer_size(state, argument.size)
        else:
            inner, inner_whole, inner_here, inner_lifted = evaluate(state, argument)
            whole += inner_whole
            here += inner_here
            mapping[parameter] = inner
            lifted = most_lifted(lifted, inner_lifted)
    return substitute(type_, mapping), tuple(whole), tuple(here), lifted


def _bad_argument(
    location: Location, argument: syntax.Node, parameter: Name, kind: str
) -> Exception:
    shown = f"[{parameter.base}]" if kind == "size" else f"'{kind}{parameter.base}"
    return error(
        location,
        f"Type argument {source_text(argument)} not valid for a type parameter "
        f"{shown}.",
        "type-arguments",
    )


_RULES: dict[type, Callable[[Inference, Any], Evaluated]] = {
    syntax.TypeRef: _reference,
    syntax.TypeParens: _parens,
    syntax.TypeTuple: _tuple,
    syntax.TypeRecord: _record,
    syntax.TypeSum: _sum,
    syntax.TypeArray: _array,
    syntax.TypeUnique: _unique,
    syntax.TypeArrow: _arrow,
    syntax.TypeExistential: _existential,
    syntax.TypeApply: _apply,
}


def bind_type_parameters(
    state: Inference, parameters: tuple[syntax.TypeParameter, ...]
) -> tuple[tuple[Name, str], ...]:
    """Bring `[n]` and `'t` into scope; the names with their kinds."""
    from minifut.frontend.check.environment import abstract_type

    bound = []
    seen: dict[tuple[bool, str], Location] = {}
    for parameter in parameters:
        is_size = isinstance(parameter, syntax.SizeParam)
        what = f"Type parameter {quote(parameter.name)} previously defined: also bound"
        key = is_size, parameter.name
        refuse_again(seen, key, parameter.location, f"{what} at")
        name = state.context.names.fresh(parameter.name)
        parameter.name_resolved = name
        if isinstance(parameter, syntax.SizeParam):
            state.scope.bind_value(parameter.name, name)
            state.types[name] = Scheme((), I64)
            bound.append((name, "size"))
        else:
            lifted = parameter.lifted
            state.scope.bind_type(parameter.name, abstract_type(name, (), lifted))
            state.solver.parameter_levels[name] = state.level
            bound.append((name, lifted))
    return tuple(bound)
