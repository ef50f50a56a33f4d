"""Read a scalar that kernels take, and that is a result too, after these kernels.

    launch sum(xs, total)                  launch sum(xs, total)
    let t: f32 = read total[0]             let t: f32 = read total[0]
    let m: f32 = div_f32(t, n)       →     launch shift(xs, t, ys)
    launch shift(xs, t, ys)                let u: f32 = read total[0]
                                           let m: f32 = div_f32(u, n)

The host waits once, at its end; the first read may stay on the device (`plan.py`). So
statements of the host that no other one but such needs go behind the last launch, and
what they and kernels need is read again there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minifut.ir.node import replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import rename_to, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.device_scalars import moves
from minifut.kernel_passes.device_scalars.plan import chain_of, operands_of, plans_of
from minifut.names import Name, NameSource


def postpone_reads(
    function: kc.HostFunction, kernels: Mapping[str, kc.Kernel], names: NameSource
) -> kc.HostFunction:
    """The function with reads for its results after its launches, where those for
    kernels then stay on the device."""
    definitions = _read_definitions(function.body)
    if not definitions:
        return function
    kept, late = _divided(function)
    results = {r for r in function.results if isinstance(r, Name)}
    wanted = (moves.names_in(late) | results) & moves.names_in(kept)
    again = {
        each: definitions[each]
        for name in wanted & definitions.keys()
        for each in chain_of(name, definitions)
    }
    if not again:
        return function
    renamed = {name: names.like(name) for name in again}
    memories = {
        definition.exp.memory.name
        for definition in (
            *again.values(),
            *moves.definitions_in(kc.HostBlock(late)).values(),
        )
        if isinstance(definition.exp, kc.ReadElement)
    }
    body = kc.HostBlock(
        (
            *moves.without_drops(kept, memories),
            *rename_to(kc.HostBlock((*again.values(), *late)), renamed).statements,
            kc.Drop(tuple(name for name in _allocated(kept) if name in memories)),
        )
    )
    given = tuple(
        renamed.get(r, r) if isinstance(r, Name) else r for r in function.results
    )
    changed = replace(function, body=body, results=given)
    plan = plans_of(changed, kernels).get(id(body))
    stays = plan is not None and again.keys() <= plan.definitions.keys()
    return changed if stays else function


def _divided(
    function: kc.HostFunction,
) -> tuple[tuple[kc.HostStatement, ...], tuple[kc.HostStatement, ...]]:
    """The statements of the function, and those that go behind them."""
    sources = moves.ScalarSources(function.body, frozenset())
    scalars = {n.name for n in nodes_of(kc.HostAssign, function.body)}
    kept: list[kc.HostStatement] = []
    late: list[kc.HostStatement] = []
    needed: set[Name] = set()
    for statement in reversed(function.body.statements):
        if needed.isdisjoint(_defined(statement)) and _is_free(
            statement, sources, scalars
        ):
            late.append(statement)
        else:
            kept.append(statement)
            if not isinstance(statement, kc.Drop):
                needed |= moves.names_in([statement])
    return tuple(reversed(kept)), tuple(reversed(late))


def _is_free(
    statement: kc.HostStatement, sources: moves.ScalarSources, scalars: set[Name]
) -> bool:
    """Whether a statement only defines scalars, and means the same later."""
    match statement:
        case kc.HostAssign(_, kc.ReadElement(), _):
            return sources.of(statement) is not None
        case kc.HostAssign():
            return True
        case kc.HostMove():
            return all(
                not isinstance(s, Name) or s in scalars for s in statement.sources
            )
        case kc.HostIf():
            inner = (*statement.then.statements, *statement.otherwise.statements)
            return not contains(statement, kc.ReadElement) and all(
                _is_free(each, sources, scalars) for each in inner
            )
    return False


def _defined(statement: kc.HostStatement) -> set[Name]:
    defined: set[Name] = set()
    for node in walk(statement):
        if isinstance(node, kc.HostAssign):
            defined.add(node.name)
        elif isinstance(node, kc.HostMove):
            defined.update(node.targets)
    return defined


def _read_definitions(block: kc.HostBlock) -> dict[Name, kc.HostAssign]:
    """The scalars that are read from memory that holds nothing else from then on, and
    what is computed from them."""
    sources = moves.ScalarSources(block, frozenset())
    found: dict[Name, kc.HostAssign] = {}
    for name, definition in moves.definitions_in(block).items():
        if sources.of(definition) or operands_of(definition) & found.keys():
            found[name] = definition
    return found


def _allocated(statements: Iterable[kc.HostStatement]) -> Iterable[Name]:
    return (s.memory.name for s in statements if isinstance(s, kc.Allocate))
