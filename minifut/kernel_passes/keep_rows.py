"""Keep short rows of results in private arrays while points compute them.

    for (k = 0; k < 4; k++) ys[4 * i + k] = 0;        for (..) own[k] = 0;
    while (..) {.. ys[4 * i + k] = f(ys[4 * i])}  →   while (..) {.. own[k] = f(own[0])}
                                                      for (..) ys[4 * i + k] = own[k];

The device's compiler keeps a private array of few elements in registers, and lanes have
vectors of one (`vectorise.private_arrays`); of what is in global memory each access is
done, by lanes one after the other. Conditions: the point reads the row that it writes,
gives values to all of it first, and no other thread has the point.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.node import immutable, replace
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import map_children, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.index_ranges import as_size, factor_of
from minifut.kernel_passes.vectorise.extents import size_value
from minifut.kernel_passes.vectorise.own_elements import is_distributed
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

LONGEST = 16
"""elements of a row: more are not kept in registers"""


def keep_rows(k: KernelEditor) -> None:
    """Keep short rows of results in private arrays while points compute them."""
    if not k.kernel.fresh:
        return
    context, arrays = CodeContext(k), list[kc.Statement]()

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        if loop.points and loop.expensive and is_distributed(k, loop):
            outcome = rewritten(keep_row_private, loop, context)
            if outcome is not None:
                arrays.extend(outcome[:-1])
                return outcome[-1:]
        return None

    k.change_loops(change)
    k.statements = [*arrays, *k.statements]


@rule(kc.For)
def keep_row_private(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Read and write a row in a private array, and store it at the end of the point.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            for (long k = 0; k < 2; k++) {
                ys[2 * i + k] = 1.0f;
            }
            for (long j = 0; j < n; j++) {
                ys[2 * i] = ys[2 * i] + xs[j];
            }
        }
    after:
        float kept[2];
        for (long i = 0L; i < n; i++) {
            for (long k = 0L; k < 2L; k++) {
                kept[k] = 1.0f;
            }
            for (long j = 0L; j < n; j++) {
                kept[0L] = kept[0L] + xs[j];
            }
            for (long k_1 = 0L; k_1 < 2L; k_1++) {
                ys[(2 * i) + k_1] = kept[k_1];
            }
        }
    declines: no point reads a short row that it writes
        like before, with
        ys[2 * i] + xs[j] => xs[j]
    """
    k, point, made = context.k, loop.variable, loop.body
    arrays: list[kc.Statement] = []
    for memory in _read_and_written(loop.body):
        length = _row_length(made, memory, point.name)
        if length is None or not _is_given_first(made, memory, point.name, length):
            continue
        own = kc.Memory(k.names.fresh("kept"), memory.element, "private")
        arrays.append(kc.DeclareArray(own, Size.constant(length)))
        row = _Row(memory, own, Size.of(point.name) * length)
        with k.nested() as stores, k.loop("k", length) as at:
            index = kc.SizeValue(row.start) + at
            k.emit(kc.Store(memory, index, _load(own, at)))
        made = kc.Block((*map(row.moved, made.statements), *stores))
    if made is loop.body:
        return Declined("no point reads a short row that it writes")
    return (*arrays, replace(loop, body=made))


@immutable
class _Row:
    """Elements of a memory from `start` on, in a private array."""

    memory: kc.Memory
    own: kc.Memory
    start: Size

    def moved(self, node: Any) -> Any:
        """The same with the accesses in the array."""
        made = map_children(node, self.moved)
        if isinstance(made, kc.Load | kc.Store) and made.memory == self.memory:
            size = as_size(made.index)
            assert size is not None
            made = replace(made, memory=self.own, index=size_value(size - self.start))
        return made


def _load(memory: kc.Memory, index: kc.Expression) -> kc.Load:
    return kc.Load(memory, index, kc.VectorType(memory.element))


def _read_and_written(body: kc.Block) -> list[kc.Memory]:
    """The global memory that a body loads and stores, and does not use otherwise."""
    loaded: dict[kc.Memory, None] = {}
    stored: set[kc.Memory] = set()
    used: set[Name] = set()
    for node in walk(body):
        match node:
            case kc.Load(memory):
                loaded[memory] = None
            case kc.Store(memory):
                stored.add(memory)
            case kc.DeclarePointer(_, memory) | kc.AtomicUpdate(memory=memory):
                used.add(memory.name)
            case kc.CallFunction(arguments=arguments):
                used |= {a.name for a in arguments if isinstance(a, kc.Memory)}
    return [
        m for m in loaded if m in stored and m.space == "global" and m.name not in used
    ]


def _row_length(body: kc.Block, memory: kc.Memory, point: Name) -> int | None:
    """The number of elements from the row of a point to the next, if it is small and
    all accesses to the memory are at it, plus what does not depend on the point."""
    lengths: set[int | None] = set()
    for node in nodes_of(kc.Load | kc.Store, body):
        if node.memory == memory:
            size = as_size(node.index)
            lengths.add(None if size is None else factor_of(size, point))
    (length, *others) = lengths
    if others or length is None or not 1 < length <= LONGEST:
        return None
    return length


def _is_given_first(
    body: kc.Block, memory: kc.Memory, point: Name, length: int
) -> bool:
    """Whether all elements of a row are stored before one is loaded."""
    missing = set(range(length))
    for statement in body.statements:
        if not missing or memory in kc.loaded_by([statement]):
            return not missing
        rounds, inner = range(1), statement
        counter: Name | None = None
        if isinstance(statement, kc.For) and len(statement.body.statements) == 1:
            (inner,) = statement.body.statements
            counter, known = statement.variable.name, statement.rounds
            if known is None or not isinstance(statement.start, kc.Literal):
                continue
            if not statement.counts_by_ones:
                continue
            first = int(statement.start.value)
            rounds = range(first, first + known)
        if isinstance(inner, kc.Store) and inner.memory == memory:
            size = as_size(inner.index)
            assert size is not None
            offset = size - Size.of(point) * length
            for number in rounds:
                there: dict[Name, Size]
                there = {} if counter is None else {counter: Size.constant(number)}
                missing.discard(offset.substitute(there).as_constant)
    return not missing
