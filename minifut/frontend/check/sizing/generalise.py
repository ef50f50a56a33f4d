"""From the sizes of a definition to its scheme: which become parameters."""

from __future__ import annotations

from minifut.errors import Location, error
from minifut.frontend import syntax, types
from minifut.frontend.check.inference.patterns import parameter_name
from minifut.frontend.check.messages import quote
from minifut.frontend.check.sizing.scopes import move_exts_inwards, replace_sizes
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.witnesses import free_sizes, produced_and_taken, witnessed
from minifut.frontend.sizes import free_in_size
from minifut.frontend.syntax.traverse import binders
from minifut.frontend.types import Type
from minifut.ir.node import mutable
from minifut.names import Name


@mutable
class Definition:
    """A definition that has been given sizes."""

    parameters: tuple[tuple[Name, str], ...]
    type: Type
    result: Type
    exts: tuple[Name, ...]


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
        result = types.Arrow(name, argument, result, exts)
        exts = ()
        free |= free_sizes(argument)
    return result


def normalised(
    state: Sizing, parameters: tuple[syntax.Pattern, ...]
) -> tuple[syntax.Pattern, ...]:
    """Parameters with the sizes found so far in their types."""
    for parameter in parameters:
        for node in (parameter, *binders(parameter)):
            assert node.type is not None
            node.type = state.normal_type(node.type)
    return parameters


def recursive_scheme(
    state: Sizing, names: tuple[tuple[Name, str], ...], own: Type, loose: set[int]
) -> types.Scheme:
    """The type of a function inside its own body: sizes are its parameters, types are
    fixed; sizes not yet known are new at each call."""
    fresh = {n: state.context.names.fresh("d") for n in sorted(loose)}

    def on_size(size_: types.Size) -> types.Size:
        if isinstance(size_, types.SizeMeta) and size_.id in fresh:
            return types.SizeVar(fresh[size_.id])
        return size_

    type_ = _renamed_parameters(state, types.map_type(own, lambda _: None, on_size))
    sizes = tuple((n, "size") for n, kind in names if kind == "size")
    return types.Scheme((*sizes, *((n, "size") for n in fresh.values())), type_)


def _renamed_parameters(state: Sizing, type_: Type) -> Type:
    """The same function type, its parameters not confused with those of the body."""
    if not isinstance(type_, types.Arrow):
        return type_
    name, result = type_.parameter, type_.result
    if name is not None:
        own, name = name, state.context.names.like(name)
        result = types.substitute(result, {own: types.SizeVar(name)})
    result = _renamed_parameters(state, result)
    return types.Arrow(name, type_.argument, result, type_.exts)


def unknown_to_one_name(state: Sizing, type_: Type, location: Location) -> Type:
    """`[x+y]t` with unknown x: as no caller can know x, the whole size is unknown."""
    free = free_sizes(type_)

    def is_unknown(name: Name | int) -> bool:
        rigid = None if isinstance(name, int) else state.rigid.get(name)
        return rigid is not None and not rigid.is_parameter

    if not any(is_unknown(name) for name in free):
        return type_
    found = witnessed(type_)

    def killer(size_: types.Size) -> object | None:
        if isinstance(size_, (types.SizeVar, types.SizeMeta)):
            return None
        for name in free_in_size(size_):
            if name not in found and is_unknown(name):
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
                info.kind, info.link = "linked", types.SizeMeta(info.canonical)
        elif info.kind == "instantiated":
            info.kind = "flexible"


_INTERNAL = frozenset({"coerce", "loop", "loop_d", "any", "slice_dim"})
"""names of metas that say nothing to a reader of a type"""


def generalise(
    state: Sizing,
    name: str,
    names: tuple[tuple[Name, str], ...],
    parameters: tuple[syntax.Pattern, ...],
    result: Type,
    location: Location,
) -> Definition:
    least = state.level - len(parameters)
    settle(state, least)
    normalised(state, parameters)
    result = state.normal_type(result)
    whole = function_type(state, parameters, result)
    more = []
    for atom in sorted(n for n in free_sizes(whole) if isinstance(n, int)):
        info = state.metas[atom]
        if info.level >= least and info.kind == "flexible":
            base = info.origin.base
            base = "d" if base in _INTERNAL else base
            parameter = state.context.names.fresh(base)
            info.kind, info.link = "linked", types.SizeVar(parameter)
            more.append((parameter, "size"))
    normalised(state, parameters)
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
            note = state.note_on(types.SizeVar(atom))
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
