"""Loops that go all over memory ask in time for what tells them where.

    for (i ..) {                          for (i ..) {
        if (is[i] < n)             →          PREFETCH(is + i + 128);
            ys[is[i]] = xs[i];                PREFETCH(xs + i + 256);
    }                                         if (is[i] < n) ys[is[i]] = xs[i]; }

A core looks some hundred instructions ahead. Elements that lie side by side it mostly
finds there before it needs them; but while it waits for stores and loads all over
memory it looks no further, and each line of `is` is asked for too late. Measured on
PoCL with 2^24 keys: a histogram into 8192 bins takes 0.4 of the time, one into 2^20
bins 0.6, reading elements in the order of an array of indices 0.7 to 0.9.

Not done in loops that the compiler of the device may make vectors of, in those that
have loops inside, and in short ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minifut.ir.sizes import ZERO, Size
from minifut.ir.traverse import walk
from minifut.kernel_code.builder import CodeBuilder
from minifut.kernel_code.rule import CodeSite, Told, code_rule
from minifut.kernel_ir import nodes as kc
from minifut.names import Name
from minifut.rewrite.rule import Declined

AHEAD = 1024
"""bytes from what is read to what is asked for"""
SHORT = 64
"""rounds of a loop that ends before what is asked for is there"""
MOST = 8
"""streams that a loop asks for"""


def ask_ahead_in(k: CodeBuilder) -> None:
    """Apply the rule to all loops of a kernel that is otherwise done."""
    k.change_loops(lambda loop: _asking(k, loop))


def _asking(k: CodeBuilder, loop: kc.For) -> kc.Statement | None:
    inside = (node for s in loop.body.statements for node in walk(s))
    if loop.parallel or any(isinstance(n, kc.For | kc.While) for n in inside):
        return None
    outcome = ask_ahead(loop, CodeSite(k))
    return outcome[0] if isinstance(outcome, tuple) else None


def _told(loop: kc.For, site: CodeSite) -> Told:
    asked = streams(loop.body.statements, loop.variable)[:MOST]
    names = dict.fromkeys(each.memory.name.base for each in asked)
    return Told((f"{', '.join(names)}, {AHEAD} bytes before they are read",))


@code_rule(tell=_told)
def ask_ahead(
    loop: kc.Statement, site: CodeSite
) -> tuple[kc.Statement, ...] | Declined | None:
    """Prefetch what a loop reads one element after the other.

    before:
        given (const long *is, const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            long at = is[i];
            if (at >= 0 && at < n) {
                ys[at] = xs[i];
            }
        }
    after:
        for (long i = 0L; i < n; i++) {
            PREFETCH(is + (i + 128));
            PREFETCH(xs + (i + 256));
            long at = is[i];
            if ((at >= 0L) && (at < n)) {
                ys[at] = xs[i];
            }
        }
    declines: it reads nothing one element after the other
        given (const long *is, float *ys, long n)
        for (long i = 0; i < n; i++) {
            ys[is[i * 2]] = 1.0f;
        }
    """
    if not isinstance(loop, kc.For) or not _wanders(loop.body.statements):
        return None
    body = loop.body.statements
    if loop.rounds is not None and loop.rounds < SHORT:
        return Declined(f"it is over after {loop.rounds} rounds")
    asked = streams(body, loop.variable)[:MOST]
    if not asked:
        return Declined("it reads nothing one element after the other")
    return (replace(loop, body=kc.Block((*asked, *body))),)


def streams(body: Sequence[kc.Statement], index: kc.Variable) -> list[kc.Prefetch]:
    """What code reads at an index that grows by ones, asked for ahead of it."""
    nodes = [node for statement in body for node in walk(statement)]
    declared = {n.variable for n in nodes if isinstance(n, kc.Declare)}
    own = {v.name for v in declared if isinstance(v, kc.Variable)}
    own |= {n.index for n in nodes if isinstance(n, kc.Unrolled)} | {index.name}
    found: dict[tuple[Name, Size], kc.Prefetch] = {}
    for load in nodes:
        place = _size(load.index) if isinstance(load, kc.Load) else None
        if place is None or load.memory.space != "global":
            continue
        rest = place - Size.of(index.name)
        if rest.names().isdisjoint(own):
            # of neighbours one is enough
            where = rest - rest.substitute(dict.fromkeys(rest.names(), ZERO))
            ahead = place + AHEAD // load.memory.element.bytes
            asked = kc.Prefetch(load.memory, kc.SizeValue(ahead))
            found.setdefault((load.memory.name, where), asked)
    return list(found.values())


def _size(index: kc.Expression) -> Size | None:
    match index:
        case kc.SizeValue(size, _):
            return size
        case kc.Variable(name, _):
            return Size.of(name)
    return None


def _wanders(body: Sequence[kc.Statement]) -> bool:
    """Whether it reads or writes at places that it has read."""
    told: set[Name] = set()
    for node in (node for statement in body for node in walk(statement)):
        match node:
            case kc.Load() | kc.Store() if _is_told(node.index, told):
                return True
            case kc.Declare(kc.Variable(name, _), kc.Expression() as exp) if _is_told(
                exp, told
            ):
                told.add(name)
            case kc.Assign(kc.Variable(name, _), exp) if _is_told(exp, told):
                told.add(name)
    return False


def _is_told(exp: kc.Expression, told: set[Name]) -> bool:
    """Whether an expression has anything of what was read."""
    for node in walk(exp):
        match node:
            case kc.Load():
                return True
            case kc.Variable(name, _) if name in told:
                return True
            case kc.SizeValue(size, _) if not size.names().isdisjoint(told):
                return True
    return False
