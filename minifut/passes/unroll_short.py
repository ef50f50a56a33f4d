r"""Pass: SOACs in functions of SOACs, over small literals or of few elements, are
written out.

    let dx = [-1, 0, 1]                             a table of offsets or weights
    map (\i -> reduce (+) 0 (map (\d -> f (i + d)) dx)) is
  →
    map (\i -> f (i + -1) + f (i + 0) + f (i + 1)) is

So what depends on elements of a table is decided when the program is compiled: reads at
`i + d` are at known distances, which index-set splitting and vectors need, factors of 0
and 1 disappear, and small arrays between such SOACs are scalars. Folds of at most `FEW`
elements, such as those of a row of a 4 x 4 matrix or of a point in space, are no
parallelism that pays, and a loop keeps the map around them from being one of vectors.
In a map of at most `WIDEST` points, such as that of a small matrix, folds may be as
long: elsewhere products of thin matrices are better tiled, and rows summed as segments.
So they may be where points divide their position, or a multiple of it, by a small
number, as in resampling: on a CPU a round does all points of a period
(`split_wrapping`).

The neighbours of a point as an array, in nests of maps over `iota 3`, are literals of
literals then, and what folds them under another shape reads scalars. That is so where
the function itself uses the array, as small matrices; what it only returns is a
dimension of the result.

Short arrays that are joined or repeated are literals as well
(`passes.short_arrays`).

Loops of few rounds over a small array are marked to be written out, too
(`passes.short_loops`).

Conditions: at most `MOST` elements of literals and nests, and `LARGEST` statements when
written out; scalar code without checks. SOACs of the host stay as they are:
they are parallel. But a nest that depends on literals alone is a table itself.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from minifut.ir import core, scope, search, types
from minifut.ir.core import Atom, Body, Constant, Lambda, Program, Stm
from minifut.ir.node import mutable, replace, same_or
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma, operand_count
from minifut.ir.traverse import map_children
from minifut.names import Name, NameSource
from minifut.passes import sequential_parts, short_arrays, short_loops, unroll_nests
from minifut.passes.folded_copies import FoldedCopies
from minifut.rewrite.context import StatementContext, with_values
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace

KNOWN = (
    core.ArrayLiteral,
    core.Copy,
    core.Index,
    core.Iota,
    core.Rearrange,
    core.Reshape,
)
WIDEST = 16
"""points of a map in which folds are written out that are as long"""
QUOTIENTS = ("div", "mod", "quot", "rem")
SMALL_DIVISOR, DIVISOR_OF_MULTIPLE = 4, 64
"""by which points divide their position, or a multiple of it"""
NOT_SHORT = Declined("no input is a small literal, and it is no fold of few elements")


def unroll_short(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Write out SOACs of few elements in functions of SOACs."""
    known = {
        statement.pattern[0].name: statement
        for statement in search.nodes_of(Stm, program)
        if isinstance(statement.exp, KNOWN)
    }
    derivation = None if trace is None else Derivation(trace, declined=False)
    context = StatementContext(
        names, scope.scope_of(program), known, derivation=derivation
    )
    walk = _Walk(context, known)
    return replace(program, functions=tuple(map(walk.outside, program.functions)))


@mutable
class _Walk:
    """Writes out what is in functions of SOACs; `known` are the literals and views so
    far, `rounds` the bodies of loops."""

    context: StatementContext
    known: dict[Name, Stm]
    rounds: list[Body] = field(default_factory=list)

    def outside(self, node: Any) -> Any:
        if isinstance(node, SOAC_EXPRESSIONS):
            return self.inside(node, unroll_nests.FEW)
        if not isinstance(node, Body):
            return map_children(node, self.outside)
        made: list[Stm] = []
        for statement in node.statements:
            made += self.table(statement, node, None) or (self.outside(statement),)
        return replace(node, statements=same_or(made, node.statements))

    def inside(self, node: Any, most: int) -> Any:
        """The same, with folds of at most so many elements written out."""
        if isinstance(node, Screma):
            most = WIDEST if _is_narrow(node) else unroll_nests.FEW
        if isinstance(node, core.Loop):
            self.rounds.append(node.body)
        if not isinstance(node, Body):
            return map_children(node, lambda child: self.inside(child, most))
        made: list[Stm] = []
        for statement in map(self.marked, node.statements):
            outcome = self.joined(statement, node) or self.table(statement, node, most)
            outcome = outcome or self.unrolled(statement, most)
            if outcome is None:
                new = self.inside(statement, most)
                if new is not statement:
                    outcome = self.table(new, node, most) or self.unrolled(new, most)
                outcome = outcome or (new,)
            made += outcome
        return replace(node, statements=same_or(made, node.statements))

    def unrolled(self, statement: Stm, most: int) -> tuple[Stm, ...] | None:
        exp = statement.exp
        if not isinstance(exp, Screma):
            return None
        if not (_is_within(exp, most) or _reads_literal(exp, self.context)):
            return None
        return self.noted(unroll_short_soac(statement, self.context))

    def noted(self, outcome: Outcome) -> tuple[Stm, ...] | None:
        """The statements of an outcome, whose literals are known from now on."""
        if not isinstance(outcome, tuple):
            return None
        for new in outcome:
            if isinstance(new.exp, KNOWN):
                self.known[new.pattern[0].name] = new
        return outcome

    def marked(self, statement: Stm) -> Stm:
        """The statement, marked to be written out if it is a short loop."""
        if isinstance(statement.exp, core.Loop):
            outcome = short_loops.mark_short_loop(statement, self.context)
            if isinstance(outcome, tuple):
                (statement,) = outcome
        return statement

    def table(
        self, statement: Stm, body: Body, most: int | None
    ) -> tuple[Stm, ...] | None:
        """A nest whose elements the body requires; on the host, of literals alone."""
        exp = statement.exp
        if not isinstance(exp, Screma) or not _is_within(exp, unroll_nests.MOST):
            return None
        reads = most is not None and (
            unroll_nests.reads_elements(exp, self.context)
            or unroll_nests.shares_places(exp, body)
        )
        names = {p.name for p in statement.pattern}
        if not reads and not unroll_nests.are_used_by_elements(names, body):
            return None
        if most is None and not unroll_nests.depends_on_literals(exp, self.context):
            return None
        return self.noted(unroll_nests.unroll_nest(statement, self.context))

    def joined(self, statement: Stm, body: Body) -> tuple[Stm, ...] | None:
        """The elements of a short array that the body uses by them. What loops go on
        with stays."""
        exp = statement.exp
        if not isinstance(exp, short_arrays.JOINING):
            return None
        goes_on = any(body is each for each in self.rounds)
        if not short_arrays.is_short_array(statement, body, goes_on):
            return None
        return self.noted(short_arrays.list_elements(statement, self.context))


