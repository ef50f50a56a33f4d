"""Pass: indices that grow by one are checked at both ends of their loop.

    loop (s = 0) for k < m do { i = start + k; assert (0 <= i && i < n); .. xs[i] .. }
  →
    first = start + 0; last = start + (m - 1)
    if 0 <= first && first < n && 0 <= last && last < n
      then loop (s = 0) for k < m do { i = start + k; .. xs[i] .. }
      else the loop as it was, which finds the index that fails

Between two numbers that are not negative, m - 1 steps apart, nothing wraps around, and
all other indices are between them. Rows of sparse matrices are read by such loops.

Conditions: an innermost loop of a thread that carries scalars; the start is loaded, so
that neighbouring points read elsewhere. Other loops may be vectorised, where two copies
under masks cost more than the tests. Only a CPU's kernels, where code is cheap.
"""

from __future__ import annotations

from dataclasses import replace as replace_field

from minifut.ir import core, scope, search, traverse
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Constant, Exp, Program, Stm
from minifut.ir.node import replace
from minifut.ir.types import I64, ArrayType
from minifut.names import Name, NameSource
from minifut.passes.simplify.dead_code import remove_dead_code_in
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.strategy import outermost, rewrite
from minifut.rewrite.trace import Trace

LARGEST = 40
"""statements of a loop that is copied"""
DEPTH = 8
"""of definitions that an index is followed through"""
ZERO, NO_SIZE = Constant(0, I64), Constant(2**63 - 1, I64)


