"""Rows that lanes traverse, each one of its own.

    for (j = 0; j < n; j++) s = s * a + xs[i * n + j];      16 rows, an element of each
    for (j = 0; j < n; j++) t = max(t, xs[i * n + j]);      refused: a row is contiguous

Where a round of a loop waits for the one before, the device's compiler makes no vectors
along a row, and lanes that gather from as many rows take a fifth of the time: the lines
that they read serve the next rounds. Where rounds are independent, fold by an operator
that may be reordered, or keep an extreme, whole vectors of one row are better.

Rows at a distance of a multiple of 4096 bytes share their place in the first cache,
which has room for fewer than there are lanes: points are done one by one then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from minifut.ir import scalar_opencl, sizes, traverse
from minifut.ir.alpha import alpha_equal
from minifut.ir.node import immutable
from minifut.ir.search import nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.kept_extremes import kept_extreme
from minifut.kernel_passes.vectorise.varying import varies
from minifut.names import Name

PAGE = 4096
"""bytes between two places in memory that share those in the first cache"""


@immutable
class Rounds:
    """A loop around code in lanes: what changes from round to round, and whether the
    device's compiler cannot do several rounds at once; the first and last round of a
    counted loop; where only some lanes are active, the `streams` that it reads one
    element after the other; whether rounds are so `few` that lanes may gather; whether
    they write a `row` that each point has."""

    changing: frozenset[Name]
    waits: bool
    ends: tuple[kc.Expression, ...] = ()
    streams: tuple[kc.Load, ...] = ()
    few: bool = False
    row: bool = False

    @staticmethod
    def of(loop: kc.For | kc.While, reassociates: bool) -> Rounds:
        """Of a counted loop, in which floats that are folded may be reassociated or
        not; rounds of others are not known to be many."""
        body = loop.body.statements
        own, given = declared(body), assigned(body)
        waits = row = False
        ends: tuple[kc.Expression, ...] = ()
        if isinstance(loop, kc.For):
            own |= {loop.variable.name}
            ends = loop.start, loop.bound
            row = _writes_row(loop)
            waits = (
                (loop.rounds is not None and loop.rounds <= scalar_opencl.FEW_ROUNDS)
                or _exchanges(loop.body, own | given)
                or (
                    any(not _folds(loop.body, n, reassociates) for n in given - own)
                    and kept_extreme(loop) is None
                )
            )
        return Rounds(own | given, waits, ends, row=row)


def may_traverse(index: kc.Expression, loops: Sequence[Rounds]) -> bool:
    """Whether lanes may read at an index that differs between them, in rows that the
    rounds of the loops around traverse."""
    for loop in reversed(loops):
        if varies(index, loop.changing):
            return loop.waits
    return True


def waiting_loops(
    points: Sequence[kc.Statement],
    around: tuple[Rounds, ...] = (),
    reassociates: bool = False,
) -> Iterator[tuple[Rounds, ...]]:
    """The loops of points that wait, with those around each."""
    for statement in points:
        inside, own = around, reassociates
        match statement:
            case kc.For() | kc.While():
                here = Rounds.of(statement, reassociates)
                inside = (*around, here)
                if here.waits:
                    yield inside
            case kc.Reassociate():
                own = True
        for block in kc.blocks_of(statement):
            yield from waiting_loops(block.statements, inside, own)


def waits_as_often(
    loops: Sequence[Rounds], waiting: Iterable[tuple[Rounds, ...]]
) -> bool:
    """Whether some loop waits in all the rounds that these loops have."""
    return any(_include(inside, loops) for inside in waiting)


def _include(many: Sequence[Rounds], few: Sequence[Rounds]) -> bool:
    """Whether these loops have all the rounds of others."""
    left = [loop.ends for loop in many]
    for loop in few:
        found = [ends for ends in left if loop.ends and _are_equal(ends, loop.ends)]
        if not found:
            return False
        left.remove(found[0])
    return True


def _are_equal(some: Sequence[kc.Expression], others: Sequence[kc.Expression]) -> bool:
    return len(some) == len(others) and all(map(alpha_equal, some, others))


def goes_along_rows(
    index: kc.Expression, varying: frozenset[Name], loops: Sequence[Rounds]
) -> bool:
    """Whether lanes are in rows that they have for all rounds of the innermost loop,
    and each round reads another element of these: `row[lane] * n + round`."""
    if not loops:
        return False
    moving = [term for term in _terms(index) if varies(term, loops[-1].changing)]
    return bool(moving) and not any(varies(term, varying) for term in moving)


def _terms(index: kc.Expression) -> list[kc.Expression]:
    """What an index is the sum of."""
    match index:
        case kc.SizeValue(size, _):
            return [kc.SizeValue(sizes.Size((term,))) for term in size.terms]
    match kc.infix(index):
        case ("+" | "-", left, right):
            return [*_terms(left), *_terms(right)]
    return [index]


def _writes_row(loop: kc.For) -> bool:
    """Whether rounds that call nothing write an array of a point, one element after the
    other, and have no loops."""
    stores = [*nodes_of(kc.Store, loop.body)]
    return (
        bool(stores)
        and all(s.memory.space == "private" for s in stores)
        and all(varies(s.index, {loop.variable.name}) for s in stores)
        and not any(nodes_of(kc.For | kc.While, loop.body))
        and not calls_functions(loop.body)
    )


def _exchanges(body: kc.Block, changing: frozenset[Name]) -> bool:
    """Whether rounds may read elements that others store."""
    stored: dict[kc.Memory, list[kc.Expression]] = {}
    accesses = list(nodes_of(kc.Load | kc.Store, body))
    for access in accesses:
        if isinstance(access, kc.Store):
            stored.setdefault(access.memory, []).append(access.index)
    return any(
        not alpha_equal(access.index, index)
        for access in accesses
        for index in stored.get(access.memory, ())
        if varies(index, changing)
    )


def _folds(body: kc.Block, name: Name, reassociates: bool) -> bool:
    """Whether a variable only collects values by an operator that may be reordered."""
    made: dict[Name, kc.Expression] = {}
    given: list[kc.Expression] = []
    uses = 0
    for node in traverse.walk(body):
        reassociates |= isinstance(node, kc.Reassociate)
        match node:
            case kc.Declare(kc.Variable(target), kc.Expression() as exp):
                made[target] = exp
            case kc.Assign(kc.Variable(target), exp) if target == name:
                given.append(exp)
            case kc.Variable(used) if used == name:
                uses += 1
    if len(given) != 1:
        return False
    match _resolved(given[0], made):
        case kc.Operation(operator, (left, right), _):
            mine = [o for o in (left, right) if _is(o, name)]
            reordered = not operator.result.is_float or reassociates
            # the target of the assignment is the second use
            return (
                operator.name in scalar_opencl.REORDERED
                and reordered
                and len(mine) == 1
                and uses == 2
            )
    return False


def _resolved(exp: kc.Expression, made: Mapping[Name, kc.Expression]) -> kc.Expression:
    return made.get(exp.name, exp) if isinstance(exp, kc.Variable) else exp


def _is(exp: kc.Expression, name: Name) -> bool:
    return isinstance(exp, kc.Variable) and exp.name == name


def apart(step: kc.Operand, bytes_: int) -> kc.Expression | None:
    """Whether rows at a distance of so many elements have places of their own; None if
    a number says that they have."""
    if isinstance(step, kc.Literal):
        step = int(step.value)
    if isinstance(step, int):
        if step * bytes_ % PAGE == 0:
            raise NotVectorisable("rows share their place in the first cache")
        return None
    return (step * bytes_ % PAGE).differs(0)


def tested_before(
    rows: Sequence[kc.Expression], body: Sequence[kc.Statement]
) -> list[kc.Expression]:
    """What must hold for rows, each once, if it is known before the points."""
    inside = declared(body)
    found: list[kc.Expression] = []
    for row in rows:
        if varies(row, inside):
            raise NotVectorisable("rows at a distance that points compute")
        if not any(alpha_equal(row, other) for other in found):
            found.append(row)
    return found
