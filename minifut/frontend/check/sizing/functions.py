"""Sizes of functions: lambdas, local and top-level definitions.

What a definition leaves open is generalised: sizes become size parameters, unknown
sizes of its result the unknown sizes of the function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minifut.frontend import syntax
from minifut.frontend.check.environment import plain
from minifut.frontend.check.inference.patterns import parameter_name
from minifut.frontend.check.messages import error, quote
from minifut.frontend.check.sizing.expressions import RULES, expect, size
from minifut.frontend.check.sizing.patterns import (
    bind_names,
    refuse_inner_sizes,
    size_pattern,
)
from minifut.frontend.check.sizing.scopes import (
    move_exts_inwards,
    replace_sizes,
    unscope,
)
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.type_expressions import size_type
from minifut.frontend.check.witnesses import (
    free_in_size,
    free_sizes,
    produced_and_taken,
    witnessed,
)
from minifut.frontend.syntax.node import filled
from minifut.frontend.syntax.traverse import binders
from minifut.frontend.types import (
    I64,
    Arrow,
    Named,
    Record,
    Scheme,
    SizeMeta,
    SizeVar,
    Type,
    is_size,
    map_type,
    substitute,
)
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.errors import Location
    from minifut.frontend.types import Size


@dataclass(slots=True)
class Definition:
    """A definition that has been given sizes."""

    parameters: tuple[tuple[Name, str], ...]
    type: Type
    result: Type
    exts: tuple[Name, ...]


def bind_type_parameters(
    state: Sizing, parameters: tuple[syntax.TypeParameter, ...]
) -> None:
    """Size parameters are values, and sizes as themselves."""
    for node in parameters:
        if isinstance(node, syntax.SizeParam):
            assert node.name_resolved is not None
            state.values[node.name_resolved] = Scheme((), I64)
            state.bind_size_like(node.name_resolved, node.location)


def bind_parameters(state: Sizing, parameters: tuple[syntax.Pattern, ...]) -> None:
    """Parameters, each at a deeper level than the one before."""
    state.level += 1
    for parameter in parameters:
        size_pattern(state, parameter, None)
        bind_names(state, parameter)
        state.level += 1


def function_type(
    state: Sizing,
    parameters: tuple[syntax.Pattern, ...],
    result: Type,
    exts: tuple[Name, ...] = (),
) -> Type:
    """The type of a function; a parameter is named if the result mentions it."""
    result = state.normal_type(result)
    free = free_sizes(result) - set(exts)
    for parameter in reversed(parameters):
        assert parameter.type is not None
        argument = state.normal_type(parameter.type)
        name = parameter_name(parameter)
        if name not in free:
            name = None
        result = Arrow(name, argument, result, exts)
        exts = ()
        free |= free_sizes(argument)
    return result


def hidden_names(parameters: tuple[syntax.Pattern, ...]) -> list[Name]:
    """The names bound inside of parameters, which no type can mention."""
    shown = {parameter_name(p) for p in parameters}
    return [
        n.name_resolved
        for p in parameters
        for n in binders(p)
        if n.name_resolved not in shown and n.name_resolved is not None
    ]


def function_body(
    state: Sizing,
    parameters: tuple[syntax.Pattern, ...],
    body: syntax.Exp,
    declared: Type | None,
    location: Location,
) -> Type:
    """Check a body against its declared type; its type as seen from outside."""
    type_ = state.normal_type(size(state, body))
    hidden = hidden_names(parameters)
    type_, _ = unscope(state, location, hidden, type_)
    if declared is not None:
        hits = set(hidden) & free_sizes(state.normal_type(declared))
        if hits:
            name = min(hits, key=lambda n: n.tag).base
            raise error(
                location,
                f"The return type annotation\n  {state.show(declared)}\nrefers to the "
                f"name {quote(name)} which is bound to an inner component of a "
                "function parameter.",
                "inaccessible-size",
            )
        expect(
            state,
            body.location,
            "return type annotation",
            plain(declared),
            type_,
            "Function body does not have expected type.",
        )
    return type_


def _lambda(state: Sizing, node: syntax.Lambda) -> Type:
    assert node.type is not None
    whole = state.inference.finish(node.type)
    for _ in node.parameters:
        assert isinstance(whole, Arrow)
        whole = whole.result
    level = state.level
    state.level += 1
    bind_parameters(state, node.parameters)
    # The function returns whatever type is required of it.
    wanted = state.inferred(plain(whole), node.location, "^")
    declared = None
    if node.result is not None:
        declared, _ = size_type(state, node.result)
        expect(
            state,
            node.result.location,
            "lambda return type ascription",
            wanted,
            plain(declared),
            "Function does not have its declared type.",
        )
    body = function_body(state, node.parameters, node.body, declared, node.location)
    expect(
        state,
        node.body.location,
        "inferred return type",
        wanted,
        body,
        "Function body does not have expected type.",
    )
    result = state.normal_type(body if declared is None else declared)
    exts = _computed_inside(state, node.parameters, result)
    refuse_inner_sizes(state, None, _normalised(state, node.parameters))
    state.level = level
    return function_type(state, node.parameters, result, exts)


def _normalised(
    state: Sizing, parameters: tuple[syntax.Pattern, ...]
) -> tuple[syntax.Pattern, ...]:
    """Parameters with the sizes found so far in their types."""
    for parameter in parameters:
        for node in (parameter, *binders(parameter)):
            assert node.type is not None
            node.type = state.normal_type(node.type)
    return parameters


def _computed_inside(
    state: Sizing, parameters: tuple[syntax.Pattern, ...], result: Type
) -> tuple[Name, ...]:
    """The unknown sizes that a lambda's body brings into being."""
    taken = _parameter_sizes(function_type(state, parameters, result))
    found = [
        name
        for name in free_sizes(result) - taken
        if isinstance(name, Name)
        and (rigid := state.rigid.get(name)) is not None
        and not rigid.is_parameter
        and rigid.level >= state.level
    ]
    return tuple(sorted(found, key=lambda name: name.tag))


