"""Arrays that each point has for itself, with the lanes of an element side by side.

    float own[5];                          float own[5 * 16];
    own[k] = x;                     →      *(float16 *)(own + k * 16) = x;
    y = own[k + 1];                        y = *(float16 *)(own + (k + 1) * 16);

An element of all points is a vector then, at indices that are the same for all points,
and the device's compiler keeps short arrays in registers. Conditions: what points store
in is theirs (they are independent, and nothing around them accesses it, as what is made
of the results of a map inside of a point), and its size is a small constant. Where an
index varies, lanes access their elements one after the other, as points would: there
must be more work than that.

Scratch memory that points have one after the other (`own` of its pointer) has room for
lanes as well, up to a length that the kernel tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from minifut.ir import alpha, traverse, types
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.vectorise.context import WIDTHS, NotVectorisable
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.names import Name

LONGEST = 64
"""elements of a private array"""
LONGEST_SCRATCH = 4096
"""elements of an array in scratch memory that most lanes have: longer ones leave the
second-level cache"""

WORK_PER_ACCESS = 2
"""operations for each access at an index that varies"""
USUAL_ROUNDS = 4
"""of a loop with an unknown number"""

Owned = Mapping[kc.Memory, "int | kc.Expression"]
"""Arrays of points with their sizes: numbers of private ones, others of scratch."""


def find_own_arrays(k: CodeBuilder, loop: kc.For, distributed: bool = False) -> Owned:
    """The arrays in which points of a loop store and that each has for itself; those
    that are too large, or of a format of their own, are left out, and unless points are
    `distributed` over threads, scratch of points further out."""
    statements = loop.body.statements
    stored = {store.memory for store in nodes_of(kc.Store, loop.body)}
    sizes: dict[kc.Memory, int | kc.Expression] = {}
    for statement in (*k.prologue, *k.statements):
        match statement:
            case kc.DeclareArray(memory, count) if memory in stored:
                known = count.as_constant or LONGEST + 1
                if memory.space == "private" and known <= LONGEST:
                    sizes[memory] = known
            case kc.DeclarePointer(part, own=kc.Expression() as own) if part in stored:
                sizes[part] = own
    if not sizes:
        return sizes
    around = _used_around(k.statements, loop)
    formats = {
        memory: size
        for memory, size in sizes.items()
        if memory.element.name != "f16" and memory not in around
    }
    return (
        formats if distributed else _indexed_alike(formats, statements, loop.variable)
    )


def _used_around(statements: Sequence[kc.Statement], loop: kc.For) -> set[kc.Memory]:
    """The memory that these statements use elsewhere than in a loop among them."""
    found: set[kc.Memory] = set()
    for statement in statements:
        if statement is loop:
            continue
        if not (blocks := kc.blocks_of(statement)):
            found.update(n.memory for n in nodes_of(kc.Load | kc.Store, statement))
        for exp in kc.expressions_of(statement) if blocks else ():
            found.update(n.memory for n in nodes_of(kc.Load, exp))
        for block in blocks:
            found |= _used_around(block.statements, loop)
    return found


def _indexed_alike(
    sizes: dict[kc.Memory, int | kc.Expression],
    statements: Sequence[kc.Statement],
    index: kc.Variable,
) -> Owned:
    """Without scratch that is indexed by the number of the point: points of a loop
    further out have that."""
    varying = find_varying(statements, [index.name, *(m.name for m in sizes)])
    apart = {
        node.memory
        for node in nodes_of(kc.Load | kc.Store, *statements)
        if varies(node.index, varying)
    }
    kept = {m: s for m, s in sizes.items() if isinstance(s, int) or m not in apart}
    return kept if len(kept) == len(sizes) else _indexed_alike(kept, statements, index)


def refuse_scattered(
    statements: Sequence[kc.Statement], own: Owned, varying: Collection[Name]
) -> None:
    """Where most of the work is to access arrays of points at other indices in each."""
    if not own:
        return
    accesses, operations = _work(statements, own, varying, 1)
    if accesses * WORK_PER_ACCESS > operations:
        raise NotVectorisable("points index arrays of their own differently")


def _work(
    statements: Sequence[kc.Statement],
    own: Owned,
    varying: Collection[Name],
    rounds: int,
) -> tuple[int, int]:
    """How often lanes access their elements one after the other, and how many other
    operations they do."""
    accesses = operations = 0
    for statement in statements:
        blocks = kc.blocks_of(statement)
        often = rounds
        if isinstance(statement, kc.For | kc.While):
            known = statement.rounds if isinstance(statement, kc.For) else None
            often *= known if known is not None else USUAL_ROUNDS
        for block in blocks:
            inside = _work(block.statements, own, varying, often)
            accesses, operations = accesses + inside[0], operations + inside[1]
        for node in () if blocks else traverse.walk(statement):
            if isinstance(node, kc.Load | kc.Store) and node.memory in own:
                accesses += rounds * varies(node.index, varying)
            elif isinstance(node, kc.Operation):
                operations += rounds * (node.operator.result != types.I64)
    return accesses, operations


def has_scratch(own: Owned) -> bool:
    """Whether arrays of points are in scratch memory."""
    return any(not isinstance(size, int) for size in own.values())


def fitting(own: Owned, width: int) -> list[kc.Expression]:
    """What must hold for so many lanes to have room for arrays: fewer have longer ones,
    of elements of 32 bits or less."""
    found: list[tuple[kc.Expression, int]] = []
    for memory, length in own.items():
        if not isinstance(length, int):
            few = max(width, WIDTHS[-1] * memory.element.bits // 32)
            longest = LONGEST_SCRATCH * WIDTHS[0] // few
            if not any(alpha.alpha_equal(length, n) and m == longest for n, m in found):
                found.append((length, longest))
    return [length <= longest for length, longest in found]


def declare_in_lanes(
    k: CodeBuilder, sizes: Owned, width: int
) -> tuple[dict[kc.Memory, kc.Memory], Iterable[kc.Statement]]:
    """For each array the one that has `width` lanes, and what declares them."""
    found: dict[kc.Memory, kc.Memory] = {}
    declared: list[kc.Statement] = []
    for memory, count in sizes.items():
        found[memory] = memory
        if isinstance(count, int):
            name = k.names.fresh(memory.name.base)
            found[memory] = kc.Memory(name, memory.element, "private")
            lanes = Size.constant(count * width)
            declared.append(kc.DeclareArray(found[memory], lanes))
    return found, declared
