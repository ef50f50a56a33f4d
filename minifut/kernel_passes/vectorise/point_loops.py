"""Vectorise loops over points, anywhere in a kernel.

    for (i = 0; i < n; i++) {..             for (i = 0; i < n; i++) {..
        for (j = 0; j < m; j++)      →          for (j = 0; j < m; j += 16)
            ys[j] = exp(xs[j]);                     vstore16(exp(vload16(xs + j)))

Those that are worth it: with loops inside, around which the device's compiler does not
vectorise, with calls of math functions (`vectorise.calls` says why), with small
matrices, as it leaves strides above 4 to scalar code, with many rows of one array, or
(the outermost) with checks of indices that are loaded; but not those that go through
rows by data (`moved_rows`).
The outermost loop that `vectorise_map` accepts is vectorised; where points have arrays
of their own, or fold, that is a loop further inside. A comment in the kernel says why
one is not. Inside of points that are done one by one, also of those that are folded,
folds are vectors (`row_folds`, `positions_of_extremes`), where their checks are tested
before them (`check_ranges`), and calls after loops have loops of their own
(`calls_apart`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minifut.ir.search import classes_in, nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes import editor
from minifut.kernel_passes.check_ranges import check_ranges_first
from minifut.kernel_passes.context import CodeContext, rewritten
from minifut.kernel_passes.vectorise.accesses import MASKABLE
from minifut.kernel_passes.vectorise.affine import Affine, affine, number_of
from minifut.kernel_passes.vectorise.calls import gains_in_vectors
from minifut.kernel_passes.vectorise.calls_apart import compute_calls_apart
from minifut.kernel_passes.vectorise.context import WIDTHS, loop_context
from minifut.kernel_passes.vectorise.jam import affine_variables
from minifut.kernel_passes.vectorise.lane_limits import lane_limits
from minifut.kernel_passes.vectorise.maps import vectorise_map
from minifut.kernel_passes.vectorise.moved_rows import moves_rows, sums_rows
from minifut.kernel_passes.vectorise.positions_of_extremes import (
    find_extreme_then_place,
)
from minifut.kernel_passes.vectorise.row_folds import fold_row_in_lanes
from minifut.kernel_passes.vectorise.rows import Rounds
from minifut.kernel_passes.vectorise.varying import find_loaded, find_varying, varies
from minifut.names import Name
from minifut.rewrite.rule import Declined

MATRIX_STRIDES = range(5, 17)
FEWEST_ELEMENTS = 4
"""accesses with such strides"""
MOST_PLACES = 4
"""of one array that LLVM compares before a loop, as it makes at most 8 comparisons"""
FOLD_OF_POINTS = 2
"""loops around the body of a point that is folded: the segments, and the fold"""
LEFT_TO_DEVICE = "the device's compiler vectorises a body without loops"


def vectorise_points(k: editor.KernelEditor) -> None:
    """Do several points of expensive loops at once, in explicit vectors."""
    found = [loop for loop in editor.loops_of(k.statements) if isinstance(loop, kc.For)]
    loops = [loop for loop in found if loop.points]
    reordered = _reordered(k.statements)
    checked = any(kc.Fail in classes_in(f.body) for f in found if not f.points)
    profitable = (
        _is_profitable(loop) or _gathers_with_checks(loop)
        for loop in loops
        if not moves_rows(loop)
    )
    if reordered or checked or any(profitable):
        k.change_loops(lambda loop: _vectorised(k, loop, reordered))
    elif loops and k.derivation is not None:
        k.derivation.decline(vectorise_map, LEFT_TO_DEVICE)


def _is_profitable(loop: kc.For) -> bool:
    fills_vectors = loop.rounds is None or loop.rounds >= WIDTHS[-1]
    if loop.expensive or not fills_vectors:
        return fills_vectors
    folds = any(
        isinstance(inner, kc.While) or not inner.points
        for inner in editor.loops_of(loop.body.statements)
    )
    return (
        folds
        or gains_in_vectors(loop.body)
        or _reads_matrices(loop)
        or _writes_apart(loop)
    )


def _gathers_with_checks(loop: kc.For) -> bool:
    """Whether points fail, which the device's compiler makes no vectors of, read at
    loaded indices, which wait for each other in vectors together, and store
    neighbours."""
    if kc.Fail not in classes_in(loop.body):
        return False
    varying = find_varying(loop.body, [loop.variable.name])
    loaded = find_loaded(loop.body, by_branches=False)
    known = affine_variables(loop, varying)
    apart = False
    for access in nodes_of(kc.Load | kc.Store, loop.body):
        place = affine(access.index, known, varying)
        if isinstance(access, kc.Store):
            if place is None or number_of(place[1]) != 1:
                return False
        elif place is None:
            if access.memory.element.bits not in MASKABLE:
                return False
            if not varies(access.index, loaded):
                return False
            apart = True
    return apart


def _writes_apart(loop: kc.For) -> bool:
    """Whether points write one array in so many places that the device's compiler gives
    up on comparing them."""
    stores = nodes_of(kc.Store, loop.body)
    places = Counter(store.memory for store in stores)
    return max(places.values(), default=0) > MOST_PLACES


def _reads_matrices(loop: kc.For) -> bool:
    """Whether points access small matrices of their own, with strides of which the
    device's compiler makes neither vectors nor shuffles."""
    variable = loop.variable.name
    varying = frozenset({variable})
    known: dict[Name, Affine] = {variable: (loop.start, 1)}
    accesses = list(nodes_of(kc.Load | kc.Store, loop.body))
    found = (affine(access.index, known, varying) for access in accesses)
    steps = [step for _, step in filter(None, found)]
    apart = [step for step in steps if number_of(step) in MATRIX_STRIDES]
    return len(apart) >= FEWEST_ELEMENTS