def _parameter_sizes(type_: Type) -> set[Name | int]:
    """The sizes in the parameters of a function that are not functions."""

    def on_parameter(term: Type) -> set[Name | int]:
        match term:
            case Arrow():
                return set()
            case Record(fields):
                return {n for _, t in fields for n in on_parameter(t)}
            case Named(_, arguments):
                return {
                    n
                    for a in arguments
                    for n in (free_in_size(a) if is_size(a) else on_parameter(a))
                }
            case _:
                return free_sizes(term)

    found: set[Name | int] = set()
    while isinstance(type_, Arrow):
        found |= on_parameter(type_.argument)
        type_ = type_.result
    return found


def size_definition(
    state: Sizing,
    name: str,
    resolved: Name | None,
    inferred: tuple[tuple[Name, str], ...],
    type_parameters: tuple[syntax.TypeParameter, ...],
    parameters: tuple[syntax.Pattern, ...],
    result: syntax.TypeExp | None,
    body: syntax.Exp,
    location: Location,
) -> Definition:
    """Sizes of a named function or value; `resolved` if it may call itself."""
    level = state.level
    state.level += 1
    bind_type_parameters(state, type_parameters)
    bind_parameters(state, parameters)
    declared = None
    own_names = ((filled(p.name_resolved), _kind(p)) for p in type_parameters)
    names = (*inferred, *own_names)
    if result is not None:
        declared, _ = size_type(state, result)
    if resolved is not None:
        if declared is None:
            state.recursive = resolved
        else:
            own = function_type(state, parameters, declared)
            loose = {n for n in free_sizes(own) if isinstance(n, int)}
            state.values[resolved] = _recursive_scheme(state, names, own, loose)
    where = result.location if result is not None else location
    found = function_body(state, parameters, body, declared, where)
    type_ = state.normal_type(found if declared is None else declared)
    if declared is None:
        type_ = plain(type_)
    refuse_inner_sizes(state, name, _normalised(state, parameters))
    type_ = _unknown_to_one_name(state, type_, location)
    done = _generalise(state, name, names, parameters, type_, location)
    state.level = level
    if not parameters and done.exts and any(k == "size" for _, k in done.parameters):
        raise error(
            location,
            "A size-polymorphic value binding may not have a type with an existential "
            f"size.\nType of this binding is:\n  {state.show(done.result)}",
            "size-polymorphic-value",
        )
    return done


def _kind(parameter: syntax.TypeParameter) -> str:
    return "size" if isinstance(parameter, syntax.SizeParam) else parameter.lifted


def _recursive_scheme(
    state: Sizing,
    names: tuple[tuple[Name, str], ...],
    own: Type,
    loose: set[int],
) -> Scheme:
    """The type of a function inside its own body: sizes are its parameters, types are
    fixed; sizes not yet known are new at each call."""
    fresh = {n: state.context.names.fresh("d") for n in sorted(loose)}

    def on_size(size_: Size) -> Size:
        if isinstance(size_, SizeMeta) and size_.id in fresh:
            return SizeVar(fresh[size_.id])
        return size_

    type_ = _renamed_parameters(state, map_type(own, lambda _: None, on_size))
    sizes = tuple((n, "size") for n, kind in names if kind == "size")
    return Scheme((*sizes, *((n, "size") for n in fresh.values())), type_)


