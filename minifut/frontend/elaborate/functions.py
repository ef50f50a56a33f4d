"""Shared functions: specialised once, called with `Apply`.

Calls are inlined as a rule. A definition whose copies have made many statements is made
into a function of the core instead, once per way of using it, so that a program grows
no faster than its text. So is one with a loop that is mentioned more than once, from
its first call: such loops are of the host's mostly, whose bodies are whole programs.
`passes.inline` puts copies of it in place of calls if it is small:

    def f [n] (k: i64) (xs: [n]f32) = ...       f 3 as + f 4 bs + ... + f 9 gs
    ->
    fun f(n: i64, k: i64, xs: [n]f32): (f32) = ...

What distinguishes one use from another: the structure of the arguments, which of their
sizes are equal or known numbers, and what the type parameters stand for. Sizes become
parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import cached_property

from minifut.errors import Location
from minifut.frontend import syntax
from minifut.frontend.elaborate import branches, call_keys, environment, free, values
from minifut.frontend.elaborate.sizes import resolve_size
from minifut.frontend.elaborate.static_types import (
    Static,
    build,
    has_unknown,
    leaf_types,
    map_array_sizes,
    resolve_type,
)
from minifut.frontend.elaborate.values import Closure, Leaf, Value, scalar
from minifut.frontend.elaborate.work import Work
from minifut.frontend.syntax.traverse import uses, walk
from minifut.frontend.types import Arrow, consumes, is_size
from minifut.immutables import quick_dataclass
from minifut.ir import core
from minifut.ir.core import Function, Param
from minifut.ir.sizes import Size
from minifut.ir.traverse import atom_size
from minifut.ir.types import I64, shape_of
from minifut.names import Name

SMALL = 400
"""names made by a call, in the mean, below which it is always inlined; about six names
make a statement of the finished program"""
COPIES = 5000
"""names that the calls of one definition may make before it is shared"""


@quick_dataclass
class Shared:
    """A function that is being made, or has been: what its sizes are called, and what
    its results look like."""

    name: Name
    sizes: list[Name]
    keeps: object
    """what the key has by its identity only"""
    parameters: tuple[Param, ...] = ()
    results: tuple[Param, ...] = ()
    result: Value | None = None
    function: Function | None = None


@quick_dataclass
class History:
    """What inlining a definition has cost so far."""

    calls: int = 0
    names: int = 0
    is_sharable: bool = True
    is_recursive: bool = False
    is_repeated: bool = False
    """it has a loop and is mentioned again, and it consumes no argument: a function of
    the core does not write to what it is given"""


class Specialisations:
    """The functions that have been made."""

    def __init__(self, programs: Iterable[syntax.Program]) -> None:
        self.programs = programs
        self.made: dict[Hashable, Shared] = {}
        self.histories: dict[syntax.ValueDeclaration, History] = {}
        self.active: set[syntax.ValueDeclaration] = set()
        """definitions whose bodies are being interpreted"""

    def functions(self) -> tuple[Function, ...]:
        """All of them, each after those it calls."""
        made = (shared.function for shared in self.made.values())
        return tuple(function for function in made if function is not None)

    def call(
        self,
        work: Work,
        closure: Closure,
        arguments: tuple[Value, ...],
        location: Location,
    ) -> Value | None:
        """A call of a shared function; None if the call is to be inlined."""
        assert closure.definition is not None
        history = self.histories.get(closure.definition)
        if history is None:
            history = History(is_recursive=free.calls_itself(closure.definition))
            history.is_repeated = self.is_repeated(closure.definition)
            self.histories[closure.definition] = history
        recursive = history.is_recursive and closure.definition in self.active
        is_expensive = history.names >= max(COPIES, SMALL * history.calls)
        is_repeated = history.is_repeated and not work.mode.in_soac
        is_worth_it = (is_expensive or is_repeated) and history.is_sharable
        if not recursive and not is_worth_it:
            return None
        sizes = call_keys.Sizes()
        known = None if recursive else work.known.globals
        keys = [call_keys.key_of(argument, sizes, known) for argument in arguments]
        instance = _instance(closure, work)
        keys += [
            sizes.key(term)
            if isinstance(term, Size)
            else call_keys.static_key(term, sizes)
            for term in instance.values()
        ]
        if call_keys.INLINE in keys:
            if recursive:
                raise work.unsupported(
                    "an accumulator as a parameter of a recursive function is",
                    "take a loop instead",
                )
            return None
        key = (closure.definition, id(closure.env), *keys)
        shared = self.made.get(key)
        if shared is None:
            names = [work.names.fresh("n") for _ in sizes.numbers]
            name = work.names.fresh(closure.definition.name)
            shared = Shared(name, names, (closure, arguments))
            self.made[key] = shared
            _make(work, shared, closure, arguments, instance, sizes, recursive)
            if shared.function is None:
                history.is_sharable = False
                del self.made[key]
                return None
        return _apply(work, shared, arguments, list(sizes.numbers), location)

    def is_repeated(self, definition: syntax.ValueDeclaration) -> bool:
        """Whether a definition is one that is shared from its first call."""
        if not any(isinstance(node, syntax.Loop) for node in walk(definition.body)):
            return False
        if definition.type is None or consumes(definition.type):
            return False
        return self.mentions[definition.name_resolved] > 1

    @cached_property
    def mentions(self) -> Counter[Name | None]:
        """How often the program mentions each name."""
        return Counter(name for file in self.programs for _, name in uses(file))

    def note_cost(self, definition: syntax.ValueDeclaration, cost: int) -> None:
        """How many names an inlined call has made."""
        history = self.histories[definition]
        history.calls += 1
        history.names += cost


def _instance(closure: Closure, work: Work) -> dict[Name, Static | Size]:
    """What the parameters of the definition stand for, independent of the caller's
    environment; sizes that are not known are left to the arguments."""
    if closure.instance is None:
        return {}
    terms, home = closure.instance
    found: dict[Name, Static | Size] = {}
    for name, term in terms.items():
        if is_size(term):
            size = resolve_size(term, home, work, emit=True)
            if size is not None:
                found[name] = size
        else:
            found[name] = resolve_type(term, home, work, emit=True)
    return found


# --- making ------------------------------------------------------------------------


def _make(
    work: Work,
    shared: Shared,
    closure: Closure,
    arguments: tuple[Value, ...],
    instance: dict[Name, Static | Size],
    sizes: call_keys.Sizes,
    recursive: bool,
) -> None:
    """The function for this way of calling; none if it gives a function."""
    from minifut.frontend.elaborate.application import bind_arguments
    from minifut.frontend.elaborate.entries import result_parameters
    from minifut.frontend.elaborate.expressions import evaluate

    names = shared.sizes
    work.known.sizes.update(names)
    inside = {s: Size.of(n) for s, n in zip(sizes.numbers, names, strict=True)}
    parameters = [Param(name, I64) for name in names]
    own = [_parameter(work, a, inside, parameters) for a in arguments]
    bound = replace(closure, instance=None, env=closure.env.child(), arguments=())
    for name, term in instance.items():
        bound.env.names[name] = (
            inside.get(term, term) if isinstance(term, Size) else _renamed(term, inside)
        )
    for parameter in parameters:
        work.build.scope[parameter.name] = parameter.type
    shared.parameters = tuple(parameters)
    mark = work.mark()
    with work.apart(closure.unsafe) as inner:
        frame = bind_arguments(work, bound, tuple(own))
        if recursive:
            shared.results, shared.result = _announced(work, closure, frame, mark)
        result = evaluate(closure.body, frame, work)
        if values.has_function(result):
            return
        if recursive:
            atoms = _as_announced(work, shared, result)
        else:
            shared.results, atoms = result_parameters(
                work, result, lambda size: not work.is_inner(size, mark)
            )
            shared.result = result
        body = inner.finish(*atoms)
    shared.function = Function(shared.name, shared.parameters, shared.results, body)


def _announced(
    work: Work, closure: Closure, frame: environment.Environment, mark: int
) -> tuple[tuple[Param, ...], Value]:
    """The results of a recursive function, by its type: what is needed at a call
    before there is a body."""
    assert closure.definition is not None
    type_ = closure.definition.type
    for _ in closure.parameters:
        assert isinstance(type_, Arrow)
        type_ = type_.result
    assert type_ is not None
    static = resolve_type(type_, frame, work)
    if has_unknown(static):
        raise work.unsupported("recursion that gives functions is")
    unknown: list[Param] = []

    def known(size: Size | None) -> Size:
        if size is None or work.is_inner(size, mark):
            name = work.names.fresh("size")
            unknown.append(Param(name, I64))
            return Size.of(name)
        return size

    static = map_array_sizes(static, known)
    own = [Param(work.names.fresh("result"), type_) for type_ in leaf_types(static)]
    value = build(static, (scalar(p.name, p.type) for p in own), work)
    return (*unknown, *own), value


def _as_announced(work: Work, shared: Shared, result: Value) -> list[core.Atom]:
    """The body's results in the form that was announced."""
    assert shared.result is not None
    unknown = {p.name for p in shared.results}
    found: dict[Name, Size] = {}
    wanted = []
    pairs = zip(
        values.array_sizes(shared.result), values.array_sizes(result), strict=True
    )
    for announced, own in pairs:
        name = announced.as_name
        if name is not None and name in unknown:
            wanted.append(found.setdefault(name, own))
        else:
            wanted.append(announced)
    atoms: list[core.Atom] = [work.build.size_atom(size) for size in found.values()]
    return [*atoms, *values.atoms(branches.coerce(work, result, wanted))]


