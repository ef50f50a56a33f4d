r"""Pass: the loop of a scan, or a map, and the loop that folds what it makes are one.

    loop (most, tops) for i < n do {.. tops with [i] = max most xs[i]}
    loop (fall) for j < n do {.. max fall (tops[j] - xs[j])}
  →
    loop (most, fall) for i < n do {let top = max most xs[i]  .. max fall (top - xs[i])}

The array between is neither stored nor read, and points that traverse a row go through
it once. Lanes that are rows traverse those of a loop that waits for itself in squares
(`kernel_passes.vectorise.row_squares`), which neither loop alone has reason to be.

A user's loop over what a map makes computes each element when it reads it:

    cs <- map (\x -> table[x]) xs                     (a loop)
    loop s for i < n do {.. cs[i] ..}
  →
    loop s for i < n do {let c = table[xs[i]]  ..}

That is for maps of cheap operations: others go in vectors, which such a loop does not.

Conditions: both loops are in a thread, have no loops inside, and have as many rounds;
the second reads the array at its own round only, nothing else reads it, and it
needs nothing else of the first; it is no map, whose rounds are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minifut.ir import core, scalar_table, scalars, scope, types
from minifut.ir.core import Atom, Body, Exp, Program, Stm
from minifut.ir.kernels import KernelBody
from minifut.ir.node import replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import free_names, map_children, substitute
from minifut.names import Name, NameSource
from minifut.passes.simplify.dead_code import remove_dead_code_in
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace


def join_loops(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Fold what a loop of a thread scans in the same loop."""
    derivation = None if trace is None else Derivation(trace, declined=False)
    context = StatementContext(
        names, scope.scope_of(program), {}, derivation=derivation
    )

    def outside(node: Any) -> Any:
        return inside(node) if isinstance(node, KernelBody) else below(node, outside)

    def inside(node: Any) -> Any:
        node = below(node, inside)
        return _joined(node, context) if isinstance(node, Body | KernelBody) else node

    def below(node: Any, change: Any) -> Any:
        return map_children(node, change) if contains(node, core.Loop) else node

    made: Program = outside(program)
    return made


def _joined(body: Any, context: StatementContext) -> Any:
    """The body with each loop joined with the one that makes its array."""
    statements: tuple[Stm, ...] = body.statements
    loops = [at for at, s in enumerate(statements) if isinstance(s.exp, core.Loop)]
    if len(loops) < 2:
        return body
    needed = free_names(replace(body, statements=()))
    behind: dict[int, set[Name]] = {}
    for at in reversed(range(len(statements))):
        if at in loops:
            behind[at] = needed
        needed = needed | free_names(statements[at])
    for at in loops[1:]:
        above, below = statements[:at], statements[at + 1 :]
        place = replace(
            context,
            definitions={p.name: s for s in above for p in s.pattern},
            needed=frozenset(behind[at]),
        )
        outcome = join_loop_with_producer(statements[at], place)
        if isinstance(outcome, tuple):
            again = {p.name for s in outcome for p in s.pattern}
            kept = [s for s in above if again.isdisjoint(p.name for p in s.pattern)]
            late = [s for s in kept if not again.isdisjoint(free_names(s))]
            early = [s for s in kept if s not in late]
            made = replace(body, statements=(*early, *outcome, *late, *below))
            return _joined(remove_dead_code_in(made), context)
    return body


@rule(core.Loop)
def join_loop_with_producer(statement: Stm, context: StatementContext) -> Outcome:
    r"""Do in each round of a loop that makes an array what another one does with the
    element.

    before:
        given (n: i64, xs: [n]i32)
        let made: [n]i32 = scratch(i32, [n])
        let (most: i32, tops: [n]i32) = loop (m: i32 = 0i32, a: [n]i32 = made)
            for i: i64 < n do {
          let x: i32 = xs[i]
          let top: i32 = max_i32(m, x)
          let b: [n]i32 = a with [i] = top
          return top, b
        }
        #[reduction] let fall: i32 = loop (f: i32 = 0i32) for j: i64 < n do {
          let t: i32 = tops[j]
          let y: i32 = xs[j]
          let d: i32 = sub_i32(t, y)
          return max_i32(f, d)
        }
        return fall
    after:
        let (most: i32, fall: i32) = loop (m: i32 = 0i32, f: i32 = 0i32)
            for i: i64 < n do {
          let x: i32 = xs[i]
          let top: i32 = max_i32(m, x)
          let t: i32 = top
          let y: i32 = xs[i]
          let d: i32 = sub_i32(t, y)
          let g: i32 = max_i32(f, d)
          return top, g
        }
        return fall
    declines: it alone reads
        like before, with
        return fall => return fall, tops
    declines: it alone reads
        like before, with
        tops[j] => tops[0i64]
    before:
        given (n: i64, xs: [n]u8, table: [256]u32)
        let made: [n]u32 = scratch(u32, [n])
        #[map] let ys: [n]u32 = loop (a: [n]u32 = made) for i: i64 < n do {
          let x: u8 = xs[i]
          let at: i64 = convert_u8_i64(x)
          let y: u32 = table[at]
          return a with [i] = y
        }
        let hash: u32 = loop (s: u32 = 0u32) for j: i64 < n do {
          let t: u32 = ys[j]
          let h: u32 = shl_u32(s, 5u32)
          return xor_u32(h, t)
        }
        return hash
    after:
        let hash: u32 = loop (s: u32 = 0u32) for i: i64 < n do {
          let x: u8 = xs[i]
          let at: i64 = convert_u8_i64(x)
          let y: u32 = table[at]
          let t: u32 = y
          let h: u32 = shl_u32(s, 5u32)
          return xor_u32(h, t)
        }
        return hash
    """
    second = statement.exp
    if not isinstance(second, core.Loop) or not isinstance(second.form, core.ForLoop):
        return None
    if "map" in statement.attributes or "scatter" in statement.attributes:
        return Declined("its rounds are independent")
    read = {index.array for index in nodes_of(core.Index, second.body)}
    makers = {
        id(maker): maker
        for name in read
        if (maker := context.definitions.get(name)) is not None
        and isinstance(maker.exp, core.Loop)
    }
    for maker in makers.values():
        joined = _one_loop(maker, statement, context)
        if joined is not None:
            return (joined,)
    return Declined("no loop with as many rounds makes an array that it alone reads")


