"""Types of updates, and of sections that are paths of fields and indices."""

from __future__ import annotations

from minifut.errors import Location
from minifut.frontend import syntax
from minifut.frontend.check.inference.expressions import RULES, infer, step_type
from minifut.frontend.check.inference.state import Inference
from minifut.frontend.check.messages import Mismatch, quote
from minifut.frontend.check.mismatches import type_mismatch
from minifut.frontend.types import Arrow, Type


def _update(state: Inference, node: syntax.Update) -> Type:
    whole = infer(state, node.record)
    value = infer(state, node.value)
    part = step_type(state, whole, node.steps, node.location)
    unify_update(state, node.location, node.steps, part, value)
    return whole


def unify_update(
    state: Inference,
    location: Location,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
    part: Type,
    value: Type,
) -> None:
    """A new value must have the type of what it replaces."""
    try:
        state.solver.unify(part, value)
    except Mismatch as fault:
        fields = ".".join(s for s in steps if isinstance(s, str))
        what = f"record field {quote(fields)}" if fields else "an array element"
        new, old = state.show(value), state.show(part)
        text = (
            f"Type mismatch when updating {what}: a value of type {new} cannot take "
            f"the place of one of type {old}."
        )
        raise type_mismatch(state, location, fault, text) from None


def _project_section(state: Inference, node: syntax.ProjectSection) -> Type:
    return _path_section(state, node.fields, node.location)


def _index_section(state: Inference, node: syntax.IndexSection) -> Type:
    return _path_section(state, (node.indices,), node.location)


def _update_section(state: Inference, node: syntax.UpdateSection) -> Type:
    return _path_section(state, node.steps, node.location)


def _path_section(
    state: Inference,
    steps: tuple[str | tuple[syntax.DimIndex, ...], ...],
    location: Location,
) -> Type:
    whole = state.free(location)
    return Arrow(None, whole, step_type(state, whole, steps, location))


RULES.update(
    {
        syntax.Update: _update,
        syntax.ProjectSection: _project_section,
        syntax.IndexSection: _index_section,
        syntax.UpdateSection: _update_section,
    }
)
