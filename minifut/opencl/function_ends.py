"""The end of a host function: what computes scalars from results of the device.

    launch ..                                launch ..
    let t: f64 = read total[0]         →     n = run.end(1, f_end, total, count)
    drop (total)
    let n: f64 = div_f64(t, count)           f_end: t = read total[0]; n = t / count

It is printed as a function of its own. What records a call (runtime/recorded.py) calls
it after the recorded launches, without the rest of the host function.
"""

from __future__ import annotations

from minifut.kernel_ir import nodes as kc


def split_end(block: kc.HostBlock) -> tuple[kc.HostBlock, list[kc.HostAssign]]:
    """The statements before the last reads, and from there on those that give values;
    none if these are no more than reads."""
    statements = block.statements
    place = len(statements)
    while place and isinstance(statements[place - 1], kc.HostAssign | kc.Drop):
        place -= 1
    while place < len(statements) and not _reads(statements[place]):
        place += 1
    end = [s for s in statements[place:] if isinstance(s, kc.HostAssign)]
    if all(map(_reads, end)):
        return block, []
    return kc.HostBlock(statements[:place]), end


def _reads(statement: kc.HostStatement) -> bool:
    if not isinstance(statement, kc.HostAssign):
        return False
    return isinstance(statement.exp, kc.ReadElement)
