"""Shuffles: words of other work-items of a subgroup, without memory.

SHUFFLE_32(idx, target, word, lane)     target = the word of that lane of the subgroup
SHUFFLE_32(up, target, word, count)     .. of so many lanes before; down: behind

NVIDIA                      PTX's shfl.sync
AMD                         ds_bpermute, which permutes by the network of local memory
cl_khr_subgroup_shuffle     sub_group_shuffle, in a kernel that requires the size of
                            subgroups (cl_intel_required_subgroup_size)
elsewhere                   local memory between two barriers, so that simulators and
                            CPUs execute the same kernels

A word of 64 bits is two of 32. The width of subgroups is the macro SUBGROUP, a power of
two; of lanes only the low bits count.
"""

from __future__ import annotations

from string import Template

MEMORY = "SHUFFLE_MEMORY"
"""at the beginning of a kernel that shuffles"""
ATTRIBUTE = "REQUIRE_SUBGROUP"
"""before it"""

_OF_NVIDIA = Template("""\
static uint minifut_shuffle_$mode(uint word, uint lane)
{
    uint found;
    __asm__ volatile("shfl.sync.$mode.b32 %0, %1, %2, %3, 0xffffffff;"
                     : "=r"(found)
                     : "r"(word), "r"(lane), "n"((32 - SUBGROUP) << 8 | $clamp));
    return found;
}
""")
_CLAMPS = {"idx": 31, "up": 0, "down": 31}

SHUFFLE_TEXT = f"""\
#if defined(__NVPTX__) || defined(cl_nv_pragma_unroll)
{"".join(_OF_NVIDIA.substitute(mode=m, clamp=c) for m, c in _CLAMPS.items())}\
#define SHUFFLED(mode, word, lane) minifut_shuffle_##mode(word, lane)
#else
#define LANE_idx(lane) (lane)
#define LANE_up(lane) ((uint)get_local_id(0) - (lane))
#define LANE_down(lane) ((uint)get_local_id(0) + (lane))
#if defined(__AMDGCN__)
static uint minifut_shuffle(uint word, uint lane)
{{
    uint first = (uint)get_local_id(0) & ~(SUBGROUP - 1u);
    uint from = first + (lane & (SUBGROUP - 1u));
    return (uint)__builtin_amdgcn_ds_bpermute((int)(4 * from), (int)word);
}}
#elif defined(cl_khr_subgroup_shuffle) && defined(cl_intel_required_subgroup_size)
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
static uint minifut_shuffle(uint word, uint lane)
{{
    return sub_group_shuffle(word, lane & (SUBGROUP - 1u));
}}
#if SUBGROUP > 1
#define REQUIRE_SUBGROUP __attribute__((intel_reqd_sub_group_size(SUBGROUP)))
#endif
#else
#define SHUFFLE_MEMORY __local ulong minifut_words[WORK_ITEMS];
#define SHUFFLE_64(mode, target, word, lane) {{ \\
    uint minifut_own = (uint)get_local_id(0); \\
    uint minifut_from = LANE_##mode(lane) & (SUBGROUP - 1u); \\
    minifut_from |= minifut_own & ~(SUBGROUP - 1u); \\
    minifut_words[minifut_own] = word; \\
    barrier(CLK_LOCAL_MEM_FENCE); \\
    target = minifut_words[min(minifut_from, WORK_ITEMS - 1u)]; \\
    barrier(CLK_LOCAL_MEM_FENCE); }}
#define SHUFFLE_32(mode, target, word, lane) SHUFFLE_64(mode, target, word, lane)
#endif
#define SHUFFLED(mode, word, lane) minifut_shuffle(word, LANE_##mode(lane))
#endif
#ifndef SHUFFLE_64
#define SHUFFLE_MEMORY
#define SHUFFLE_32(mode, target, word, lane) target = SHUFFLED(mode, word, lane)
#define SHUFFLE_64(mode, target, word, lane) target = as_ulong((uint2)( \\
    SHUFFLED(mode, (uint)(word), lane), SHUFFLED(mode, (uint)((word) >> 32), lane)))
#endif
#ifndef REQUIRE_SUBGROUP
#define REQUIRE_SUBGROUP
#endif
"""
