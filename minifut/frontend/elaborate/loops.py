"""`loop`.

    loop (i, xs) = (0, ys) while p i do ...       xs: [k]t, k varies
    ->
    let (k, i, xs: [k]t, go) = loop (k = n, i = 0, xs: [k]t = ys, go = ...) while go ...

Sizes that the checker found to vary are parameters in front of the others; all other
sizes stay what they are at the start.
"""

from __future__ import annotations

from minifut.errors import error
from minifut.frontend import syntax, types
from minifut.frontend.elaborate import patterns, values
from minifut.frontend.elaborate.branches import coerce
from minifut.frontend.elaborate.environment import Environment
from minifut.frontend.elaborate.values import Leaf, Value, scalar
from minifut.frontend.elaborate.work import Work
from minifut.ir import core
from minifut.ir.core import Atom, Constant, Param
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I64, ScalarType
from minifut.names import Name


def loop(exp: syntax.Loop, env: Environment, work: Work) -> Value:
    """See the module."""
    from minifut.frontend.elaborate.expressions import evaluate

    if exp.initial is not None:
        initial = evaluate(exp.initial, env, work)
    else:
        initial = _pattern_value(exp.pattern, env)
    if values.has_function(initial):
        raise error(
            exp.location,
            "a function as a loop parameter is not supported",
            "not-supported",
        )
    work.location = exp.location
    return _Loop(exp, env, work, initial).run()


def _pattern_value(pattern: syntax.Pattern, env: Environment) -> Value:
    """`loop (a, b) for ...`: the names are the initial values."""
    match pattern:
        case syntax.NamePattern(name=name):
            found = env.term(name)
            assert found is not None
            return found  # type: ignore[return-value]
        case (
            syntax.ParensPattern(inner=inner)
            | syntax.AscribedPattern(inner=inner)
            | syntax.AttributedPattern(inner=inner)
        ):
            return _pattern_value(inner, env)
        case syntax.TuplePattern(elements=parts):
            return values.pair(*[_pattern_value(part, env) for part in parts])
        case syntax.RecordPattern(fields=fields):
            return values.RecordValue({n: _pattern_value(p, env) for n, p in fields})
        case _:
            raise error(
                pattern.location,
                "this loop needs an initial value",
                "loop-without-initial-value",
            )


