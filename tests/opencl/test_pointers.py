"""What kernels of the GPU schedule promise to the device's compiler: pointers that are
`restrict`, memory that is `const`, groups of one size."""

from __future__ import annotations

import re

import pytest

from minifut import stages
from minifut.errors import Source
from minifut.kernel_ir.reader import read_program
from minifut.opencl.pointers import unaliased_memories
from tests.opencl.texts import kernel_text

ENTRIES = {
    "scatter": """
entry main [n][k] (to: *[k]f32) (is: [n]i64) (xs: [n]f32) = scatter to is xs""",
    "histogram": """
entry main [n] (k: i64) (is: [n]i64) (xs: [n]f32): [k]f32 = hist (+) 0 k is xs""",
    "pairs": """
def best (a: f64, i: i64) (b, j) = if a > b then (a, i) else (b, j)
entry main [n] (k: i64) (is: [n]i64) (xs: [n]f64) =
  unzip (hist best (-f64.inf, -1) k is (zip xs (iota n)))""",
    "groups": """
entry main [n][m] (xs: [n][m]f32) =
  map (\\row -> let a = scan (+) 0 row
               in map2 (\\i x -> x + a[m - 1 - i]) (iota m) a) xs""",
    "product": """
entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) =
  map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) (transpose b)) a""",
    "scan": """
entry main [n] (xs: [n]i32) = (scan (+) 0 xs, reduce (+) 0 xs)""",
}
EXCHANGED = {
    ("histogram", "main_hist_local"): {"replicated"},
    ("histogram", "main_hist_global"): {"replicated"},
    ("pairs", "main_hist_local"): {"words", "words_1", "words_2"},
    ("pairs", "main_hist_global"): {"words", "words_1", "words_2"},
    ("scan", "main_scan_look_back"): {"published"},
    ("scan", "main_scan_carry"): {"scanned"},
    ("groups", "main_scan_look_back"): {"published"},
    ("groups", "main_scan_carry"): {"scanned"},
}
"""what work-items update by atomics, or write for others that read it behind barriers"""
OVERLAPPING = re.compile(r"main_(replicate|hist_words|begin_scan)(_\d)?")
"""copies and fills of the host, whose memories may be parts of the same array"""
POINTER = re.compile(r"__global (const )?\w+ \*(restrict)? ?(\w+)")


def texts_of(source: str) -> dict[str, str]:
    """The texts of all kernels by name."""
    checked = stages.check(Source("program.fut", source))
    core = stages.to_schedule(stages.to_kernels(stages.to_core(checked)), "gpu")
    kernels = stages.to_kernel_code(core, "gpu").kernels
    return {kernel.name: kernel_text(kernel) for kernel in kernels}


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_pointers_are_restrict_where_nothing_is_exchanged(name: str) -> None:
    """And `const` where they are not written."""
    for kernel, text in texts_of(ENTRIES[name]).items():
        head = text[text.index("__kernel") :].split(")\n{")[0]
        pointers = list(POINTER.finditer(head))
        assert all(p[1] for p in pointers if p[3] in ("a", "b", "is", "xs")), kernel
        plain = {p[3] for p in pointers if not p[2]} - {"failure"}
        kernel = kernel.removesuffix("_narrow")
        if not OVERLAPPING.fullmatch(kernel):
            assert plain == EXCHANGED.get((name, kernel), set()), kernel


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_all_kernels_have_groups_of_one_size(name: str) -> None:
    """None lacks the attribute: each launch builds its kernel for the group it gives."""
    texts = texts_of(ENTRIES[name])
    assert texts
    for text in texts.values():
        assert re.search(r"reqd_work_group_size\(\w+, \w+, 1\)\)\)\n__kernel", text)


EXCHANGE = """schedule gpu
kernel exchange (
  buffer xs: global f32,
  buffer ys: global f32 written
) groups (8) fresh {
  let lane: i64 = i64(get_local_id(0i32))
  store ys[lane] = xs[lane]
  barrier both
  let other: f32 = ys[lane]
  store ys[lane] = other
}
"""


@pytest.mark.parametrize(
    "text, unaliased",
    [
        (EXCHANGE, ["xs"]),
        (EXCHANGE.replace("  barrier both\n", ""), ["xs", "ys"]),
        (EXCHANGE.replace(" fresh", ""), []),
    ],
)
def test_memory_that_is_read_behind_barriers_is_not_restrict(
    text: str, unaliased: list[str]
) -> None:
    (kernel,) = read_program(text).kernels
    assert sorted(name.base for name in unaliased_memories(kernel)) == unaliased
