"""Maps that write some of their points by index: a block collects those, then writes.

    for all i:  p = if (flags[i]) ks[i] else -1;  if (0 <= p < n) out[p] = xs[i]
  →
    for l < 256:  marks[l] = flags[i + l]                                 in vectors
    for the l that are marked:  p = ks[i + l];  if (0 <= p < n) out[p] = xs[i + l]

Flags that are loaded cannot be predicted: a branch on them costs as much as 20 to 60
cheap operations where it goes the other way. The bounds of places can.
"""

from __future__ import annotations

from minifut.analysis.cheap_elements import with_loaded
from minifut.ir.core import Atom, Constant, Copy, If, Index, ScalarOp, Stm
from minifut.ir.kernels import KernelBody, SegMap, WriteReturns
from minifut.ir.node import immutable, replace
from minifut.ir.search import contains
from minifut.ir.traverse import free_names
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.split_block import emit_split
from minifut.lowering.cpu.packed_points import BLOCK, KINDS, PackedPoints
from minifut.lowering.cpu.partition import smaller
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap.cpu import CollectedPoints, Indices
from minifut.lowering.segmap.writes import write_if_inside
from minifut.lowering.threads.builder import KernelBuilder
from minifut.names import Name
from minifut.passes.flatten.cheap import is_scalar_code
from minifut.passes.scan_of_map import needed_for
from minifut.rewrite.rule import Declined, decision


@immutable
class FlaggedWrites:
    """Results that points write where a condition has a truth value, and what they
    compute for that."""

    condition: Name
    holds: bool
    results: tuple[int, ...]
    statements: tuple[Stm, ...]


@decision(paper="Ross, Conjunctive selection conditions in main memory (2002)")
def collect_writes(
    operation: SegMap, host: HostBuilder
) -> tuple[FlaggedWrites, ...] | Declined | None:
    """Collect the points of a block that write before they do, where loaded flags say
    which do.

    before:
        given (n: i64, flags: [n]bool, xs: [n]i32, zs: [n]i32)
        let ys: [n]i32 = segmap grid (i < n) -> (i32) {
          let flag: bool = flags[i]
          let x: i32 = xs[i]
          let place: i64 = if flag then {size(n - i - 1)} else {-1i64}
          return writes zs [n] with ((place) = x)
        }
    after:
        count = count + ((long)minifut_count(bits));
    declines: no loaded flag says which points write
        like before, with
        let flag: bool = flags[i] => let flag: bool = lt_i64(i, 7i64)
    """
    body = operation.body
    writes = [r for r in body.result if isinstance(r, WriteReturns)]
    if not writes or host.schedule != "cpu":
        return None
    if len(writes) < len(body.result) or not is_scalar_code(body.statements):
        return Declined("points do more than to write scalars")
    found: dict[tuple[Name, bool], list[int]] = {}
    flags = _flags(body)
    for number, result in enumerate(writes):
        if len(result.shape) != 1 or len(result.writes) != 1:
            return Declined("points write to several places or dimensions")
        (((where,), _),) = result.writes
        if where not in flags:
            return Declined("no loaded flag says which points write")
        found.setdefault(flags[where], []).append(number)
    if len(found) > KINDS:
        return Declined("there are more flags than bits of a mark")
    return tuple(
        FlaggedWrites(*flag, tuple(results), _taken(body, flag, results))
        for flag, results in found.items()
    )


def _flags(body: KernelBody) -> dict[Atom, tuple[Name, bool]]:
    """For names that are a negative constant for one truth value of a condition on
    loaded data: the condition, and the other truth value."""
    flags: dict[Atom, tuple[Name, bool]] = {}
    for statement, loaded in with_loaded(
        body.statements, lambda statement: contains(statement.exp, Index)
    ):
        exp = statement.exp
        if isinstance(exp, If) and exp.condition in loaded:
            assert isinstance(exp.condition, Name)
            for number, bound in enumerate(statement.pattern):
                for side, other in ((exp.then, False), (exp.otherwise, True)):
                    place = side.result[number]
                    if isinstance(place, Constant) and place.value < 0:
                        flags[bound.name] = exp.condition, other
        if isinstance(exp, ScalarOp) and exp.operator.name == "convert":
            (operand,) = exp.operands
            if operand in flags and exp.operator.result.kind == "int":
                flags[statement.pattern[0].name] = flags[operand]
    return flags


def _taken(
    body: KernelBody, flag: tuple[Name, bool], results: list[int]
) -> tuple[Stm, ...]:
    """The statements for some results where a condition has this truth value."""
    condition, holds = flag
    made: list[Stm] = []
    for statement in body.statements:
        exp = statement.exp
        if isinstance(exp, If) and exp.condition == condition:
            side = exp.then if holds else exp.otherwise
            pairs = zip(statement.pattern, side.result, strict=True)
            made += side.statements
            made += (replace(statement, pattern=(p,), exp=Copy(a)) for p, a in pairs)
        else:
            made.append(statement)
    written = tuple(body.result[number] for number in results)
    return tuple(needed_for(free_names(KernelBody((), written)), made))


def collected(
    operation: SegMap, outputs: list[Array], writes: tuple[FlaggedWrites, ...]
) -> CollectedPoints:
    """The loop over the points of a chunk."""
    body, indices = operation.body, operation.space.indices
    conditions = {each.condition for each in writes}
    tests = tuple(needed_for(conditions, body.statements))

    def emit(
        k: KernelBuilder, outer: Indices, start: kc.Expression, stop: kc.Expression
    ) -> None:
        packed = PackedPoints.of(k)
        with k.loop("block", stop, start, BLOCK) as block:
            end = smaller(stop - block, kc.Literal(BLOCK, kc.LONG))
            length = k.declare("length", end)
            with k.nested() as points, k.loop("l", length, parallel=True) as lane:
                k.bind_indices(indices, (*outer, block + lane))
                k.statements_of(tests)
                packed.mark(lane, _mark_of(k, writes))
            emit_split(k, points)
            packed.end(length)
            for bit, each in enumerate(writes):
                count = packed.collect(bit, length)
                with k.loop("p", count) as p:
                    k.bind_indices(indices, (*outer, block + packed.lane(p)))
                    k.statements_of(each.statements)
                    for number in each.results:
                        result = body.result[number]
                        assert isinstance(result, WriteReturns)
                        for where, value in result.writes:
                            write_if_inside(k, outputs[number], where, value)

    return CollectedPoints(emit)


def _mark_of(k: KernelBuilder, writes: tuple[FlaggedWrites, ...]) -> kc.Expression:
    """A bit for each condition that has its truth value."""
    mark: kc.Expression = kc.Literal(0, kc.INT)
    for bit, each in enumerate(writes):
        condition = k.scalar(each.condition)
        holds = condition if each.holds else kc.Call("!", (condition,), kc.TRUTH)
        flag = kc.Cast(holds, kc.INT) << bit
        mark = mark | flag if bit else flag
    return mark
