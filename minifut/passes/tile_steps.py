r"""Pass: several steps of a stencil at once, block by block in the cache.

    loop a for _t < n do segmap grid (i < h, j < w) {.. a[i - 1, j] .. a[i + 1, j] ..}
  →
    let whole = if large then n / 4 else 0
    let b = loop a for _s < whole do
              segmap grid (..) for 4 timesteps of a reaching 1 {..}
    in loop b for _t < n - whole * 4 do segmap grid (..) {..}

Where an array exceeds the caches a step takes as long as memory does. A thread makes a
block of rows of the last step, and of those before as many rows more as these need on
both sides, in tiles that stay in its cache: overlapped tiling. Rows at the edges of the
array are no special case, as the conditions of the body decide them.

Conditions: the loop carries one array, which one map makes; its body is scalar code
without checks, that does not use the number of the step; it reads rows at a known small
distance, in all branches.

Source: Krishnamoorthy et al., "Effective automatic parallelization of stencil
computations" (PLDI'07).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import Form, combine, difference, number
from minifut.analysis.facts.reads import each_read
from minifut.analysis.simple_points import is_simple
from minifut.ir import core, kernels
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, Constant, Function, Program, Stm
from minifut.ir.kernels import GRID
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.ir.search import nodes_of
from minifut.ir.sizes import product
from minifut.ir.traverse import free_names, rename, walk
from minifut.ir.types import ArrayType, ScalarType
from minifut.names import Name, NameSource
from minifut.passes.block_steps import emitter
from minifut.passes.block_steps.rule import make_steps_in_blocks
from minifut.passes.block_steps.states import steps_of_level
from minifut.passes.remove_checks.driver import FactsWalk
from minifut.passes.remove_checks.rules import FactContext
from minifut.passes.simplify.dead_code import with_functions
from minifut.rewrite.rule import Declined, Outcome, Rule, rule
from minifut.rewrite.trace import Trace

STEPS = 4
UNNAMED = "loop_steps"
WIDEST_RADIUS = 3
LARGE = 12 << 20
"""bytes of an array that does not stay in the last cache, with the one that it makes.
Measured on PoCL, an AMD EPYC with 32 MB of it, 48 steps of Jacobi's on f32: 1024 rows
5.3 in place of 5.0 ms, 1536 12.9 of 12.1, 2048 26.9 of 32.1, 3000 63 of 91, 4096 114
of 230"""
LONGEST_ROW = 1 << 15
"""bytes: a block of longer rows does not fit a cache"""
PAPER = "Krishnamoorthy et al., Automatic parallelization of stencils (PLDI'07)"


@rule(core.Loop, paper=PAPER)
def tile_stencil_steps(statement: Stm, context: FactContext) -> Outcome:
    r"""Make four steps of a stencil at once.

    before:
        given (n: i64, k: i64, a: [n][8]i64)
        let b: [n][8]i64 = loop (p: [n][8]i64 = a) for t: i64 < k do {
          return segmap grid (i < n, j < 8) -> (i64) {
            let above: i64 = sub_i64(i, 1i64)
            let up: i64 = max_i64(above, 0i64)
            let x: i64 = p[up, j]
            let y: i64 = p[i, j]
            let z: i64 = add_i64(x, y)
            return returns z
          }
        }
    after:
        let large: bool = at_least(64 * n, "loop_steps" "threshold" ("cpu" = 12582912,
            "gpu" = 4611686018427387904) bounds 0 4611686018427387904 guards
            "steps of a stencil are made several at once, in tiles")
        let some: i64 = quot_i64(k, 4i64)
        let whole: i64 = if large then {some} else {0i64}
        let c: [n][8]i64 = loop (p: [n][8]i64 = a) for t: i64 < whole do {
          return segmap grid (i < n, j < 8)
              for 4 timesteps of p reaching 1 -> (i64) {
            let above: i64 = sub_i64(i, 1i64)
            let up: i64 = max_i64(above, 0i64)
            let x: i64 = p[up, j]
            let y: i64 = p[i, j]
            return returns add_i64(x, y)
          }
        }
        let done: i64 = mul_i64(whole, 4i64)
        let rest: i64 = sub_i64(k, done)
        let b: [n][8]i64 = loop (u: [n][8]i64 = c) for s: i64 < rest do {
          return segmap grid (l < n, m < 8) -> (i64) {
            let before: i64 = sub_i64(l, 1i64)
            let first: i64 = max_i64(before, 0i64)
            let d: i64 = u[first, m]
            let e: i64 = u[l, m]
            return returns add_i64(d, e)
          }
        }
    declines: points read far rows
        like before, with
        let up: i64 = max_i64(above, 0i64)
        => let up: i64 = and_i64(above, 0i64)
    declines: steps differ
        like before, with
        let z: i64 = add_i64(x, y)
        => let z: i64 = add_i64(x, t)
    """
    loop = statement.exp_of(core.Loop)
    stencil = _stencil_of(loop)
    if not isinstance(stencil, kernels.SegMap):
        return stencil
    (parameter,) = loop.parameters
    radius = _radius(stencil, parameter.name, context.facts)
    if radius is None:
        return Declined("points read far rows")
    if not radius:
        return Declined("points read their own rows only")
    build = context.builder(statement)
    made = replace(stencil, steps=kernels.TimeSteps(STEPS, parameter.name, radius))
    several = Body((replace(loop.body.statements[0], exp=made),), loop.body.result)
    assert isinstance(loop.form, core.ForLoop)
    form, type_ = loop.form, loop.form.type
    whole = _whole(build, stencil, form)
    first = replace(loop, form=replace(form, bound=whole), body=several)
    (before,) = build.let_many(first, [parameter.name.base])
    done = build.op("mul", whole, Constant(STEPS, type_), base="done")
    rest = build.op("sub", form.bound, done, base="rest")
    second = replace(loop, initial=(before,), form=replace(form, bound=rest))
    build.bind(statement.pattern, rename(second, build.names))
    return tuple(build.statements)


def _is_step(loop: core.Loop) -> bool:
    """Whether a loop applies one map again and again: facts are of use only then."""
    return _stencil_of(loop) is not None or steps_of_level(loop) is not None


def _stencil_of(loop: core.Loop) -> kernels.SegMap | Declined | None:
    """The map that makes the array that a loop carries from the one before."""
    if not isinstance(loop.form, core.ForLoop) or len(loop.body.statements) != 1:
        return None
    (statement,), exp = loop.body.statements, loop.body.statements[0].exp
    if (
        not isinstance(exp, kernels.SegMap)
        or exp.level != GRID
        or len(loop.parameters) != 1
    ):
        return None
    made = tuple(parameter.name for parameter in statement.pattern)
    (parameter,) = loop.parameters
    if loop.body.result != made or exp.scan is not None or exp.steps is not None:
        return None
    if not isinstance(parameter.type, ArrayType) or not isinstance(
        exp.body.result[0], kernels.Returns
    ):
        return None
    scalar = isinstance(exp.types[0], ScalarType)
    if not scalar or parameter.type.shape != exp.space.sizes or not is_simple(exp):
        return Declined("the body has loops, checks or arrays")
    if loop.form.index in free_names(exp):
        return Declined("steps differ")
    if str(loop.form.type).startswith("u"):
        return Declined("their number is unsigned")
    return exp


def _radius(stencil: kernels.SegMap, array: Name, facts: Facts) -> int | None:
    """How far away rows are that a point reads at most; None if that is not known."""
    space, radius = stencil.space, 0
    uses = sum(
        isinstance(n, Stm) and array in free_names(n) and not isinstance(n.exp, core.If)
        for n in walk(stencil.body)
    )
    with facts.inner():
        for index, size in zip(space.indices, space.sizes, strict=True):
            facts.run_over(index, facts.form(size), "the kernel")
        for read in each_read(facts, stencil.body.statements):
            if read.array != array:
                continue
            uses -= 1
            row = read.slice[0]
            if isinstance(row, core.DimSlice) or len(read.slice) != len(space.sizes):
                return None
            moved = difference(facts.form(row), facts.form(space.indices[0]))
            while not _within(facts, moved, radius):
                radius += 1
                if radius > WIDEST_RADIUS:
                    return None
    return None if uses else radius


def _within(facts: Facts, moved: Form, radius: int) -> bool:
    low, high = (combine(number(radius), 1, moved, sign) for sign in (1, -1))
    return facts.proves(low) is not None and facts.proves(high) is not None


def _whole(build: Builder, stencil: kernels.SegMap, form: core.ForLoop) -> Atom:
    """How often several steps are made at once, as the loop's index counts."""
    (element,) = stencil.types
    assert isinstance(element, ScalarType)
    sizes = stencil.space.sizes
    threshold = kernels.Parameter(
        UNNAMED,
        "threshold",
        (("cpu", LARGE), ("gpu", kernels.NEVER)),
        (0, kernels.NEVER),
        "steps of a stencil are made several at once, in tiles",
    )
    condition = build.let(
        kernels.AtLeast(product(sizes) * element.bytes, threshold), "large"
    )
    row = product(sizes[1:])
    if row.as_constant is None or int(row.as_constant) > LONGEST_ROW // element.bytes:
        short = build.op("le", build.size_atom(row), i64(LONGEST_ROW // element.bytes))
        condition = build.op("and", condition, short)
    some = build.op("quot", form.bound, Constant(STEPS, form.type), base="some")
    none = Constant(0, form.type)
    choice = core.If(condition, Body((), (some,)), Body((), (none,)))
    return build.let(choice, "whole")


class _Walk(FactsWalk):
    """Applies the rules, and names thresholds by the functions that they are in."""

    stem = "main"
    rules: Mapping[type, tuple[Rule, ...]] = {core.Loop: (tile_stencil_steps,)}
    finds_invariants = False
    sought = (core.Loop,)

    def __init__(self, names: NameSource, scope: Scope, trace: Trace) -> None:
        super().__init__(names, scope, trace)
        self.tiled: Counter[str] = Counter()

    def function(self, function: Function) -> Function:
        self.stem = function.name.base
        loops = nodes_of(core.Loop, function)
        return super().function(function) if any(map(_is_step, loops)) else function

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        made = make_steps_in_blocks(statement, self.context)
        if not isinstance(made, tuple):  # else there are the loops of before in it
            made = super().statement(statement)
        return tuple(map(self._named, made))

    def _named(self, statement: Stm) -> Stm:
        exp = statement.exp
        unnamed = (UNNAMED, emitter.UNNAMED)
        if not isinstance(exp, kernels.AtLeast) or exp.threshold.name not in unnamed:
            return statement
        name = f"{self.stem}.{exp.threshold.name}"
        self.tiled[name] += 1
        if self.tiled[name] > 1:
            name = f"{name}_{self.tiled[name]}"
        threshold = replace(exp.threshold, name=name)
        return replace(statement, exp=replace(exp, threshold=threshold))


def tile_steps(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Make several steps of stencils and of butterfly networks at once, in tiles and
    blocks that stay in the caches."""
    steps = _Walk(names, scope_of(program), trace or Trace())
    return with_functions(program, tuple(map(steps.function, program.functions)))
