"""Bodies of kernels are compiled once (PoCL 3.0).

PoCL makes three functions of a kernel, for two ways to launch it and to call it, and
inlines into each all that the kernel calls: its code is optimised and emitted three
times. What branches to an address is not inlined. So a kernel of groups of single
work-items becomes a function that may do so (it never does), which the kernel calls:

    __kernel void f(__global int *failure, long n)
    {
        long i = get_global_id(0); ..
    }
  →
    static void minifut_body_f(__global int *failure, long n, long minifut_id)
    {
        long i = minifut_id; ..
    }
    __kernel void f(__global int *failure, long n)
    {
        minifut_body_f(failure, n, get_global_id(0));
    }

Conditions: the body asks for nothing but its index, has no barrier, and declares no
memory of the group; functions that it calls ask for nothing. The widest vectors of a
processor are legal in the function, as they are in a kernel that asks for its index.
"""

from __future__ import annotations

import re

WIDEST = 512
"""bits of vectors that are legal in bodies"""
_KERNEL = re.compile(
    r"(__attribute__\(\(reqd_work_group_size\(1, 1, 1\)\)\)\n__kernel) void (\w+)\("
    r"([^)]*)\)\n\{\n(.*?)\n\}\n",
    re.DOTALL,
)
_QUESTION = re.compile(r"\bget_\w+\(")
_INDEX = re.compile(r"\bget_global_id\(0\)")
_OF_GROUPS = re.compile(r"\bbarrier\(|\b__local [^*;]*;|\bwork_group_|\bsub_group_")
_DIRECTIVE = re.compile(r"^#.*(?:\\\n.*)*$", re.MULTILINE)
_NAME = re.compile(r"(\w+)\s*$")
_BODY = """\
static __attribute__((noinline, min_vector_width({widest})))
void minifut_body_{name}({parameters},
        long minifut_id)
{{
    if (minifut_id < 0L) {{
        long nothing = 0L;
        __asm__ volatile("" : "+r"(nothing));
        goto *(&&minifut_end + nothing);
        minifut_end: return;
    }}
{body}
}}
{kernel} void {name}({parameters})
{{
    minifut_body_{name}({arguments}, get_global_id(0));
}}
"""


def compiled_once(text: str) -> str:
    """The program with the bodies of its kernels in functions of their own."""
    others = _DIRECTIVE.sub("", _KERNEL.sub("", text))
    if _QUESTION.search(others):
        return text
    return _KERNEL.sub(_with_own_body, text)


def _with_own_body(found: re.Match[str]) -> str:
    kernel, name, parameters, body = found.groups()
    asked = _INDEX.sub("minifut_id", body)
    if asked == body or _QUESTION.search(asked) or _OF_GROUPS.search(body):
        return found[0]
    names = (_NAME.search(each) for each in parameters.split(","))
    arguments = ", ".join(each[1] for each in names if each)
    return _BODY.format(
        kernel=kernel,
        name=name,
        parameters=parameters,
        body=asked,
        arguments=arguments,
        widest=WIDEST,
    )
