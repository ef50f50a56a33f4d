"""What the reads of a map's points need in order to stay within aligned blocks, and its
body there: without the checks that hold, and without short branches."""

from __future__ import annotations

from minifut.analysis.aligned_blocks import AlignedBlocks, Need
from minifut.analysis.facts import Facts
from minifut.analysis.simple_points import is_simple
from minifut.ir import core
from minifut.ir.core import Atom, Body, Constant, Stm
from minifut.ir.kernels import KernelBody, SegMap
from minifut.ir.node import immutable, replace
from minifut.ir.scalars import operator
from minifut.ir.sizes import Size
from minifut.ir.traverse import bound_names, free_names
from minifut.ir.types import I64, U64
from minifut.names import Name
from minifut.passes.block_steps.states import RepeatedMap
from minifut.passes.remove_checks.parts import conjuncts
from minifut.passes.speculate.branches import reason_to_jump
from minifut.rewrite.rule import Decline


def body_in_blocks(steps: RepeatedMap, facts: Facts) -> tuple[KernelBody, set[Need]]:
    """The body of the map without the checks that hold where reads are within a block,
    and what blocks need for that."""
    exp = steps.map.exp
    assert isinstance(exp, SegMap)
    ((point,), (size,)) = exp.space.indices, exp.space.sizes
    varying = {point, *bound_names(exp.body)}
    with facts.inner():
        for level in steps.levels:
            form = level.form
            facts.run_over(form.index, facts.form(form.bound), "the loop")
            for statement in level.before:
                facts.execute(statement)
        facts.run_over(point, facts.form(size), "the kernel")
        arrays = frozenset(p.name for p in steps.arrays)
        reads = _Reads(AlignedBlocks(facts, point, varying), arrays, size, set())
        statements = reads.unchecked(exp.body.statements)
    body = replace(exp.body, statements=statements)
    if not is_simple(replace(exp, body=body)):
        raise Decline("the body has loops, checks or arrays")
    return body, reads.needs


@immutable
class _Reads:
    """Looks at reads and checks in the order of statements; adds to `needs`."""

    blocks: AlignedBlocks
    arrays: frozenset[Name]
    size: Size
    needs: set[Need]

    def unchecked(self, statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
        """The statements without the checks of indices within a block."""
        made: list[Stm] = []
        facts = self.blocks.facts
        for statement in statements:
            exp = statement.exp
            if isinstance(exp, core.If):
                then = self.side(exp.condition, True, exp.then)
                otherwise = self.side(exp.condition, False, exp.otherwise)
                exp = replace(exp, then=then, otherwise=otherwise)
                before, exp = self.speculated(exp)
                made.extend(before)
                statement = replace(statement, exp=exp)
            elif isinstance(exp, core.Index) and exp.array in self.arrays:
                (at,) = exp.slice
                self.stays(at)
            elif isinstance(exp, core.Assert):
                for part in conjuncts(facts, exp.condition):
                    self.holds(facts.definition(part))
                continue
            elif not self.arrays.isdisjoint(free_names(statement)):
                raise Decline("arrays are used as a whole")
            elif isinstance(exp, core.ScalarOp) and (pair := self.blocks.partner(exp)):
                self.needs.add(Need("power", pair[1]))
                changed = replace(exp, operator=operator("xor", I64), operands=pair)
                made.append(replace(statement, exp=changed))
                facts.define(statement)
                continue
            facts.define(statement)
            made.append(statement)
        return tuple(made)

    def side(self, condition: Atom, truth: bool, body: Body) -> Body:
        facts = self.blocks.facts
        with facts.inner():
            facts.assume(condition, truth, "the branch")
            return replace(body, statements=self.unchecked(body.statements))

    def speculated(self, exp: core.If) -> tuple[tuple[Stm, ...], core.If]:
        """What can be computed before a branch on both sides, and the branch after
        that: all that it reads is in the block, whatever the condition is."""
        sides, facts = (exp.then, exp.otherwise), self.blocks.facts
        if reason_to_jump(exp) is not None:
            return (), exp
        before = exp.then.statements + exp.otherwise.statements
        with facts.inner():
            for statement in before:
                read = statement.exp
                if isinstance(read, core.Index):
                    (at,) = read.slice if read.array in self.arrays else (None,)
                    if not isinstance(at, Name) or self.blocks.needs(at) is None:
                        return (), exp
                facts.define(statement)
        for statement in before:
            facts.define(statement)
        then, otherwise = (replace(side, statements=()) for side in sides)
        return before, replace(exp, then=then, otherwise=otherwise)

    def stays(self, at: Atom | core.DimSlice) -> None:
        """The index is one within the block, as far as what it needs is so."""
        needs = None if isinstance(at, core.DimSlice) else self.blocks.needs(at)
        if needs is None:
            raise Decline("points read other blocks")
        self.needs.update(needs)

    def holds(self, check: object) -> None:
        """The part of a check says that an index is within the array."""
        facts = self.blocks.facts
        match check:
            case core.ScalarOp(compare, (one, other)) if compare.operands[0] == U64:
                ends = [facts.definition(operand) for operand in (one, other)]
                match ends:
                    case [core.ScalarOp(a, (at,)), core.ScalarOp(b, (limit,))] if (
                        compare.name == "lt"
                        and (a.name, b.name) == ("convert", "convert")
                        and a.operands[0] == b.operands[0] == I64
                        and facts.form(limit) == facts.form(self.size)
                    ):
                        return self.stays(at)
            case core.ScalarOp(compare, (Constant(0), at)) if str(compare) == "le_i64":
                return self.stays(at)
            case core.ScalarOp(compare, (at, limit)) if str(compare) == "lt_i64":
                if facts.form(limit) == facts.form(self.size):
                    return self.stays(at)
        raise Decline("a check may fail in blocks")
