r"""Loops of small steps: a loop of the host has a version that is one thread.

    loop (xs = ys) for k < n do map f xs
    →  let host = work of a step // its commands >= main.loop_map.host
       if host then loop (xs = ys) for k < n do segmap grid (i < m) { f xs[i] }
       else segmap grid (t < 1) { loop (xs = ys) for k < n do map f xs }

A kernel, and a value read back for the host to decide by, cost as much as thousands of
operations. Where the steps do less, a thread that does one after the other is faster;
its arrays are updated in place, and what it makes vectors of is as fast as in kernels.

Loops inside of one with versions have none: their steps are the same commands. Loops of
single elements have, even there: what kernels around them cost says nothing of them.
Loops with calls or with arrays whose sizes depend on data, of which the cost is not
known, have none, nor those with large bodies, which are copied. By default a thread of
a GPU is never taken.

Loops of scalars stay on the host, between kernels of which they compute sizes. Where a
function has nothing else, they are all its work, and one thread does it: the host takes
1 us for an iteration of four operations, a thread 2 ns, a launch 10 us, or 100 if its
work is not known, since threads wake for it. So short loops are left to the host, and
the first iterations of `while` loops, which may be short (`loop_pieces`).

Source: "Incremental flattening", continued above the outermost map.
"""

from __future__ import annotations

from minifut.analysis.steps import LoopStep, is_of_elements, is_of_scalars, step_of
from minifut.ir import core, search, traverse, types
from minifut.ir.kernels import GRID, AtLeast
from minifut.ir.sizes import ONE, Size, maximum
from minifut.passes.flatten import exploitable, loop_pieces, version_names
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.judgement import PPOPP, Answer, leave
from minifut.rewrite.rule import EMITTED, Declined, rule

LARGEST, LARGEST_OF_KNOWN_COST = 160, 480
"""statements of a loop that is copied; where the cost of a step is a constant, as of an
integrator's adjoint, it is clear which copy a device runs"""
LAUNCH_WORK = 3 << 18
"""elements of vector operations for each command from which on two cores are faster
than one without commands: PoCL takes 8 to 10 us for one among others, in which a core
does half as many. Measured on sixteen programs, where both versions take equally long
at 1.3 to 6 times 2^18."""
GUARDS = "the host runs the loop, its steps as kernels; else one thread does"

SHORT_WORK = 128
"""statements of a loop of scalars that the host executes in the time of two launches"""
ON_HOST = Declined("it prints, or updates accumulators")


@rule(paper=PPOPP)
def choose_version_of_loop(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make versions of a loop: its steps in kernels, or the whole in one thread.

    before:
        given (m: i64, n: i64, xs: [m]i32)
        let ys: [m]i32 = loop (as: [m]i32 = xs) for k: i64 < n do {
          return map(m, (as), \(a: i32) -> (i32) {mul_i32(a, a)})
        }
    after:
        let host: bool = at_least(3 * m, "main.loop_map.host" "threshold"
          ("cpu" = 786432, "gpu" = 0) bounds 0 4611686018427387904
          guards "the host runs the loop, its steps as kernels; else one thread does")
        let ys: [m]i32 = if host then {
          return loop (cs: [m]i32 = xs) for k: i64 < n do {
            return map(m, (cs), \(c: i32) -> (i32) {mul_i32(c, c)})
          }
        } else {
          let box: [1][m]i32 = segmap grid (t < 1) -> ([m]i32) {
            return returns loop (es: [m]i32 = xs) for l: i64 < n do {
              return map(m, (es), \(e: i32) -> (i32) {mul_i32(e, e)})
            }
          }
          return box[0i64]
        }
    declines: it is of scalars, and nothing in it is parallel
        given (n: i64)
        let y: i64 = loop (x: i64 = 1i64) for k: i64 < n do {mul_i64(x, x)}
    declines: the cost of a step depends on data
        given (n: i64, f: [n]i64, xs: [n]i32)
        let ys: [n]i32 = loop (as: [n]i32 = xs) for k: i64 < n do {
          let m: i64 = f[k]
          let bs: [m]i32 = replicate([m], 0i32)
          let b: i32 = bs[0i64]
          return as with [k] = b
        }
    """
    nest, statement, pattern = judgement
    loop = statement.exp
    versions = context.versions
    if not isinstance(loop, core.Loop) or nest.depth or context.level != GRID:
        return None
    if versions.kind != version_names.INCREMENTAL or statement.attributes:
        return None
    around = versions.in_loop
    if around is not None and _has_same_commands(around, loop):
        return Declined("it is inside of such a loop")
    if not exploitable.is_regular({p.name for p in pattern}, pattern):
        return Declined("a result has a size that the loop computes")
    if any(isinstance(p.type, types.AccType) for p in pattern):
        return ON_HOST
    if search.contains(loop, core.Trace):
        return ON_HOST
    step = step_of(loop)
    is_scalar = step is None and is_of_scalars(loop.body)
    if is_scalar:
        if not versions.of_scalars:
            return Declined("it is of scalars, and nothing in it is parallel")
        if _is_short(statement):
            return Declined("it is of scalars, and short")
        step = LoopStep(ONE, ONE)
    if step is None:
        return Declined("the cost of a step depends on data")
    cost = step.work // maximum(step.commands, ONE)
    if version_names.weight(statement) > (
        LARGEST if cost.as_constant is None else LARGEST_OF_KNOWN_COST
    ):
        return Declined("its body is large")
    path = (*context.path, version_names.shape_of_body(loop.body.statements, "loop"))
    name = f"{versions.stem(path)}.{version_names.HOST}"
    chosen = version_names.threshold(name, LAUNCH_WORK, 0, GUARDS)
    condition = context.build.let(
        AtLeast(_in_i64(context, cost), chosen), version_names.HOST
    )
    kernels, thread = context.inner(), context.inner()
    versions.in_loop = loop
    kernels.build.extend(context.code(kernels, (statement,)))
    versions.in_loop = around
    copy = context.build.copy(statement)
    if is_scalar and isinstance(loop.form, core.WhileLoop):
        loop_pieces.emit_in_pieces(copy, copy.pattern, nest, thread)
    else:
        leave(Judgement(nest, copy, copy.pattern), thread)
    branches = (_branch(kernels, statement.pattern), _branch(thread, copy.pattern))
    context.emit(pattern, core.If(condition, *branches))
    return EMITTED


def _has_same_commands(around: core.Loop, loop: core.Loop) -> bool:
    """Whether versions of the loop around are versions of the steps of this one too."""
    return is_of_elements(around.body) or not is_of_elements(loop.body)


def _is_short(statement: core.Stm) -> bool:
    """Whether the number of iterations is known, and they are few."""
    form = getattr(statement.exp, "form", None)
    count = form.bound if isinstance(form, core.ForLoop) else None
    return isinstance(count, core.Constant) and (
        int(count.value) * version_names.weight(statement) <= SHORT_WORK
    )


def _in_i64(context: NestContext, size: Size) -> Size:
    """The size over names of type i64; bounds of loops may be others."""
    build = context.build
    names = sorted(size.names(), key=lambda name: (name.tag, name.base))
    return size.substitute(
        {n: traverse.atom_size(build.convert(n, types.I64)) for n in names}
    )


def _branch(context: NestContext, pattern: tuple[core.Param, ...]) -> core.Body:
    """What was emitted there, with names of its own."""
    made = context.build.finish(*(parameter.name for parameter in pattern))
    return traverse.rename(made, context.build.names)
