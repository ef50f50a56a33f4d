"""Barriers are where work-items exchange values, and nowhere else.

Random kernels of parallel regions in uniform loops and branches are executed as traces
of accesses: no two accesses to a memory that depend on each other may be in one trace
without a barrier between them, and without any of the barriers there are some.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.search import classes_in
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.verify import verify_kernel
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.insert_barriers import insert_barriers
from minifut.lowering.pipelines import to_kernel_code
from minifut.names import NameSource
from tests.kernel_ir.reading import read_kernels

MEMORIES = ("s", "t", "u")
HEAD = """kernel k (
  scalar n: i64,
  local_buffer s: local i32 count 16,
  local_buffer t: local i32 count 16,
  local_buffer u: local i32 count 16
) groups (16) {
let local_id: i64 = get_local_id(0i32)
let sum: i32 = 0i32
"""


def random_statements(chance: random.Random, depth: int) -> str:
    """Regions that read or write a memory, in loops and branches."""
    found = []
    for _ in range(chance.randint(1, 3)):
        kind = chance.random()
        memory = chance.choice(MEMORIES)
        if kind < 0.2 and depth:
            inner = random_statements(chance, depth - 1)
            found.append(f"for i: i64 = 0i64 to n by 1i64 {{ {inner} }}")
        elif kind < 0.35 and depth:
            then, other = (random_statements(chance, depth - 1) for _ in range(2))
            found.append(f"if (n < 3i64) {{ {then} }} else {{ {other} }}")
        elif kind < 0.7:
            found.append(f"parallel_region {{ store {memory}[local_id] = 1i32 }}")
        else:
            found.append(f"parallel_region {{ sum = (sum + {memory}[0i64]) }}")
    return "\n".join(found)


def inserted(text: str) -> kc.Kernel:
    """A kernel with barriers."""
    (kernel,) = read_kernels(text)
    verify_kernel(kernel)
    editor = KernelEditor(kernel, NameSource())
    insert_barriers(editor)
    made = editor.edited()
    verify_kernel(made)
    assert not any(isinstance(node, kc.ParallelRegion) for node in walk(made.body))
    return made


def trace(
    statements: tuple[kc.Statement, ...], chance: random.Random
) -> Iterator[kc.Barrier | tuple[str, bool]]:
    """Barriers and accesses in one execution; an access writes or not."""
    for statement in statements:
        match statement:
            case kc.Barrier():
                yield statement
            case kc.For(body=body):
                for _ in range(chance.randint(0, 3)):
                    yield from trace(body.statements, chance)
            case kc.Branch(_, then, otherwise):
                assert otherwise is not None
                side = chance.choice((then, otherwise))
                yield from trace(side.statements, chance)
            case kc.Store(memory):
                yield memory.name.base, True
            case kc.Assign():
                for node in walk(statement):
                    if isinstance(node, kc.Load):
                        yield node.memory.name.base, False


def unordered(kernel: kc.Kernel, without: kc.Barrier | None = None) -> bool:
    """Whether dependent accesses meet in some execution, if one barrier is not there."""
    for seed in range(40):
        chance = random.Random(seed)
        pending: set[tuple[str, bool]] = set()
        for event in trace(kernel.body.statements, chance):
            if isinstance(event, kc.Barrier):
                if event is not without:
                    pending.clear()
                continue
            memory, writes = event
            if (memory, True) in pending or (writes and (memory, False) in pending):
                return True
            pending.add(event)
    return False


@pytest.mark.parametrize("seed", range(60))
def test_dependent_accesses_are_ordered_and_no_barrier_is_idle(seed: int) -> None:
    body = random_statements(random.Random(seed), 3)
    kernel = inserted(f"{HEAD}{body}\n}}")
    assert not unordered(kernel), body
    barriers = [n for n in walk(kernel.body) if isinstance(n, kc.Barrier)]
    # what a loop leaves pending depends on where its barriers are, so that one of them
    # may become idle by another that follows from it
    idle = [b for b in barriers if not unordered(kernel, b)]
    assert len(idle) <= len(barriers) // 3, body


def test_single_work_items_need_no_barrier() -> None:
    body = "parallel_region { store t[local_id] = 1i32 } sum = t[0i64] }"
    kernel = inserted(HEAD.replace("groups (16)", "groups (1)") + body)
    assert kc.Barrier not in classes_in(kernel.body)


COUNTS = {
    # of a tree: before it, in each step of four lanes, and behind it
    "entry total (xs: []f32) = f32.sum xs": {"total_reduce": (3, 2)},
    "entry prefixes (xs: []f32) = scan (+) 0 xs": {
        "prefixes_scan": (5, 4),
        "prefixes_scan_look_back": (8, 6),
        "prefixes_scan_carry": (3, 2),
    },
    "entry bins (is: []i64) = hist (+) 0i32 100 is (map (const 1) is)": {
        "bins_hist_local": (3, 3),
        "bins_hist_global": (0, 0),
    },
    "entry turned [n][m] (xss: [n][m]f32) = transpose xss": {
        "turned_transpose": (1, 1)
    },
}
"""Barriers of kernels by name, without and with shuffles, those in loops once; those of
tiled products are in tests/lowering"""


def count_barriers(block: kc.Block, shuffles: bool) -> int:
    """The barriers of a kernel for devices without or with shuffles."""
    count = 0
    for statement in block.statements:
        blocks = kc.blocks_of(statement)
        if isinstance(statement, kc.StaticIf):
            blocks = (statement.then,) if shuffles else (statement.otherwise,)
        count += isinstance(statement, kc.Barrier)
        count += sum(count_barriers(block, shuffles) for block in blocks)
    return count


@pytest.mark.parametrize("text", COUNTS)
def test_kernels_have_few_barriers(text: str) -> None:
    core = stages.to_core(stages.check(Source("a.fut", text)))
    kernels = to_kernel_code(stages.to_kernels(core), "gpu").kernels
    found = {
        kernel.name: tuple(count_barriers(kernel.body, s) for s in (False, True))
        for kernel in kernels
    }
    assert COUNTS[text].items() <= found.items()
