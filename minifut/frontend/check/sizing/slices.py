"""Sizes of indexing, slicing and updates.

xs[:n] has size n, xs[i:n] size n - i, xs[::-1] the size of xs; other slices are unknown
"""

from __future__ import annotations

from minifut.errors import Location
from minifut.frontend import syntax
from minifut.frontend.check.size_terms import arithmetic, has_binding
from minifut.frontend.check.sizing import expressions
from minifut.frontend.check.sizing.state import Sizing, is_constant
from minifut.frontend.types import Array, Arrow, Size, SizeVar, Type
from minifut.names import Name


def check_indices(state: Sizing, indices: tuple[syntax.DimIndex, ...]) -> None:
    """Check the expressions in indices."""
    for index in indices:
        if isinstance(index, syntax.SliceIndex):
            for part in (index.start, index.stop, index.step):
                if part is not None:
                    expressions.size(state, part)
        else:
            expressions.size(state, index)


def indexed(
    state: Sizing,
    type_: Type,
    indices: tuple[syntax.DimIndex, ...],
    location: Location,
    mode: str,
) -> tuple[Type, tuple[Name, ...]]:
    """The type of `array[indices]`; `mode` says what a slice's size is: as precise as
    can be ("known"), to be found ("loose") or always new ("any")."""
    made: list[Name] = []
    dims: list[Size] = []
    type_ = state.normal_type(type_)
    for index in indices:
        assert isinstance(type_, Array)
        if isinstance(index, syntax.SliceIndex):
            dims.append(_slice(state, index, type_.size, location, mode, made))
        type_ = type_.element
    for dim in reversed(dims):
        type_ = Array(dim, type_)
    return type_, tuple(made)


def _slice(
    state: Sizing,
    index: syntax.SliceIndex,
    whole: Size,
    location: Location,
    mode: str,
    made: list[Name],
) -> Size:
    if mode == "loose":
        return state.fresh(location, "size of slice", "slice_dim")
    known = _known(state, index, whole) if mode == "known" else None
    if known is not None:
        parts = (index.start, index.stop)
        if not any(p is not None and has_binding(p) for p in parts):
            return known
        state.context.warn(index.location, expressions.BINDING_WARNING)
    of = ""
    if index.start is None or index.stop is None:
        of = f' of dimension of size "{state.show_size(whole)}"'
    text = " ".join(index.location.text().split())
    source = f"the size produced by slice {text}{of}"
    name = state.unknown(location, source, "n")
    made.append(name)
    return SizeVar(name)


def _known(state: Sizing, index: syntax.SliceIndex, whole: Size) -> Size | None:
    step = None if index.step is None else expressions.as_size(state, index.step)
    start = None if index.start is None else expressions.as_size(state, index.start)
    stop = None if index.stop is None else expressions.as_size(state, index.stop)
    if step is None or is_constant(step, 1):
        if start is None or is_constant(start, 0):
            return whole if stop is None else stop
        return arithmetic("-", whole if stop is None else stop, start)
    if is_constant(step, -1):
        if start is None and stop is None:
            return whole
        if start is not None and stop is not None:
            return arithmetic("-", start, stop)
    return None


def _index(state: Sizing, node: syntax.Index) -> Type:
    check_indices(state, node.indices)
    array = expressions.size(state, node.array)
    type_, node.exts = indexed(state, array, node.indices, node.location, "known")
    return type_


def part_type(
    state: Sizing,
    type_: Type,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
    location: Location,
    mode: str,
) -> tuple[Type, tuple[Name, ...]]:
    """The type of the part that a path of fields and indices leads to."""
    made: tuple[Name, ...] = ()
    for step in steps:
        if isinstance(step, str):
            type_ = expressions.project(state.normal_type(type_), (step,))
        else:
            check_indices(state, step)
            type_, more = indexed(state, type_, step, location, mode)
            made += more
    return type_, made


def updated(
    state: Sizing,
    whole: Type,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
    value: syntax.Exp,
    location: Location,
) -> Type:
    """The type of a value in which one part is replaced."""
    whole = state.normal_type(whole)
    fields = tuple(s for s in steps if isinstance(s, str))
    if len(fields) == len(steps):
        new = expressions.size(state, value)
        return expressions.update_fields(state, location, fields, new, whole)
    part, _ = part_type(state, whole, steps, location, "loose")
    found = expressions.size(state, value)
    expressions.expect(
        state,
        value.location,
        "type of update target",
        part,
        found,
        "The new value does not have the type and size of what it replaces.",
        ("Existing", "New"),
    )
    return whole


def _update(state: Sizing, node: syntax.Update) -> Type:
    whole = expressions.size(state, node.record)
    return updated(state, whole, node.steps, node.value, node.location)


def _section(
    state: Sizing,
    node: syntax.Exp,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
) -> Type:
    assert node.type is not None
    whole = state.inference.finish(node.type)
    assert isinstance(whole, Arrow)
    argument = state.inferred(whole.argument, node.location)
    result, exts = part_type(state, argument, steps, node.location, "any")
    return Arrow(None, argument, result, exts)


def _project_section(state: Sizing, node: syntax.ProjectSection) -> Type:
    return _section(state, node, node.fields)


def _index_section(state: Sizing, node: syntax.IndexSection) -> Type:
    return _section(state, node, (node.indices,))


def _update_section(state: Sizing, node: syntax.UpdateSection) -> Type:
    return _section(state, node, node.steps)


expressions.RULES.update(
    {
        syntax.Index: _index,
        syntax.Update: _update,
        syntax.ProjectSection: _project_section,
        syntax.IndexSection: _index_section,
        syntax.UpdateSection: _update_section,
    }
)
