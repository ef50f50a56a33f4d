"""Give the calls of functions that follow a loop in each point a loop of their own.

    for (i = 0; i < n; i++) {             for (block = 0; block < n; block += 64) {
        s = 0;                                for (i in block) {
        for (j < m) s += a[i, j]                  s = 0; for (j < m) s += a[i, j]
        ys[i] = exp(s);              →            kept[i - block] = s;
    }                                         }
                                              for (i in block)
                                                  ys[i] = exp(kept[i - block]);
                                          }

Where the points cannot be lanes, as if each folds a row that is read element by
element, the fold has vectors of its own (`row_folds`), but its calls were of scalars,
which take up to sixteen times as long (`calls`). The values that calls need are kept
for a block of points, in the first-level cache. What is cheap is computed again.

Points do not depend on each other, but one may use memory that another one used before:
so what follows the loop reads and writes nothing that comes before it writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir import search, sizes, types
from minifut.ir.node import replace
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_passes.context import CodeContext, KernelOutcome
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

BLOCK = 64
"""points"""
MOST_KEPT = 8
"""values of a point"""
PLAIN = (kc.Declare, kc.Assign, kc.Store, kc.Comment, kc.Branch)
WRITING = (kc.AtomicUpdate, kc.CallFunction, kc.Evaluate)


@rule(
    kc.For,
    paper="Allen, Kennedy, Optimizing Compilers for Modern Architectures (2001), 5.6",
)
def compute_calls_apart(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Distribute a loop over points: first the loops inside with what they need, then
    the calls.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float x = xs[i];
            float s = 0.0f;
            for (long j = 0; j < n; j++) {
                s = s + x * xs[j];
            }
            ys[i] = tanh_f32(s);
        }
    after:
        float kept[64];
        for (long block = 0L; block < n; block += 64L) {
            long end = min((long)(block + 64L), n);
            for (long i = block; i < end; i++) {
                float x = xs[i];
                float s = 0.0f;
                for (long j = 0L; j < n; j++) {
                    s = s + (x * xs[j]);
                }
                kept[i - block] = s;
            }
            for (long i = block; i < end; i++) {
                float s = kept[i - block];
                ys[i] = tanh(s);
            }
        }
    declines: no function is called but for loops inside
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            ys[i] = tanh_f32(xs[i]);
        }
    declines: what follows uses memory that is written before
        like before, with
        s = s + x * xs[j]; => ys[i] = ys[i] + xs[j];
    """
    first, second = _parted(loop.body.statements)
    if not first or not calls_functions(kc.Block(second)):
        return Declined("no function is called but for loops inside")
    if any(isinstance(node, WRITING) for s in first for node in walk(s)):
        return Declined("it is not known what is written before")
    if _written(first) & _used(second) or _written(second) & _used(first):
        return Declined("what follows uses memory that is written before")
    if assigned(second) - declared(second):
        return Declined("what follows gives values to variables of before")
    again = _computed_again(first, second)
    kept = _kept(first, (*again, *second))
    if len(kept) > MOST_KEPT or any(v.type.scalar == types.BOOL for v in kept):
        return Declined("too many values are needed, or conditions")
    k = context.k
    names = [k.names.fresh("kept") for _ in kept]
    arrays = [
        kc.Memory(name, v.type.scalar, "private")
        for name, v in zip(names, kept, strict=True)
    ]
    declares = [kc.DeclareArray(array, sizes.Size.constant(BLOCK)) for array in arrays]
    with k.nested() as made, k.loop("block", loop.bound, loop.start, BLOCK) as block:
        end = k.declare("end", kc.Call("min", (block + BLOCK, loop.bound), kc.LONG))
        place = loop.variable - block
        pairs = list(zip(arrays, kept, strict=True))
        stores = [kc.Store(array, place, value) for array, value in pairs]
        loads = [kc.Declare(v, kc.Load(a, place, v.type)) for a, v in pairs]
        for part in ((*first, *stores), (*loads, *again, *second)):
            k.emit(replace(loop, start=block, bound=end, body=kc.Block(part)))
    return (*declares, *made)


def _parted(
    body: Sequence[kc.Statement],
) -> tuple[tuple[kc.Statement, ...], tuple[kc.Statement, ...]]:
    """Loops, checks and what they need; and the other statements."""
    needed: set[Name] = set()
    first: list[kc.Statement] = []
    second: list[kc.Statement] = []
    for s in reversed(body):
        gives = assigned((s,)) | declared((s,))
        if not _is_plain((s,)) or gives & needed:
            needed |= gives | set(_variables((s,)))
            first.append(s)
        else:
            second.append(s)
    return tuple(first[::-1]), tuple(second[::-1])


def _is_plain(statements: Sequence[kc.Statement]) -> bool:
    return all(
        isinstance(s, PLAIN)
        and all(_is_plain(block.statements) for block in kc.blocks_of(s))
        for s in statements
    )


def _written(statements: Sequence[kc.Statement]) -> set[kc.Memory]:
    """The memory in which statements store, and what they declare."""
    found: set[kc.Memory] = set()
    for node in (node for s in statements for node in walk(s)):
        if isinstance(node, kc.Store | kc.DeclareArray):
            found.add(node.memory)
        elif isinstance(node, kc.DeclarePointer):
            found.add(node.part)
    return found


def _used(statements: Sequence[kc.Statement]) -> set[kc.Memory]:
    nodes = (node for s in statements for node in walk(s))
    kinds = (kc.Load, kc.Store, kc.Prefetch, kc.DeclarePointer)
    used = [node for node in nodes if isinstance(node, kinds)]
    return {n.whole if isinstance(n, kc.DeclarePointer) else n.memory for n in used}


def _variables(nodes: Sequence[object]) -> dict[Name, kc.Variable]:
    return {part.name: part for part in search.nodes_of(kc.Variable, *nodes)}


def _computed_again(
    first: Sequence[kc.Statement], second: Sequence[kc.Statement]
) -> list[kc.Declare]:
    """What is declared before, needed after, and only computed from other such values
    and from those of outside."""
    changing, own = assigned(first), declared(first)
    needed = set(_variables(second))
    cheap: dict[Name, kc.Declare] = {}
    for s in first:
        if not isinstance(s, kc.Declare) or not isinstance(s.variable, kc.Variable):
            continue
        if s.init is None or s.variable.name in changing or calls_functions(s.init):
            continue
        reads = any(isinstance(node, kc.Load) for node in walk(s.init))
        others = (set(_variables([s.init])) & own) - set(cheap)
        if not reads and not others:
            cheap[s.variable.name] = s
    found: list[kc.Declare] = []
    for name, statement in reversed(cheap.items()):
        if name in needed:
            needed |= set(_variables([statement.init]))
            found.append(statement)
    return found[::-1]


def _kept(
    first: Sequence[kc.Statement], second: Sequence[kc.Statement]
) -> list[kc.Variable]:
    """The variables declared before that are used after."""
    own = declared(first) - declared(second)
    return [v for name, v in _variables(second).items() if name in own]