@rule(Screma)
def unroll_short_soac(statement: Stm, context: StatementContext) -> Outcome:
    r"""Write out a SOAC with a small literal as an input, or a fold of few elements.

    before:
        given (x: i32, y: i32, zs: [2]i32)
        let ks: [2]i32 = [x, y]: i32
        let (s: i32, rs: [2]i32) = redomap(2, (ks, zs),
          reduce commutative(add_i32, (0i32)),
          \(k: i32, z: i32) -> (i32, i32) {
            let p: i32 = mul_i32(k, z)
            return p, p
          })
    after:
        let ks: [2]i32 = [x, y]: i32
        let z: i32 = zs[0i64]
        let p: i32 = mul_i32(x, z)
        let z_1: i32 = zs[1i64]
        let p_1: i32 = mul_i32(y, z_1)
        let b: i32 = add_i32(p, p_1)
        let ps: [2]i32 = [p, p_1]: i32
        let s: i32 = b
        let rs: [2]i32 = ps
    before:
        given (zs: [2]i32)
        let ss: [2]i32 = scanomap(2, (zs), scan(add_i32, (0i32)),
          \(z: i32) -> (i32) {mul_i32(z, z)})
    after:
        let z: i32 = zs[0i64]
        let p: i32 = mul_i32(z, z)
        let z_1: i32 = zs[1i64]
        let p_1: i32 = mul_i32(z_1, z_1)
        let b: i32 = add_i32(p, p_1)
        let l: [2]i32 = [p, b]: i32
        let ss: [2]i32 = l
    declines: no input is a small literal, and it is no fold of few elements
        given (zs: [20]i32)
        let s: i32 = redomap(20, (zs), reduce commutative(add_i32, (0i32)),
          \(z: i32) -> (i32) {mul_i32(z, z)})
    """
    exp = statement.exp_of(Screma)
    if not _is_within(
        exp, unroll_nests.MOST if _reads_literal(exp, context) else WIDEST
    ):
        return NOT_SHORT
    width = exp.width.as_constant
    assert width is not None
    folded = operand_count(exp.scans) + operand_count(exp.reduces)
    is_fold = folded == len(exp.function.results)
    if not (is_fold or _reads_literal(exp, context)):
        return NOT_SHORT
    operators = [scan.operator for scan in exp.scans]
    operators += [reduce.operator for reduce in exp.reduces]
    functions = (exp.function, *operators)
    if not all(map(unroll_nests.is_scalar_function, functions)):
        return Declined("its function has loops, checks or arrays")
    if width * sum(len(f.body.statements) for f in functions) > unroll_nests.LARGEST:
        return Declined("it would be too many statements")
    build = context.builder(statement)

    copies = FoldedCopies(build, context)

    def elements(point: int) -> list[Atom]:
        return [copies.element(array, point) for array in exp.arrays]

    results = sequential_parts.write_out(
        build, exp, elements, lambda _, *given: copies.apply(*given)
    )
    atoms = tuple(e.atom if isinstance(e, core.Copy) else build.let(e) for e in results)
    return with_values(statement, tuple(build.statements), atoms)


def _is_within(exp: Screma, most: int) -> bool:
    width = exp.width.as_constant
    return width is not None and width <= most


def _is_narrow(exp: Screma) -> bool:
    """Whether a map has few points, or few that are different."""
    return _is_within(exp, WIDEST) or _has_period(exp.function)


def _has_period(function: Lambda) -> bool:
    """Whether a point divides its position, or a multiple of it, by a small number."""
    least = {p.name: SMALL_DIVISOR for p in function.parameters}
    for statement in function.body.statements:
        match statement.exp:
            case core.ScalarOp(operator, (Name() as of, Constant(by))):
                if operator.type != types.I64 or of not in least:
                    continue
                if operator.name == "mul":
                    least[statement.pattern[0].name] = DIVISOR_OF_MULTIPLE
                elif operator.name in QUOTIENTS and 1 < int(by) <= least[of]:
                    return True
    return False


def _reads_literal(exp: Screma, context: StatementContext) -> bool:
    return any(
        unroll_nests.literal_of(array, context) is not None for array in exp.arrays
    )