def _renamed_parameters(state: Sizing, type_: Type) -> Type:
    """The same function type, its parameters not confused with those of the body."""
    if not isinstance(type_, Arrow):
        return type_
    name, result = type_.parameter, type_.result
    if name is not None:
        own, name = name, state.context.names.like(name)
        result = substitute(result, {own: SizeVar(name)})
    result = _renamed_parameters(state, result)
    return Arrow(name, type_.argument, result, type_.exts)


def _unknown_to_one_name(state: Sizing, type_: Type, location: Location) -> Type:
    """`[x+y]t` with unknown x: as no caller can know x, the whole size is unknown."""
    free = free_sizes(type_)

    def is_unknown(name: Name | int) -> bool:
        rigid = None if isinstance(name, int) else state.rigid.get(name)
        return rigid is not None and not rigid.is_parameter

    if not any(is_unknown(name) for name in free):
        return type_
    told = witnessed(type_)

    def killer(size_: Size) -> object | None:
        if isinstance(size_, (SizeVar, SizeMeta)):
            return None
        for name in free_in_size(size_):
            if name not in told and is_unknown(name):
                return name
        return None

    return replace_sizes(state, location, killer, type_)[0]


def settle(state: Sizing, level: int) -> None:
    """Instantiated sizes that did not turn out existential are ordinary from here."""
    for info in state.metas:
        if info.level < level:
            continue
        if info.kind == "copy":
            if state.metas[info.canonical].kind != "existential":
                info.kind, info.link = "linked", SizeMeta(info.canonical)
        elif info.kind == "instantiated":
            info.kind = "flexible"


_INTERNAL = frozenset({"coerce", "loop", "loop_d", "any", "slice_dim"})
"""names of metas that say nothing to a reader of a type"""


def _generalise(
    state: Sizing,
    name: str,
    names: tuple[tuple[Name, str], ...],
    parameters: tuple[syntax.Pattern, ...],
    result: Type,
    location: Location,
) -> Definition:
    least = state.level - len(parameters)
    settle(state, least)
    _normalised(state, parameters)
    result = state.normal_type(result)
    whole = function_type(state, parameters, result)
    more = []
    for atom in sorted(n for n in free_sizes(whole) if isinstance(n, int)):
        info = state.metas[atom]
        if info.level >= least and info.kind == "flexible":
            base = "d" if info.base in _INTERNAL else info.base
            parameter = state.context.names.fresh(base)
            info.kind, info.link = "linked", SizeVar(parameter)
            more.append((parameter, "size"))
    _normalised(state, parameters)
    result = state.normal_type(result)
    whole = function_type(state, parameters, result)
    exts = _returned_exts(state, name, whole, least, location)
    here, result = move_exts_inwards(exts, result)
    done = (*names, *more)
    used = free_sizes(result) | {
        n for p in parameters if p.type is not None for n in free_sizes(p.type)
    }
    for parameter, kind in done:
        if kind == "size" and parameter not in used:
            text = f"Cannot generalise type of {quote(name)}.\n"
            text += f"Size [{parameter.base}] unused in pattern."
            raise error(location, text, "unused-size")
    type_ = function_type(state, parameters, result, here)
    return Definition(done, type_, result, here)


def _returned_exts(
    state: Sizing, name: str, whole: Type, least: int, location: Location
) -> tuple[Name, ...]:
    produced, taken = produced_and_taken(whole)
    exts = []
    for atom in sorted(
        (n for n in free_sizes(whole) if not isinstance(n, int)), key=lambda n: n.tag
    ):
        rigid = state.rigid.get(atom)
        if rigid is None or rigid.is_parameter or rigid.level < least:
            continue
        if atom in taken and atom not in produced:
            note = state.note_on(SizeVar(atom))
            text = (
                f"Cannot generalise type of {quote(name)}.\nUnknown size "
                f"{quote(atom.base)} in parameter of {quote(name)}, which is inferred "
                f"as:\n  {state.show(whole)}"
            )
            raise error(
                location, f"{text}\n{note}" if note else text, "unknown-param-def"
            )
        exts.append(atom)
    return tuple(exts)


RULES[syntax.Lambda] = _lambda
