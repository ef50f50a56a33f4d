"""Macros: what all kernels are compiled after, and what stands for parameters."""

from __future__ import annotations

from minifut.kernel_ir import nodes as kc

PRELUDE = """\
#pragma OPENCL FP_CONTRACT OFF
#if defined(__clang__) && __clang_major__ >= 11
#define REASSOCIATE _Pragma("clang fp reassociate(on) contract(fast)")
#define PARALLEL _Pragma("clang loop vectorize(assume_safety)")
#define SCALAR _Pragma("clang loop vectorize(disable)")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define REASSOCIATE
#define PARALLEL
#define SCALAR
#define ROLLED
#endif
#ifdef __AVX512F__
#define NARROW SCALAR
#else
#define NARROW PARALLEL
#endif
#if defined(__clang__)
#define STREAM(value, place) __builtin_nontemporal_store(value, place)
#define RARELY(condition) __builtin_expect(condition, 0)
#else
#define STREAM(value, place) (*(place) = (value))
#define RARELY(condition) (condition)
#endif
#ifdef POCL_DEVICE_ADDRESS_BITS
#define barrier(fences) barrier(fences); __asm__ volatile("")
#define GROUP ((long)get_local_size(0))
#define KEEP(x) { __typeof__(x) kept = x; __asm__ volatile("" : "+m"(kept)); x = kept; }
#define LAST __asm__ volatile("");
#define ROUNDS(type, i, start, bound, step, extent) \
  for (type i = start, i##_DONE = 0; i##_DONE < (extent); \
       i += step, i##_DONE += step) if (i < (bound))
#else
#define GROUP WORK_ITEMS
#define KEEP(x)
#define LAST
#define ROUNDS(type, i, start, bound, step, extent) \
  for (type i = start; i < (bound); i += step)
#if defined(__NVPTX__) || defined(cl_nv_pragma_unroll)
#define UNROLL _Pragma("unroll 2")
#endif
#endif
#if defined(POCL_DEVICE_ADDRESS_BITS) && (defined(__AVX512F__) || !defined(__AVX2__))
#define PREFETCH(place) __builtin_prefetch((const void *)(ulong)(place))
#else
#define PREFETCH(place) ((void)0)
#endif
#ifdef POCL_DEVICE_ADDRESS_BITS
#define PREFETCH_ROW(place) __builtin_prefetch((const void *)(ulong)(place))
#else
#define PREFETCH_ROW(place) ((void)0)
#endif
"""
"""What all kernels are compiled after. PoCL divides the code of work-items at barriers
and loses parts of it in these cases: where a condition that is known before is
right behind a barrier, so something must be between; where a branch is right
before the end, at which all synchronise as well (LAST); where a loop or branch before a
barrier comes down to a choice between two constants, which all work-items are given
alike then (KEEP); where some leave a loop before others (ROUNDS), whose stores are made
for them, too; and around barriers in branches, where its first passes have made use
of how many work-items a group has."""


def macros_of(kernel: kc.Kernel) -> list[tuple[str, kc.BuildConstant]]:
    """The macro that stands for each build constant: `main.map_map.block_rows` is
    BLOCK_ROWS."""
    found: dict[str, kc.BuildConstant] = {}
    for constant in kernel.constants:
        last = constant.parameter.name.rpartition(".")[2]
        base = "".join(c if c.isascii() and c.isalnum() else "_" for c in last).upper()
        base = base if base[:1].isalpha() else f"SIZE_{base}"
        text, number = base, 1
        while text in found or text in MACROS:
            number += 1
            text = f"{base}_{number}"
        found[text] = constant
    return list(found.items())


WORK_ITEMS = "WORK_ITEMS"
"""the macro for the size of a group that a launch gives"""


GROUP = "GROUP"
"""the same as an expression of the code"""


MACROS = frozenset(
    {
        "REASSOCIATE",
        "PARALLEL",
        "SCALAR",
        "ROLLED",
        "NARROW",
        "STREAM",
        "KEEP",
        "LAST",
        "PREFETCH",
        "PREFETCH_ROW",
        "ROUNDS",
        "UNROLL",
        "LANE_idx",
        "LANE_up",
        "LANE_down",
        "SHUFFLED",
        "SHUFFLE_32",
        "SHUFFLE_64",
        "SHUFFLE_MEMORY",
        "REQUIRE_SUBGROUP",
    }
) | {WORK_ITEMS, GROUP, "RARELY"}
