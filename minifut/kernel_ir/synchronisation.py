"""Statements by which work-items synchronise, agree, share work and fail."""

from __future__ import annotations

from minifut.ir.node import node
from minifut.kernel_ir.expressions import Expression, Memory, Variable


@node
class Barrier:
    """All work-items of the group synchronise; `spaces` is "local", "global" or
    "both"."""

    printed = "barrier {spaces}"
    spaces: str = "local"


@node
class Shuffle:
    """`target` = the `word` of a work-item of the subgroup, if there is that one:
    `width` neighbouring ones, a power of two, which all execute this together. `lane`
    is its number ("idx"), or how many it is before ("up") or behind ("down") this one.
    It orders no accesses to memory."""

    printed = "shuffle {mode} {target} = {word} of {lane} within {width}"
    mode: str
    target: Variable
    word: Expression
    lane: Expression
    width: Expression


@node
class HideValue:
    """No fact that the device's compiler has about the variable's value holds from
    here on: an optimisation barrier."""

    printed = "hide {variable}"
    variable: Variable


@node
class UniformExit:
    """A barrier behind code that may have failed; the whole group ends if it has."""

    printed = "uniform_exit"


@node
class AtomicUpdate:
    """`old = function(&memory[index], operands...)`, such as atomic_add, in one step.

    The type of the operands, an integer of 32 or 64 bits, is that of the memory; a
    float may be added that gives no `old`.
    """

    printed = "atomic {function} {memory}[{index}]{operands}<? gives {old}>"
    function: str
    memory: Memory
    index: Expression
    operands: tuple[Expression, ...]
    old: Variable | None = None


@node
class DetectLastGroup:
    """`last = all other groups of this launch came here before`: only one group is the
    last. What others published by atomics before is then there for it."""

    printed = "last_block {last} of {groups}"
    last: Variable
    groups: Expression


@node
class FetchWork:
    """`group = the next number that no work-item of this launch has taken`. Each of the
    `workers` begins with its own number, and takes until there are no more `groups`."""

    printed = "fetch_group {group} of {groups} for {workers}"
    group: Variable
    groups: Expression
    workers: Expression


@node
class Fail:
    """Record failure `number` with up to eight values, unless one is recorded already,
    and leave: return, or jump to `label` where barriers follow. With a `base`, the
    number is one of those from there on."""

    printed = "fail {number}<? + {base}> {values}<? goto {label}>"
    number: int
    values: tuple[Expression, ...]
    label: str | None = None
    base: Variable | None = None


@node
class Label:
    """Where `Fail` jumps to: directly precedes a barrier."""

    printed = "label {name}"
    name: str
