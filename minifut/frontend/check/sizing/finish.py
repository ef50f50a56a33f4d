"""The end of a definition: no meta is left in any annotation.

Sizes that nothing determines are errors; existential ones are bound in the function
types they are in. In `Var.instance` an existential size is `SizeAny`.
"""

from __future__ import annotations

from minifut.errors import Location, error
from minifut.frontend import syntax, types
from minifut.frontend.check.messages import quote
from minifut.frontend.check.sizing.applications import bind_pending, is_pending
from minifut.frontend.check.sizing.generalise import settle
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unknowns import Origin
from minifut.frontend.check.witnesses import free_sizes
from minifut.frontend.sizes import free_in_size, has_metas
from minifut.frontend.types import Type


def refuse_ambiguous(state: Sizing) -> None:
    """All sizes must have been found by now."""
    settle(state, 0)
    for number, info in enumerate(state.metas):
        if info.kind == "flexible":
            raise _ambiguous(_most_informative(state, number, info.origin))


def _most_informative(state: Sizing, number: int, origin: Origin) -> Origin:
    """The origin of a size, or of one with a purpose that was linked to it."""
    if origin.purpose is None:
        for other in state.metas:
            if other.link is None or other.origin.purpose is None:
                continue
            if state.normal(other.link) == types.SizeMeta(number):
                return other.origin
    return origin


def _ambiguous(origin: Origin) -> Exception:
    """The error for a size that nothing determines."""
    arising = f" arising from {origin.purpose}" if origin.purpose else ""
    return error(
        origin.location,
        f"Ambiguous size {quote(origin.base)}{arising}.",
        "ambiguous-size",
        "add a type annotation that says what the size is",
    )


class Finisher:
    """Replaces metas in the annotations of nodes."""

    def __init__(self, state: Sizing) -> None:
        self.state = state
        self.any_pending = any(i.kind == "existential" for i in state.metas)
        self._done: dict[int, tuple[Type, Type]] = {}

    def run(self) -> None:
        """Finish everything that the sizing pass visited."""
        equated = self.state.equated
        for node in self.state.unfinished.nodes:
            if equated and isinstance(node, syntax.Exp) and node.exts:
                node.exts = tuple(e for e in node.exts if e not in equated)
                if isinstance(node, syntax.Loop):
                    node.sizes = tuple(n for n in node.sizes if n not in equated)
            if node.type is not None:
                node.type = self.type(node.type, node.location)
            if isinstance(node, syntax.Var) and node.instance:
                for name, term in node.instance.items():
                    node.instance[name] = self._argument(term)
        for function in self.state.unfinished.functions:
            assert function.function_type is not None
            function.function_type = self.type(
                function.function_type, function.location
            )

    def type(self, type_: Type, location: Location) -> Type:
        """A type without metas."""
        if isinstance(type_, types.Scalar):
            return type_
        known = self._done.get(id(type_))
        if known is not None:
            return known[1]
        done = self.state.normal_type(type_)
        if self.any_pending:
            done = self._bind(done, location)
        self._done[id(type_)] = (type_, done)
        return done

    def _bind(self, type_: Type, location: Location) -> Type:
        state = self.state
        metas = {n for n in free_sizes(type_) if isinstance(n, int)}
        pending = {n for n in metas if is_pending(state, n)}
        if not pending:
            return type_
        done, exts = bind_pending(state, location, type_)
        if not exts:
            return done
        # What cannot be bound in a function type is computed somewhere, or adopted
        # from a declared unknown size, which needs no computing.
        found = [state.canonical(n).existential for n in sorted(pending)]
        computed = (e.computed_at for e in found if e is not None)
        place = next((c for c in computed if c is not None), None)
        for ext in exts:
            if place is None:
                del state.rigid[ext]
            else:
                state.rigid[ext].location = place
        return done

    def _argument(self, term: Type | types.Size) -> Type | types.Size:
        def leaf(size: types.Size) -> types.Size:
            size = self.state.normal(size)
            return types.SizeAny() if isinstance(size, types.SizeMeta) else size

        if types.is_size(term):
            term = self.state.normal(term)
            return types.map_size(term, leaf) if has_metas(free_in_size(term)) else term
        done = self.state.normal_type(term)
        if not has_metas(types.mentioned(done)):
            return done
        return types.map_type(done, lambda _: None, lambda s: types.map_size(s, leaf))