class _Loop:
    """One loop being made."""

    def __init__(
        self, exp: syntax.Loop, env: Environment, work: Work, initial: Value
    ) -> None:
        self.exp, self.env, self.work, self.initial = exp, env, work, initial
        self.start_sizes = values.array_sizes(initial)
        self.varying: dict[Name, Name] = {}
        """size of the checker's to loop parameter"""
        self.places = self._size_places()

    def _size_places(self) -> list[Name | None]:
        """For each size of the value: the varying size of the checker that it is."""
        found: list[Name | None] = []
        wanted = set(self.exp.sizes)

        def visit(type_: types.Type | None, value: Value, depth: int) -> None:
            match type_, value:
                case types.Array(size, element), values.ArrayValue(_, inner):
                    own = size.name if isinstance(size, types.SizeVar) else None
                    found.append(own if own in wanted else None)
                    visit(element, inner, depth + 1)
                case types.Record(fields), values.RecordValue(parts):
                    by_name = dict(fields)
                    for name, part in parts.items():
                        visit(by_name.get(name), part, depth)
                case types.Named(_, _, lifted), _ if lifted:
                    # A size-lifted type may have other sizes each time round.
                    count = len(values.array_sizes(value, depth))
                    found.extend(self.work.names.fresh("size") for _ in range(count))
                case _:
                    found.extend([None] * len(values.array_sizes(value, depth)))

        visit(self.exp.pattern.type, self.initial, 0)
        return found

    def fresh_sizes(self) -> tuple[dict[Name, Name], list[Size]]:
        """New names for the varying sizes, and all sizes in terms of them."""
        named = {
            name: self.work.names.fresh(name.base)
            for name in dict.fromkeys(self.places)
            if name is not None
        }
        self.work.known.sizes.update(named.values())
        sizes = [
            Size.of(named[place]) if place is not None else size
            for place, size in zip(self.places, self.start_sizes, strict=True)
        ]
        return named, sizes

    def run(self) -> Value:
        work, form = self.work, self.exp.form
        named, sizes = self.fresh_sizes()
        shape = values.resized(self.initial, sizes)
        parameters = [Param(name, I64) for name in named.values()]
        initial = [work.build.size_atom(s) for s in self._witnesses(self.start_sizes)]
        inside: list[Leaf] = []
        for leaf in values.leaves(shape):
            base = leaf.atom.base if isinstance(leaf.atom, Name) else "x"
            name = work.names.fresh(base)
            parameters.append(Param(name, leaf.type))
            inside.append(scalar(name, leaf.type))
        initial += values.atoms(self.initial)
        value = values.with_leaves(shape, iter(inside))
        core_form, more, start = self._form(form)
        parameters += more
        initial += start
        for parameter in parameters:
            work.build.scope[parameter.name] = parameter.type
        with work.nested() as build:
            result = self._body(form, core_form, value, named, sizes, bool(more))
            body = build.finish(*result)
        exp = core.Loop(tuple(parameters), tuple(initial), core_form, body)
        return self._bind(exp, parameters, bool(more))

    def _witnesses(self, sizes: list[Size]) -> list[Size]:
        """The first size at each varying place."""
        found: dict[Name, Size] = {}
        for place, size in zip(self.places, sizes, strict=True):
            if place is not None:
                found.setdefault(place, size)
        return list(found.values())

    def _form(
        self, form: syntax.LoopForm
    ) -> tuple[core.ForLoop | core.WhileLoop, list[Param], list[Atom]]:
        """The core's form, with the parameter that a while loop adds and its start."""
        from minifut.frontend.elaborate.expressions import evaluate

        work = self.work
        match form:
            case syntax.ForLess(name=name, bound=bound):
                limit = evaluate(bound, self.env, work)
                assert isinstance(limit, Leaf) and isinstance(limit.type, ScalarType)
                index = work.names.fresh(name)
                if limit.type == I64:
                    work.known.below[index] = values.size_of(limit)
                work.build.scope[index] = limit.type
                return core.ForLoop(index, limit.atom, limit.type), [], []
            case syntax.ForIn(array=array):
                self.elements = evaluate(array, self.env, work)
                size = values.outer_size(self.elements)
                index = work.names.fresh("i")
                work.known.below[index] = size
                work.build.scope[index] = I64
                return core.ForLoop(index, work.size_leaf(size).atom, I64), [], []
            case syntax.While(condition=condition):
                start = self._condition(condition, self.initial)
                go = work.names.fresh("continue")
                return core.WhileLoop(go), [Param(go, BOOL)], [start.atom]

    def _condition(self, condition: syntax.Exp, value: Value) -> Leaf:
        from minifut.frontend.elaborate.expressions import evaluate

        frame = self.env.child()
        patterns.bind(
            self.exp.pattern, value, frame, self.work, frozenset(self.exp.sizes)
        )
        result = evaluate(condition, frame, self.work)
        assert isinstance(result, Leaf)
        return result

    def _body(
        self,
        form: syntax.LoopForm,
        core_form: core.ForLoop | core.WhileLoop,
        value: Value,
        named: dict[Name, Name],
        sizes: list[Size],
        is_while: bool,
    ) -> list[Atom]:
        """Interpret the body; its results as atoms, sizes first."""
        from minifut.frontend.elaborate.arrays import element_at
        from minifut.frontend.elaborate.expressions import evaluate

        work = self.work
        frame = self.env.child()
        force = frozenset(self.exp.sizes)
        patterns.bind(self.exp.pattern, value, frame, work, force)
        if isinstance(core_form, core.ForLoop):
            index = scalar(core_form.index, core_form.type)
            if isinstance(form, syntax.ForLess):
                frame.bind(form.name, form.name_resolved, index)
            elif isinstance(form, syntax.ForIn):
                row = element_at(work, self.elements, index)
                patterns.bind(form.pattern, row, frame, work)
        result = evaluate(self.exp.body, frame, work)
        work.location = self.exp.location
        own = values.array_sizes(result)
        varied = dict(zip(named, self._witnesses(own), strict=True))
        wanted = [
            varied[place] if place is not None else size
            for place, size in zip(self.places, sizes, strict=True)
        ]
        result = coerce(work, result, wanted)
        out: list[Atom] = [work.build.size_atom(s) for s in varied.values()]
        out += values.atoms(result)
        if is_while:
            assert isinstance(form, syntax.While)
            out.append(self._condition(form.condition, result).atom)
        return out

    def _bind(self, exp: core.Loop, parameters: list[Param], is_while: bool) -> Value:
        work = self.work
        _, sizes = (named := self.fresh_sizes())
        shape = values.resized(self.initial, sizes)
        pattern = [Param(name, I64) for name in named[0].values()]
        out = []
        own = parameters[len(pattern) : len(parameters) - is_while]
        for leaf, parameter in zip(values.leaves(shape), own, strict=True):
            name = work.names.like(parameter.name)
            pattern.append(Param(name, leaf.type))
            out.append(scalar(name, leaf.type))
        if is_while:
            pattern.append(Param(work.names.like(parameters[-1].name), BOOL))
        work.build.location = work.place_of(self.exp.location)
        is_constant = isinstance(exp.form, core.ForLoop) and isinstance(
            exp.form.bound, Constant
        )
        if "unroll" in work.mode.attributes and not is_constant:
            text = "#[unroll] on a loop whose number of iterations is not known."
            work.warn(self.exp.location, text)
        work.build.bind(tuple(pattern), exp)
        value = values.with_leaves(shape, iter(out))
        return value
