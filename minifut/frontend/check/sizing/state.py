"""The state of the second pass: size metas, rigid sizes, the types of values.

A size meta is

    flexible      to be found
    linked        found
    instantiated  to be found, from instantiating a type or size parameter: it may turn
                  out to be existential, if the parameter is lifted
    copy          another occurrence of an instantiated one; equal to it unless that
                  turns existential
    existential   bound inside some function type it was unified with
    closed        generalised, or bound for the time of one unification only
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.frontend.check.messages import SUBSCRIPTS, Shown, quote, show
from minifut.frontend.check.sizing.unknowns import Origin, Rigid, SizeInfo, Unfinished
from minifut.frontend.check.witnesses import free_sizes
from minifut.frontend.sizes import free_in_size, has_metas, map_size_parts
from minifut.frontend.types import (
    Arrow,
    Named,
    Record,
    Scalar,
    Scheme,
    SizeAny,
    SizeApply,
    SizeConst,
    SizeMeta,
    SizeOpaque,
    SizeVar,
    Sum,
    as_type,
    map_size,
    map_type,
    mark_unique,
    mentioned,
    parts,
    show_size,
    substitute,
    substitute_size,
)
from minifut.names import Name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minifut.errors import Location
    from minifut.frontend import syntax
    from minifut.frontend.check.environment import Checking
    from minifut.frontend.check.inference.state import Inference
    from minifut.frontend.types import Size, Type


class Sizing:
    """The sizes of one definition."""

    def __init__(self, context: Checking, inference: Inference) -> None:
        self.context = context
        self.inference = inference
        self.level = 0
        self.metas: list[SizeInfo] = []
        self.rigid: dict[Name, Rigid] = {}
        self.values: dict[Name, Scheme] = {}
        self.unfinished = Unfinished()
        self.recursive: Name | None = None
        self.joined: dict[Name, tuple[Size, ...]] = {}
        """unknown sizes of joins, with the joined sizes that could be equal"""
        self.equated: dict[Name, Size] = {}
        """those of them that turned out to need a certain size"""
        self._occurrences = 0
        self._shown = Shown()

    # --- metas and unknown sizes ------------------------------------------------

    def fresh(
        self,
        location: Location | None,
        purpose: str | None = None,
        base: str = "d",
        kind: str = "flexible",
        lifted: str = "",
        in_function: bool = False,
    ) -> SizeMeta:
        """A size to be found."""
        origin = Origin(location, purpose, base)
        self.metas.append(
            SizeInfo(self.level, kind, origin, lifted=lifted, in_function=in_function)
        )
        return SizeMeta(len(self.metas) - 1)

    def copy_of(self, size: SizeMeta, occurrence: int) -> SizeMeta:
        """Another occurrence of an instantiated size."""
        info = self.metas[size.id]
        self.metas.append(
            SizeInfo(
                self.level,
                "copy",
                info.origin,
                canonical=size.id,
                occurrence=occurrence,
            )
        )
        return SizeMeta(len(self.metas) - 1)

    def canonical(self, number: int) -> SizeInfo:
        """What is known of the size that all copies of a meta stand for."""
        info = self.metas[number]
        return self.metas[info.canonical] if info.kind == "copy" else info

    def choose_outside(self, type_: Type) -> None:
        """Let the open sizes in a type be those of a parameter."""
        for atom in free_sizes(type_):
            if isinstance(atom, int):
                self.canonical(atom).of_parameter = True

    def unknown(self, location: Location, source: str, base: str = "d") -> Name:
        """A name for a size that nothing is known of."""
        name = self.context.names.fresh(base)
        self.rigid[name] = Rigid(self.level, False, location, source)
        return name

    def bind_size_like(self, name: Name, location: Location | None) -> None:
        """A variable may occur in sizes, as itself."""
        self.rigid[name] = Rigid(self.level, True, location)

    # --- normal forms -------------------------------------------------------------

    def normal(self, size: Size) -> Size:
        """A size with found metas replaced."""
        match size:
            case SizeMeta(number):
                info = self.metas[number]
                if info.kind == "copy":
                    canonical = self.metas[info.canonical]
                    if canonical.kind != "linked":
                        return size
                    info = canonical
                if info.kind != "linked":
                    return size
                assert info.link is not None
                info.link = self.normal(info.link)
                return info.link
            case SizeVar(name) if name in self.equated:
                return self.normal(self.equated[name])
            case SizeApply() | SizeOpaque():
                if self._is_normal(free_in_size(size)):
                    return size
                return map_size_parts(size, self.normal)
            case SizeVar() | SizeConst() | SizeAny():
                return size

    def normal_type(self, type_: Type) -> Type:
        """A type with found sizes replaced; the same object if there are none."""
        if type(type_) is Scalar:
            return type_
        if self._is_normal(mentioned(type_)):
            return type_
        return map_type(type_, self._without_equated, self.normal)

    def _is_normal(self, names: frozenset[Name | int]) -> bool:
        """Whether nothing is to be replaced in a term with these names."""
        return not has_metas(names) and self.equated.keys().isdisjoint(names)

    def _without_equated(self, term: Type) -> Type | None:
        """Scalars stay; functions bind no unknown size that has been found."""
        match term:
            case Scalar():
                return term
            case Arrow(parameter, argument, result, exts) if not (
                self.equated.keys().isdisjoint(exts)
            ):
                left = tuple(e for e in exts if e not in self.equated)
                argument = self.normal_type(argument)
                return Arrow(parameter, argument, self.normal_type(result), left)
            case _:
                return None

    def show(self, type_: Type) -> str:
        """A type for a message."""
        whole = map_type(
            self.normal_type(type_), _scalars, lambda s: map_size(s, self._named)
        )
        return show(self.context.readable(whole), shown=self._shown)

    def show_size(self, size: Size) -> str:
        return show_size(self._shown.size(map_size(self.normal(size), self._named)))

    def _named(self, size: Size) -> Size:
        """A meta as a name that can be shown."""
        if not isinstance(size, SizeMeta):
            return size
        base = self.metas[size.id].origin.base
        numbered = base + str(size.id).translate(SUBSCRIPTS)
        shown = numbered if base in ("d", "dv") else base
        return SizeVar(Name(shown, -size.id))

    # --- fresh sizes for known types ------------------------------------------------

    def freshen(
        self,
        type_: Type,
        location: Location,
        kind: str = "flexible",
        lifted: str = "",
        purpose: str | None = None,
        base: str = "d",
        replaced: dict[int, Size] | None = None,
    ) -> Type:
        """The same type with every size new; `replaced` notes what each stood for."""

        depth = 0

        def on_size(size: Size) -> Size:
            meta = self.fresh(location, purpose, base, kind, lifted, depth > 0)
            if replaced is not None:
                replaced[meta.id] = size
            return meta

        def on_type(term: Type) -> Type | None:
            nonlocal depth
            match term:
                case Scalar():
                    return term
                case Arrow(parameter, argument, result, _):
                    depth += 1
                    done = map_type(argument, on_type, on_size)
                    whole = Arrow(parameter, done, map_type(result, on_type, on_size))
                    depth -= 1
                    return whole
                case _:
                    return None

        return map_type(type_, on_type, on_size)

    def inferred(self, type_: Type, location: Location, lifted: str = "") -> Type:
        """A type found by the first pass, with sizes to be found."""
        whole = self.inference.finish(type_)
        sized = self.freshen(whole, location, "instantiated", lifted)
        self.register_binders(sized, location)
        return sized

    def register_binders(self, type_: Type, location: Location) -> None:
        """Let sizes inside a function type be linked to its own parameters."""
        if isinstance(type_, Arrow) and type_.parameter is not None:
            self.bind_size_like(type_.parameter, location)
        if isinstance(type_, Arrow | Record | Sum):
            for inner in parts(type_):
                self.register_binders(inner, location)

    # --- values -------------------------------------------------------------------

    def scheme(self, name: Name) -> Scheme:
        found = self.values.get(name)
        return self.context.values[name] if found is None else found

    def value_type(self, name: Name, node: syntax.Var) -> Type:
        """The type of a value at one use; fills in `node.instance`."""
        if name == self.recursive:
            assert node.type is not None
            node.instance = {}
            return self.inferred(node.type, node.location)
        return self.instantiate(self.scheme(name), node)

    def instantiate(self, scheme: Scheme, node: syntax.Var) -> Type:
        """A scheme with fresh sizes, and types from the first pass."""
        if not scheme.parameters:
            node.instance = {}
            return scheme.type
        found = node.instance or {}
        kinds = dict(scheme.parameters)
        instance: dict[Name, Type | Size] = {}
        seen: dict[Name, Type] = {}
        purpose = f"instantiated size parameter of {quote(str(node.name))}"
        for parameter, kind in scheme.parameters:
            if kind == "size":
                instance[parameter] = self.fresh(
                    node.location, purpose, parameter.base, "instantiated", "size"
                )
            else:
                instance[parameter] = self.inference.finish(as_type(found[parameter]))

        def on_type(term: Type) -> Type | None:
            if isinstance(term, Scalar):
                return term
            if not isinstance(term, Named) or term.name not in kinds:
                return None
            name = term.name
            if name in seen:
                type_ = self._another(seen[name])
            else:
                kind = kinds[name]
                whole = instance[name]
                type_ = self.freshen(
                    as_type(whole), node.location, "instantiated", kind
                )
                self.register_binders(type_, node.location)
                seen[name] = type_
                instance[name] = type_
            return mark_unique(type_) if term.unique else type_

        sizes = {p: s for p, s in instance.items() if isinstance(s, SizeMeta)}
        type_ = substitute(scheme.type, sizes) if sizes else scheme.type
        node.instance = instance
        done = map_type(type_, on_type, lambda size: size)
        return self._own_joins(done, sizes) if isinstance(done, Arrow) else done

    def joined_of(
        self, exts: tuple[Name, ...], parameters: Mapping[Name, str]
    ) -> dict[Name, tuple[Size, ...]]:
        """The unknown sizes of a result that join sizes of the parameters."""
        found = {}
        for ext in exts:
            met = self._met_in(SizeVar(ext))
            if all(free_in_size(size) <= parameters.keys() for size in met):
                found[ext] = met
        return found

    def _met_in(self, size: Size) -> tuple[Size, ...]:
        """The sizes that were joined to make one; itself, if none were."""
        size = self.normal(size)
        if not isinstance(size, SizeVar) or size.name not in self.joined:
            return (size,)
        sides = (s for met in self.joined[size.name] for s in self._met_in(met))
        return tuple(dict.fromkeys(sides))

    def _own_joins(self, type_: Arrow, sizes: Mapping[Name, SizeMeta]) -> Type:
        """The type of a function at one use, where sizes that were joined inside of it
        are those of this use.

        [n]t -> [m]t -> ?[k].[k]t, k joined from n and m    k is n where m is n, too
        """
        result = type_.result
        if isinstance(result, Arrow):
            inner = self._own_joins(result, sizes)
            return Arrow(type_.parameter, type_.argument, inner, type_.exts)
        mapping: dict[Name, Size] = {}
        exts = []
        for ext in type_.exts:
            met = self.context.joined.get(ext)
            if met is None and ext in self.joined:
                met = self._met_in(SizeVar(ext))
            if met is not None:
                own = self.context.names.like(ext)
                self.joined[own] = tuple(substitute_size(s, sizes) for s in met)
                mapping[ext] = SizeVar(own)
                ext = own
            exts.append(ext)
        if mapping:
            result = substitute(result, mapping)
        return Arrow(type_.parameter, type_.argument, result, tuple(exts))

    def _another(self, type_: Type) -> Type:
        """Another occurrence of an instantiated type, with sizes of its own."""
        self._occurrences += 1
        occurrence = self._occurrences

        def on_size(size: Size) -> Size:
            assert isinstance(size, SizeMeta)
            return self.copy_of(size, occurrence)

        return map_type(type_, _scalars, on_size)

    # --- messages -----------------------------------------------------------------

    def note_on(self, *sizes: Size) -> str:
        """Where unknown sizes come from."""
        lines = []
        for size in sizes:
            size = self.normal(size)
            info = self.rigid.get(size.name) if isinstance(size, SizeVar) else None
            if info is not None and not info.is_parameter and info.source:
                place = info.location
                where = f" at {place.line}:{place.column}" if place else ""
                shown = quote(self.show_size(size))
                lines.append(f"Note: {shown} is {info.source}{where}.")
        return "\n".join(dict.fromkeys(lines))


def _scalars(term: Type) -> Type | None:
    return term if isinstance(term, Scalar) else None


def is_constant(size: Size | None, value: int) -> bool:
    """Is a size this number?"""
    return isinstance(size, SizeConst) and size.value == value
