"""SOACs that call recursive functions become loops of the host.

    let ys: [n]i64 = map(n, {xs}, \\x -> apply f(x))        (f calls itself)
  →
    loop (ys: [n]i64 = scratch) for i < n do
      let x: i64 = xs[i]
      let y: i64 = apply f(x)
      in {ys with [i] = y}

Kernels cannot recurse, the host can: so it executes the points one after the other.
What the functions themselves hold of parallelism, and what else is in the body, is
still found by later passes and runs in kernels.
"""

from __future__ import annotations

from minifut.ir.calls import call_graph, calls_in, reaching, recursive
from minifut.ir.core import Program
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.names import NameSource
from minifut.passes.sequentialise import sequentialise_all


def loop_over_recursion(program: Program, names: NameSource) -> Program:
    """Turn SOACs that call recursive functions into loops of the host."""
    graph = call_graph(program)
    deep = reaching(graph, recursive(graph))
    if not deep:
        return program

    def recurses(exp: object) -> bool:
        return isinstance(exp, SOAC_EXPRESSIONS) and not deep.isdisjoint(calls_in(exp))

    return sequentialise_all(program, names, recurses)