def _one_loop(maker: Stm, statement: Stm, context: StatementContext) -> Stm | None:
    first, second = maker.exp_of(core.Loop), statement.exp_of(core.Loop)
    if not isinstance(first.form, core.ForLoop) or not isinstance(
        second.form, core.ForLoop
    ):
        return None
    if (first.form.bound, first.form.type) != (second.form.bound, second.form.type):
        return None
    if any(contains(e.body, core.Loop | core.Assert) for e in (first, second)):
        return None
    if maker.attributes and (statement.attributes or not _is_cheap_map(maker)):
        return None
    made = {p.name for p in maker.pattern}
    above = list(dict.fromkeys(context.definitions.values()))
    between = above[above.index(maker) + 1 :]
    elements = {
        array: element
        for array, element in _elements(maker).items()
        if array not in context.needed | free_names(Body(tuple(between), ()))
    }
    if not elements or not _may_move(maker, statement, between, context):
        return None
    index = second.form.index
    body = substitute(second.body, {index: first.form.index})
    body = _with_elements(body, elements, first.form.index)
    if not made.isdisjoint((*free_names(body), *second.initial)):
        return None
    kept = [n for n, p in enumerate(maker.pattern) if p.name not in elements]
    dropped = {first.body.result[n] for n in range(len(maker.pattern)) if n not in kept}
    statements = [
        s
        for s in first.body.statements
        if dropped.isdisjoint(p.name for p in s.pattern)
    ]
    results = tuple(first.body.result[n] for n in kept) + body.result
    exp = core.Loop(
        tuple(first.parameters[n] for n in kept) + second.parameters,
        tuple(first.initial[n] for n in kept) + second.initial,
        first.form,
        Body((*statements, *body.statements), results),
    )
    pattern = tuple(maker.pattern[n] for n in kept) + statement.pattern
    return replace(statement, pattern=pattern, exp=exp, attributes=())


def _is_cheap_map(maker: Stm) -> bool:
    """Whether a loop is a map that is no faster in vectors than what it reads."""
    return maker.attributes == ("map",) and all(
        scalars.operator_cost(op.operator) is scalar_table.OperatorCost.ADDITION
        for op in nodes_of(core.ScalarOp, maker.exp)
    )


def _elements(maker: Stm) -> dict[Name, Atom]:
    """The arrays of scalars that a loop makes element by element, with the value of the
    element of a round."""
    loop = maker.exp_of(core.Loop)
    assert isinstance(loop.form, core.ForLoop)
    updates = {
        s.pattern[0].name: s.exp
        for s in loop.body.statements
        if isinstance(s.exp, core.Update)
    }
    found: dict[Name, Atom] = {}
    for bound, own, result in zip(
        maker.pattern, loop.parameters, loop.body.result, strict=True
    ):
        update = updates.get(result) if isinstance(result, Name) else None
        ways = {own.name, result}
        others = [
            s.exp
            for s in loop.body.statements
            if not ways.isdisjoint(free_names(s.exp))
        ]
        if (
            update is not None
            and isinstance(bound.type, types.ArrayType)
            and len(bound.type.shape) == 1
            and update.slice == (loop.form.index,)
            and update.array == own.name
            and others == [update]
            and loop.body.result.count(result) == 1
        ):
            found[bound.name] = update.value
    return found


def _may_move(
    maker: Stm, statement: Stm, between: Iterable[Stm], context: StatementContext
) -> bool:
    """Whether the first loop may run as late as the second, which changes no array that
    exists before."""
    made = {p.name for p in maker.pattern}
    for other in between:
        if contains(other, core.Update | core.Loop | core.Assert):
            return False
        if not made.isdisjoint(free_names(other)):
            made |= {p.name for p in other.pattern}
    if not (made - {p.name for p in maker.pattern}).isdisjoint(free_names(statement)):
        return False
    loop = statement.exp_of(core.Loop)
    return all(
        isinstance(parameter.type, types.ScalarType)
        or isinstance(context.definition(initial), core.Scratch)
        for parameter, initial in zip(loop.parameters, loop.initial, strict=True)
    )


def _with_elements(node: Any, elements: Mapping[Name, Atom], index: Name) -> Any:
    """With the values of elements where these are read in their round."""

    def changed(part: Any) -> Any:
        if isinstance(part, core.Index) and part.array in elements:
            return core.Copy(elements[part.array]) if part.slice == (index,) else part
        return (
            map_children(part, changed) if isinstance(part, Body | Stm | Exp) else part
        )

    return changed(node)
