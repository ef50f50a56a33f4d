"""Leave scalars on the device that only kernels need.

    launch sum(xs, total)                  launch sum(xs, total)
    let t: f32 = read total[0]
    drop (total)                     →
    let s: f32 = sqrt_f32(t)               launch scale(xs, total, ys)
    launch scale(xs, s, ys)                drop (total)

A read waits for all commands before it, and the cores are idle until the host has
enqueued the next ones. The kernel that takes the scalar loads it instead, and computes
what the host would have computed from it, so that the launches follow each other.

`plan.py` decides which scalars these are, `emit.py` changes host functions and kernels.
By `join.py` and `carry.py`, scalars that branches give, and that loops pass on, may be
among them; whether a loop goes on may be the only one that the host reads of it. What
is a result too is read at the end (`postpone.py`).
"""

from __future__ import annotations

from collections import Counter

from minifut.ir.node import replace
from minifut.ir.search import nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.program import KernelProgram
from minifut.kernel_passes.device_scalars.carry import carry_scalars
from minifut.kernel_passes.device_scalars.copies import with_copying_kernels
from minifut.kernel_passes.device_scalars.emit import Emitter
from minifut.kernel_passes.device_scalars.join import join_reads
from minifut.kernel_passes.device_scalars.plan import plans_of
from minifut.kernel_passes.device_scalars.postpone import postpone_reads
from minifut.names import NameSource


def keep_scalars_on_device(
    program: KernelProgram, names: NameSource, conditions: bool = False
) -> KernelProgram:
    """Leave scalars on the device that only kernels need.

    With `conditions` kernels also compute whether loops go on.
    """
    if conditions:
        program = with_copying_kernels(program, names)
    kernels = {kernel.name: kernel for kernel in program.kernels}
    launches = _launches(program)
    functions = []
    for function in program.functions:
        function = postpone_reads(function, kernels, names)
        function, joined = join_reads(function, names)
        carried = carry_scalars(function, joined, kernels, names, conditions)
        kernels |= {kernel.name: kernel for kernel in carried.kernels}
        function = carried.function
        plans = plans_of(function, kernels, carried.carried_memories)
        emitter = Emitter(plans, kernels, launches, names)
        body = emitter.block(function.body) if plans else function.body
        functions.append(replace(function, body=body))
    changed = replace(program, functions=tuple(functions))
    if changed == program and tuple(kernels.values()) == program.kernels:
        return program
    launched = _launches(changed).keys()
    kept = tuple(kernel for kernel in kernels.values() if kernel.name in launched)
    return replace(changed, kernels=kept)


def _launches(program: KernelProgram) -> Counter[str]:
    """How often each kernel is launched, by name."""
    hosts = [f.body for f in (*program.functions, program.constants) if f is not None]
    return Counter(n.kernel for n in nodes_of(kc.Launch, *hosts))