def check_loops_first(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Check indices that grow by one at both ends of their loop."""

    def in_threads(statement: Stm, context: StatementContext) -> Outcome:
        return check_ends(statement, context) if context.levels else None

    rule_of_threads = replace_field(check_ends, function=in_threads)
    return rewrite(program, outermost(rule_of_threads), names, trace)


@rule(
    core.Loop, paper="Gupta, Optimizing array bound checks using flow analysis (1993)"
)
def check_ends(statement: Stm, context: StatementContext) -> Outcome:
    """Copy a loop without the checks that hold at its first and its last index.

    before:
        given (n: i64, m: i64, j: i64, ks: [n]i64, xs: [n]i64)
        let zero: i64 = xor_i64(j, j)
        let start: i64 = ks[zero]
        let sum: i64 = loop (s: i64 = 0i64) for k: i64 < m do {
          let i: i64 = add_i64(start, k)
          let high: bool = lt_i64(i, n)
          let () = assert(high, ["outside"], [])
          let x: i64 = xs[i]
          return add_i64(s, x)
        }
    after:
        let zero: i64 = xor_i64(j, j)
        let start: i64 = ks[zero]
        let last: i64 = sub_i64(m, 1i64)
        let one: i64 = add_i64(start, 0i64)
        let a: bool = le_i64(0i64, one)
        let b: bool = lt_i64(one, n)
        let other: i64 = add_i64(start, last)
        let c: bool = le_i64(0i64, other)
        let d: bool = lt_i64(other, n)
        let ab: bool = and_bool(a, b)
        let abc: bool = and_bool(ab, c)
        let fine: bool = and_bool(abc, d)
        let sum: i64 = if fine then {
          return loop (s: i64 = 0i64) for k: i64 < m do {
            let i: i64 = add_i64(start, k)
            let x: i64 = xs[i]
            return add_i64(s, x)
          }
        } else {
          return loop (u: i64 = 0i64) for l: i64 < m do {
            let h: i64 = add_i64(start, l)
            let high: bool = lt_i64(h, n)
            let () = assert(high, ["outside"], [])
            let y: i64 = xs[h]
            return add_i64(u, y)
          }
        }
    declines: no index that is checked grows by one from a loaded number
        like before, with
        (start, k) => (j, k)
    declines: there is a loop within, or much else
        like before, with
        return add_i64(s, x)
        => let t: i64 = loop (u: i64 = s) for l: i64 < k do {add_i64(u, l)}
        => return t
    """
    loop = statement.exp_of(core.Loop)
    if not isinstance(loop.form, core.ForLoop):
        return None
    if not any(isinstance(s.exp, core.Assert) for s in loop.body.statements):
        return None
    if any(isinstance(p.type, ArrayType) for p in statement.pattern):
        return Declined("it carries arrays")
    size = search.count_of(Stm, loop.body)
    if search.contains(loop.body, core.Loop) or size > LARGEST:
        return Declined("there is a loop within, or much else")
    indices = _Indices(loop, loop.form, context)
    checked = indices.without_checks(context.builder(statement))
    if not indices.sizes:
        return Declined("no index that is checked grows by one from a loaded number")
    build = context.builder(statement)
    fine = indices.hold_at_ends(build)
    quick = replace(loop, body=remove_dead_code_in(checked))
    copies = (_alone(statement, each, context) for each in (quick, loop))
    build.append(replace(statement, exp=core.If(fine, *copies)))
    return tuple(build.statements)


def _alone(statement: Stm, loop: core.Loop, context: StatementContext) -> Body:
    """A branch in which there is the loop only, all names being new."""
    own = {p.name: context.names.like(p.name) for p in statement.pattern}
    pattern = traverse.rename_to(statement.pattern, own)
    scope.add_parameters(context.scope, pattern)
    copy = replace(statement, pattern=pattern, exp=traverse.rename(loop, context.names))
    context.scope.update(scope.scope_of(copy))
    return Body((copy,), tuple(own.values()))


class _Indices:
    """The indices of a loop whose checks are tested at both ends, each with the
    `sizes` that it must be below."""

    def __init__(
        self, loop: core.Loop, form: core.ForLoop, context: StatementContext
    ) -> None:
        self.form, self.context, self.body = form, context, loop.body
        self.varying = set(traverse.bound_names(loop))
        self.inside: dict[Atom, Exp] = {
            s.pattern[0].name: s.exp
            for s in loop.body.statements
            if len(s.pattern) == 1
        }
        self.sizes: dict[Name, dict[Atom, None]] = {}

    def without_checks(self, build: Builder) -> Body:
        """The body without what holds if it does at both ends."""
        for statement in self.body.statements:
            exp = statement.exp
            if isinstance(exp, core.Assert):
                parts = self.conjuncts(exp.condition)
                left = [part for part in parts if not self.take(part)]
                if not left:
                    continue
                if len(left) < len(parts):
                    condition = build.all_of(left)
                    statement = replace(
                        statement, exp=replace(exp, condition=condition)
                    )
            build.append(statement)
        return build.finish(*self.body.result)

    def conjuncts(self, condition: Atom) -> list[Atom]:
        exp = self.inside.get(condition)
        if isinstance(exp, core.ScalarOp) and str(exp.operator) == "and_bool":
            return [part for o in exp.operands for part in self.conjuncts(o)]
        return [condition]

    def take(self, condition: Atom) -> bool:
        """Note an index and its bound, if the condition compares one."""
        exp = self.inside.get(condition)
        if not isinstance(exp, core.ScalarOp) or len(exp.operands) != 2:
            return False
        comparison = str(exp.operator)
        left: Atom | None
        right: Atom | None
        left, right = exp.operands
        if comparison == "lt_u64":
            left = _converted(self.inside.get(left), "i64_u64")
            right = _converted(self.inside.get(right), "i64_u64")
        elif comparison == "le_i64" and left == ZERO:
            left, right = right, NO_SIZE
        elif comparison != "lt_i64":
            return False
        if left is None or right is None:
            return False
        if right in self.varying or abs(self.slope(left) or 0) != 1:
            return False
        if not isinstance(left, Name) or not self.is_loaded(left):
            return False
        self.sizes.setdefault(left, {})[right] = None
        return True

    def slope(self, atom: Atom) -> int | None:
        """By how much it grows from one round to the next, but for wrapping around."""
        if atom == self.form.index:
            return 1
        if atom not in self.varying:
            return 0
        exp = self.inside.get(atom)
        if _converted(exp, "i32_i64") == self.form.index:
            return 1
        if isinstance(exp, core.ScalarOp) and str(exp.operator) in (
            "add_i64",
            "sub_i64",
        ):
            one, other = (self.slope(operand) for operand in exp.operands)
            if one is not None and other is not None:
                return one + other if exp.operator.name == "add" else one - other
        return None

    def is_loaded(self, atom: Atom, depth: int = DEPTH) -> bool:
        """Whether an element of an array is one of its terms."""
        exp = self.inside.get(atom) or self.context.definition(atom)
        if isinstance(exp, core.ScalarOp) and depth:
            return any(self.is_loaded(o, depth - 1) for o in exp.operands)
        return isinstance(exp, core.Index)

    def hold_at_ends(self, build: Builder) -> Atom:
        """Whether all indices are natural and below their sizes in the first and in
        the last round."""
        first = Constant(0, self.form.type)
        last = build.sub(self.form.bound, Constant(1, self.form.type))
        tests = []
        for index, sizes in self.sizes.items():
            for number in (first, last):
                end = self.at(index, number, build)
                tests.append(build.op("le", ZERO, end))
                known = [size for size in sizes if size != NO_SIZE]
                tests += [build.op("lt", end, size) for size in known]
        return build.all_of(tests)

    def at(self, atom: Atom, number: Atom, build: Builder) -> Atom:
        """The value in the round of that number."""
        if atom == self.form.index:
            return number
        if atom not in self.varying:
            return atom
        exp = self.inside[atom]
        assert isinstance(exp, core.ScalarOp)
        operands = tuple(self.at(o, number, build) for o in exp.operands)
        return build.let(replace(exp, operands=operands), "end")


def _converted(exp: Exp | None, types: str) -> Atom | None:
    """What is converted between these types."""
    if isinstance(exp, core.ScalarOp) and str(exp.operator) == f"convert_{types}":
        return exp.operands[0]
    return None
