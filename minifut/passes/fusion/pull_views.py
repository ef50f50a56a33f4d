"""Where views are pulled above maps: only if a consumer can then fuse with the map, or
if folds are rearranged for the result of a body, whose copy in that order is saved.

From the last statement of a body to the first, so that a view moves up through
several maps. The map moves down to the view: nothing between them may update what it
reads. Where maps cannot be those of the flattened view, a fold of it becomes one of the
rows that they make.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from minifut.ir.core import Atom, Exp, Index, Rearrange, Reshape, Stm
from minifut.ir.scope import add_parameters
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.traverse import free_names, walk
from minifut.names import Name
from minifut.passes.fusion.fold_maps import fold_flattened_maps
from minifut.passes.fusion.pair import Fusing
from minifut.passes.fusion.views import VIEWS

Updated = Callable[[Stm], list[Name]]


def pull_views(
    statements: tuple[Stm, ...],
    result: tuple[Atom, ...],
    fusing: Fusing,
    updated: Updated,
) -> tuple[Stm, ...]:
    """The body's statements, the same tuple if no view was pulled."""
    if not any(type(s.exp) in VIEWS for s in statements):
        return statements
    uses: Counter[Name] = Counter(a for a in result if isinstance(a, Name))
    users: dict[Name, list[Stm]] = defaultdict(list)
    for statement in statements:
        for name in free_names(statement):
            uses[name] += 1
            users[name].append(statement)
    pending: list[Stm | None] = list(statements)
    maker = {p.name: i for i, s in enumerate(statements) for p in s.pattern}
    placed: list[Stm] = []
    pulled = False
    while pending:
        view = pending.pop()
        if view is None or _is_left(view, uses, pulled):
            continue
        at = _producer(view, statements, maker, uses, users)
        producer = pending[at] if at is not None and at < len(pending) else None
        outcome = None
        if producer is not None and not _clash(producer, pending, updated):
            for rule in VIEWS[type(view.exp)]:
                outcome = fusing.attempt(rule, view, frozenset(), producer)
                if outcome is not None:
                    break
            else:
                if _fold_rows(view, pending, placed, fusing, uses, users):
                    pulled = True
                    continue
        if at is None or producer is None or outcome is None:
            placed.append(view)
            continue
        pulled = True
        fusing.trace.fire(rule, view, outcome)
        pending[at] = None
        for new in outcome:
            add_parameters(fusing.scope, new.pattern)
            for name in free_names(new):
                uses[name] = max(uses[name], 1)
                users[name] = [new]
        *views, nest = outcome
        placed.append(nest)
        pending.extend(views)
    return tuple(reversed(placed)) if pulled else statements


def folds_view(statements: tuple[Stm, ...]) -> bool:
    """Whether a flattened array is folded."""
    views = {s.pattern[0].name for s in statements if isinstance(s.exp, Reshape)}
    return any(
        isinstance(s.exp, Screma)
        and s.exp.is_redomap
        and not views.isdisjoint(s.exp.arrays)
        for s in statements
    )


def _fold_rows(
    view: Stm,
    above: list[Stm | None],
    placed: list[Stm],
    fusing: Fusing,
    uses: Counter[Name],
    users: dict[Name, list[Stm]],
) -> bool:
    """Whether what needs the flattened view alone now folds the rows of the maps."""
    (fold,) = users[view.pattern[0].name] or (None,)
    if fold is None or not isinstance(fold.exp, Screma):
        return False
    if not isinstance(view.exp, Reshape):
        return False
    made = (*[s for s in above if s is not None], view)
    needed = frozenset(name for name, count in uses.items() if count > 1)
    outcome = fusing.attempt(fold_flattened_maps, fold, needed, *made)
    if outcome is None:
        return False
    fusing.trace.fire(fold_flattened_maps, fold, outcome)
    (at,) = (n for n, statement in enumerate(placed) if statement is fold)
    placed[at : at + 1] = reversed(outcome)
    for name in free_names(fold):
        uses[name] -= 1
        users[name] = [s for s in users[name] if s is not fold]
    for new in outcome:
        add_parameters(fusing.scope, new.pattern)
        for name in free_names(new):
            uses[name] += 1
            users[name].append(new)
    return True


def _is_left(view: Stm, uses: Counter[Name], pulled: bool) -> bool:
    """Whether a fold of rows has left a view without any use."""
    return (
        pulled
        and isinstance(view.exp, Reshape)
        and not any(uses[bound.name] for bound in view.pattern)
    )


def _producer(
    view: Stm,
    statements: tuple[Stm, ...],
    maker: dict[Name, int],
    uses: Counter[Name],
    users: dict[Name, list[Stm]],
) -> int | None:
    """The position of the map that only this view needs, if only one SOAC or the
    result of the body needs that."""
    exp = view.exp
    if not isinstance(exp, Rearrange | Reshape | Index):
        return None
    name = view.pattern[0].name
    if uses[exp.array] != 1 or uses[name] != 1 or len(users[name]) > 1:
        return None
    at = maker.get(exp.array)
    if not users[name]:
        # the fold of each element outweighs the order in which they are stored
        folded = at is not None and _folds(statements[at].exp)
        return at if folded and isinstance(exp, Rearrange) else None
    consumer = users[name][0].exp
    if not isinstance(consumer, SOAC_EXPRESSIONS) or name not in consumer.arrays:
        return None
    return at


def _folds(exp: Exp) -> bool:
    """Whether it is a map whose elements are folds."""
    if not isinstance(exp, Screma) or not exp.is_map:
        return False
    nodes = walk(exp.function.body)
    return any(isinstance(node, Screma) and node.reduces for node in nodes)


def _clash(producer: Stm, pending: list[Stm | None], updated: Updated) -> bool:
    """Whether the producer may not move down past the statements below it."""
    if not isinstance(producer.exp, Screma):
        return True
    reads = free_names(producer)
    for other in reversed(pending):
        if other is producer:
            return False
        if other is not None and any(name in reads for name in updated(other)):
            return True
    return True