def _reordered(statements: Sequence[kc.Statement]) -> frozenset[Name]:
    """The variables of loops in which floats may be reassociated."""
    return frozenset(
        loop.variable.name
        for node in nodes_of(kc.Reassociate, *statements)
        for loop in editor.loops_of(node.body.statements)
        if isinstance(loop, kc.For)
    )


def _fold_in_vectors(
    k: editor.KernelEditor, loop: kc.For, reordered: frozenset[Name]
) -> tuple[kc.Statement, ...] | None:
    """A fold inside of a point in vectors, its checks tested before it; one of integers
    is left to the device's compiler then."""
    if _has_vectors(loop):
        return None
    context = loop_context(k)
    found = rewritten(find_extreme_then_place, loop, context)
    of_floats = loop.variable.name in reordered
    if found is not None or not (of_floats or _collects(loop)):
        return found
    checked = rewritten(check_ranges_first, loop, CodeContext(k))
    if not of_floats:
        return checked

    def in_lanes(each: kc.For) -> tuple[kc.Statement, ...] | None:
        fails = checked is not None and each is loop
        return None if fails else rewritten(fold_row_in_lanes, each, context)

    return in_lanes(loop) if checked is None else editor.change_loops(checked, in_lanes)


def _has_vectors(loop: kc.For) -> bool:
    """Whether a loop is one of several points at once already."""
    variables = nodes_of(kc.Variable, loop.body)
    return any(variable.type.lanes > 1 for variable in variables)


def _collects(loop: kc.For) -> bool:
    """Whether a loop only collects values, in any order."""
    body = loop.body.statements
    carries = not assigned(body) <= declared(body)
    return carries and not Rounds.of(loop, False).waits


def _vectorised(
    k: editor.KernelEditor,
    loop: kc.For,
    reordered: frozenset[Name],
    inside: bool = False,
    around: int = 0,
) -> tuple[kc.Statement, ...] | None:
    """A loop over points in vectors; `inside` of one that is not, a fold in vectors.
    There are so many loops `around` that are not over points."""

    def further(inner: kc.For) -> tuple[kc.Statement, ...] | None:
        return _vectorised(k, inner, reordered, True)

    def deeper(inner: kc.For) -> tuple[kc.Statement, ...] | None:
        return _vectorised(k, inner, reordered, inside, around + 1)

    if not loop.points:
        found = None
        if inside or around >= FOLD_OF_POINTS:
            found = _fold_in_vectors(k, loop, reordered)
        return (editor.loops_inside(loop, deeper),) if found is None else found
    moves = moves_rows(loop)
    if moves and sums_rows(loop):
        return (loop,)
    gains = _is_profitable(loop) or (not inside and _gathers_with_checks(loop))
    if moves or not gains:
        return (editor.loops_inside(loop, further),)
    limits, comments = lane_limits(loop.body.statements, loop.variable.name)
    context = loop_context(k, k.kernel.fresh, k.statements, limits, inside)
    outcome = vectorise_map(loop, context)
    if isinstance(outcome, Declined):
        declined = kc.Comment(f"no {vectorise_map.name}: {outcome.reason}")
        apart = rewritten(compute_calls_apart, loop, CodeContext(k))
        if apart is None:
            return (declined, editor.loops_inside(loop, further))
        return (declined, *editor.change_loops(apart, further))
    made: tuple[kc.Statement, ...] = outcome
    return (*comments, *made)