def _parameter(
    work: Work, value: Value, inside: dict[Size, Size], parameters: list[Param]
) -> Value:
    """An argument inside of the function."""
    renamed = values.resized(
        value, [inside.get(size, size) for size in values.array_sizes(value)]
    )

    def change(leaf: Leaf) -> Leaf:
        if leaf.type == I64 and leaf.size is not None and leaf.size in inside:
            known = inside[leaf.size]
            name = known.as_name
            assert name is not None
            return Leaf(name, I64, known)
        base = leaf.atom.base if isinstance(leaf.atom, Name) else "x"
        name = work.names.fresh(base)
        parameters.append(Param(name, leaf.type))
        return scalar(name, leaf.type)

    return values.map_leaves(renamed, change)


def _renamed(static: Static, inside: dict[Size, Size]) -> Static:
    return map_array_sizes(
        static, lambda size: inside.get(size, size) if size is not None else None
    )


def _apply(
    work: Work,
    shared: Shared,
    arguments: tuple[Value, ...],
    sizes: list[Size],
    location: Location,
) -> Value:
    """The call; the result's sizes in terms of the caller's."""
    work.location = location
    given: list[core.Atom] = [work.size_leaf(size).atom for size in sizes]
    outside = dict(zip(shared.sizes, sizes, strict=True))
    for argument in arguments:
        for leaf in values.leaves(argument):
            if leaf.type == I64 and leaf.size is not None and leaf.size in sizes:
                continue
            if leaf.type == I64:  # of a result, even if no array has it
                name = shared.parameters[len(given)].name
                outside[name] = leaf.size or atom_size(leaf.atom)
            given.append(leaf.atom)
    results = shared.results
    assert shared.result is not None
    count = len(values.leaves(shared.result))
    unknown = results[: len(results) - count]
    pattern = []
    for parameter in unknown:
        name = work.names.like(parameter.name)
        work.known.sizes.add(name)
        outside[parameter.name] = Size.of(name)
        pattern.append(Param(name, I64))
    new = []
    for parameter in results[len(unknown) :]:
        shape = tuple(s.substitute(outside) for s in shape_of(parameter.type))
        type_ = values.with_shape(parameter.type, shape)
        name = work.names.like(parameter.name)
        pattern.append(Param(name, type_))
        new.append(scalar(name, type_))
    work.build.location = work.place_of(location)
    work.build.bind(tuple(pattern), core.Apply(shared.name, tuple(given)))
    named = values.with_leaves(shared.result, iter(new))
    return _sizes_from_leaves(named)


def _sizes_from_leaves(value: Value, depth: int = 0) -> Value:
    """Let the sizes of arrays be those of their leaves."""
    match value:
        case values.ArrayValue(size, element):
            own = values.leaves(element)
            if own:
                size = shape_of(own[0].type)[depth]
            return values.ArrayValue(size, _sizes_from_leaves(element, depth + 1))
        case values.RecordValue(fields):
            return values.RecordValue(
                {n: _sizes_from_leaves(v, depth) for n, v in fields.items()}
            )
        case (
            Leaf() | Closure() | values.SumValue() | values.Known() | values.Primitive()
        ):
            return value
