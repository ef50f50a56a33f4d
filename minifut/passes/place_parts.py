r"""Pass: the parts of a concatenation are written to where they are in it.

    let sums = segscan ..                     let empty = scratch(i64, [n + 1])
    let all = concat(0, n + 1, a, sums)   →   let sums = segscan ..
                                              let some = empty with [1 :+ n] = sums
                                              let all = some with [0 :+ 1] = a

A kernel writes its result into the slice of which an update says that it becomes it
(`analysis.destinations`): offsets of rows, `[0] ++ scan (+) 0 lengths`, are copied no
more. Conditions: nothing else uses the part, which is made in the same body, when the
sizes of all parts are known.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Body, Param, Program, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.ir.kernels import SegMap, SegScan
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.ir.sizes import ZERO, Size
from minifut.ir.traverse import free_names
from minifut.ir.types import element_of, shape_of
from minifut.names import Name, NameSource
from minifut.rewrite.trace import Trace

PRODUCERS = (SegMap, SegScan, core.If)


def place_parts(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Write the parts of concatenations to where they are in them."""
    scope = scope_of(program)

    def placed(body: Body) -> Body:
        inner = (replace(s, exp=map_bodies(s.exp, placed)) for s in body.statements)
        made = _without_nested(replace(body, statements=tuple(inner)))
        for statement in made.statements:
            if isinstance(statement.exp, core.Concat) and statement.exp.dimension == 0:
                made = _with_updates(made, statement, names, scope)
        return made

    made: Program = map_bodies(program, placed)
    return made


def _without_nested(body: Body) -> Body:
    """A body with one concatenation in place of several, of which one is a part of the
    other and nothing else."""
    uses = _uses(body)
    parts: dict[Name, tuple[Name, ...]] = {}
    made: list[Stm] = []
    for statement in body.statements:
        exp = statement.exp
        if isinstance(exp, core.Concat) and exp.dimension == 0:
            inner = {a for a in exp.arrays if a in parts and uses[a] == 1}
            made = [s for s in made if inner.isdisjoint(p.name for p in s.pattern)]
            arrays = (parts[a] if a in inner else (a,) for a in exp.arrays)
            exp = replace(exp, arrays=tuple(chain(*arrays)))
            parts[statement.pattern[0].name] = exp.arrays
        made.append(replace(statement, exp=exp))
    return replace(body, statements=tuple(made))


def _with_updates(body: Body, joined: Stm, names: NameSource, scope: Scope) -> Body:
    """A body with a concatenation among its statements as updates."""
    exp, (bound,) = joined.exp_of(core.Concat), joined.pattern
    starts = _starts(exp, scope)
    producers = _producers(body, exp, starts)
    if not producers:
        return body
    build = Builder(names, scope, joined.location, joined.attributes)
    parts = list(range(len(exp.arrays)))
    here = [part for part in parts if part not in producers]
    last = here[-1] if here else max(producers, key=lambda n: (producers[n], n))
    whole = names.like(bound.name)

    def update(part: int) -> None:
        nonlocal whole
        rows, *others = shape_of(scope[exp.arrays[part]])
        place = (
            core.DimSlice(build.size_atom(starts[part]), rows, i64(1)),
            *(core.DimSlice(i64(0), size, i64(1)) for size in others),
        )
        made = bound if part == last else Param(names.like(bound.name), bound.type)
        build.bind((made,), core.Update(whole, place, exp.arrays[part]))
        whole = made.name

    for at, statement in enumerate(body.statements):
        if at == min(producers.values()):
            scratch = core.Scratch(element_of(bound.type), shape_of(bound.type))
            build.bind((Param(whole, bound.type),), scratch)
        if statement is not joined:
            build.append(statement)
        for part in here if statement is joined else parts:
            if statement is joined or producers.get(part) == at:
                update(part)
    return replace(body, statements=tuple(build.statements))


def _starts(exp: core.Concat, scope: Scope) -> list[Size]:
    """Where each part begins."""
    starts = [ZERO]
    for part in exp.arrays:
        starts.append(starts[-1] + shape_of(scope[part])[0])
    return starts


def _producers(body: Body, exp: core.Concat, starts: list[Size]) -> dict[int, int]:
    """The parts that kernels of a body may write in their places, and the positions of
    the statements that make them."""
    made = {p.name: at for at, s in enumerate(body.statements) for p in s.pattern}
    sizes = [name for size in (exp.size, *starts) for name in size.names()]
    known = max((made.get(name, -1) for name in sizes), default=-1)
    uses = _uses(body)
    return {
        number: made[part]
        for number, part in enumerate(exp.arrays)
        if uses[part] == 1
        if made.get(part, -1) > known
        if isinstance(body.statements[made[part]].exp, PRODUCERS)
    }


def _uses(body: Body) -> Counter[Name]:
    """How often names are used: by a concatenation once for each part."""
    uses: Counter[Name] = Counter()
    for statement in body.statements:
        exp = statement.exp
        uses.update(
            exp.arrays if isinstance(exp, core.Concat) else free_names(statement)
        )
    uses.update(atom for atom in body.result if isinstance(atom, Name))
    return uses
