"""Random well-typed Soacs programs on whole numbers, made with the builder.

Sizes are n, m and 3; every index is in bounds by construction, so that no program fails
and all results are exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Param
from minifut.ir.entries import Entry, EntryType
from minifut.ir.sizes import Size
from minifut.ir.types import I64, ArrayType, Type, array_of, shape_of
from minifut.names import Name, NameSource

Pool = list[tuple[Atom, Type]]
OPERATORS = ("add", "sub", "mul", "min", "max")
ASSOCIATIVE = (("add", 0), ("min", 2**62), ("max", -(2**62)))


def random_program(seed: int, statements: int = 8) -> core.Program:
    """A program with an entry `main` over xs: [n], yss: [n][m], k."""
    return _LayoutRewriter(random.Random(seed)).program(statements)


class _LayoutRewriter:
    def __init__(self, choice: random.Random) -> None:
        self.random = choice
        self.names = NameSource()
        self.scope: dict[Name, Type] = {}

    def program(self, statements: int) -> core.Program:
        build = Builder(self.names, self.scope)
        n, m = (build.names.fresh(base) for base in "nm")
        sn, sm = Size.of(n), Size.of(m)
        self.sizes = [sn, sm, Size.constant(3)]
        given = [
            Param(build.names.fresh("xs"), ArrayType(I64, (sn,))),
            Param(build.names.fresh("yss"), ArrayType(I64, (sn, sm)), True),
            Param(build.names.fresh("k"), I64),
        ]
        parameters = [Param(n, I64), Param(m, I64), *given]
        for parameter in parameters:
            self.scope[parameter.name] = parameter.type
        pool: Pool = [(p.name, p.type) for p in parameters]
        self.fill(build, pool, statements, 0)
        results = [atom for atom, _ in pool[-4:]]
        outer = tuple(Param(build.names.fresh("r"), t) for t in build.types(results))
        name = build.names.fresh("main")
        function = core.Function(name, tuple(parameters), outer, build.finish(*results))
        leaf = EntryType("", "", "array", 1)
        entry = Entry("main", name, 2, (leaf,) * 3, (leaf,) * len(results))
        return core.Program((entry,), (), (function,))

    # --- choosing ---

    def pick(self, pool: Pool, wanted: Callable[[Type], bool]) -> Atom | None:
        found = [atom for atom, type_ in pool if wanted(type_)]
        # recent ones are likelier, so that chains come about
        return self.random.choice(found[-6:]) if found else None

    def scalar(self, pool: Pool) -> Atom:
        found = self.pick(pool, lambda t: t == I64)
        if found is None or self.random.random() < 0.2:
            return i64(self.random.randint(-2, 3))
        return found

    def array(self, pool: Pool, rank: int | None = None) -> Name | None:
        def fits(type_: Type) -> bool:
            found = len(shape_of(type_))
            return found > 0 and (rank is None or found == rank)

        found = self.pick(pool, fits)
        assert not isinstance(found, core.Constant)
        return found

    # --- statements ---

    def fill(self, build: Builder, pool: Pool, count: int, depth: int) -> None:
        makers = [self.operator, self.map, self.map, self.reduce, self.scan,
                  self.fresh, self.view, self.branch, self.loop, self.update,
                  self.histogram, self.scatter]  # fmt: skip
        for _ in range(count):
            make = self.random.choice(makers if depth < 3 else makers[:1])
            made = make(build, pool, depth)
            for name in made:
                pool.append((name, build.type(name)))

    def operator(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        a, b = self.scalar(pool), self.scalar(pool)
        return [build.op(self.random.choice(OPERATORS), a, b)]

    def inside(
        self, build: Builder, pool: Pool, types: list[Type], depth: int, type_: Type
    ) -> core.Lambda:
        """A lambda with some statements that gives a value of `type_`."""

        def make(inner: Builder, *names: Name) -> list[Atom]:
            own: Pool = [*pool, *((name, inner.type(name)) for name in names)]
            self.fill(inner, own, self.random.randint(0, 3), depth + 1)
            found = self.pick(own, lambda t: t == type_)
            if found is None or (type_ == I64 and self.random.random() < 0.3):
                found = self.make(inner, own, type_)
            return [found]

        return build.function(types, make)

    def make(self, build: Builder, pool: Pool, type_: Type) -> Atom:
        if type_ == I64:
            return build.op(
                self.random.choice(OPERATORS), self.scalar(pool), self.scalar(pool)
            )
        return build.replicate(shape_of(type_), self.scalar(pool))

    def inputs(self, pool: Pool) -> tuple[Size, tuple[Name, ...]] | None:
        first = self.array(pool)
        if first is None:
            return None
        width = shape_of(self.scope[first])[0]
        others = self.pick(pool, lambda t: shape_of(t)[:1] == (width,))
        if others is None or self.random.random() < 0.5:
            return width, (first,)
        assert isinstance(others, Name)
        return width, (first, others)

    def rows(self, arrays: tuple[Name, ...]) -> list[Type]:
        return [array_of(I64, shape_of(self.scope[a])[1:]) for a in arrays]

    def map(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        found = self.inputs(pool)
        if found is None:
            return []
        width, arrays = found
        types = self.rows(arrays)
        type_ = self.random.choice([I64, types[0], ArrayType(I64, (self.sizes[1],))])
        function = self.inside(build, pool, types, depth, type_)
        return list(build.let_many(soacs.map_(width, arrays, function), ["mapped"]))

    def combining(self, build: Builder) -> tuple[core.Lambda, tuple[Atom, ...]]:
        name, neutral = self.random.choice(ASSOCIATIVE)
        operator = build.function([I64, I64], lambda i, a, b: i.op(name, a, b))
        return operator, (constant(neutral, I64),)

    def reduce(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        found = self.inputs(pool)
        if found is None:
            return []
        width, arrays = found
        types = self.rows(arrays)
        if types[0] != I64 and self.random.random() < 0.5:
            return self.reduce_rows(build, arrays[0], width)
        operator, neutral = self.combining(build)
        function = self.inside(build, pool, types, depth, I64)
        reduce = soacs.Reduce(operator, neutral)
        exp = soacs.redomap(width, arrays, (reduce,), function)
        return list(build.let_many(exp, ["reduced"]))

    def reduce_rows(self, build: Builder, array: Name, width: Size) -> list[Name]:
        row = self.rows((array,))[0]
        if len(shape_of(row)) != 1:
            return []
        scalar, neutral = self.combining(build)
        neutrals = build.replicate(shape_of(row), neutral[0])
        operator = build.function([row, row], lambda i, a, b: i.map([a, b], scalar))
        function = build.function([row], lambda i, a: a)
        if self.random.random() < 0.5:
            reduce = soacs.Reduce(operator, (neutrals,))
            exp = soacs.redomap(width, (array,), (reduce,), function)
        else:
            scan = soacs.Scan(operator, (neutrals,))
            exp = soacs.scanomap(width, (array,), (scan,), function)
        return list(build.let_many(exp, ["rows"]))

    def scan(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        found = self.inputs(pool)
        if found is None:
            return []
        width, arrays = found
        operator, neutral = self.combining(build)
        function = self.inside(build, pool, self.rows(arrays), depth, I64)
        exp = soacs.scanomap(width, arrays, (soacs.Scan(operator, neutral),), function)
        return list(build.let_many(exp, ["scanned"]))

    def fresh(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        size = self.random.choice(self.sizes)
        if self.random.random() < 0.5:
            return [build.iota(size, self.scalar(pool))]
        return [build.replicate([size], self.scalar(pool))]

    def view(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        array = self.array(pool, 2)
        if array is None:
            return []
        if self.random.random() < 0.5:
            return [build.rearrange(array, (1, 0))]
        rows, columns = shape_of(self.scope[array])
        return [build.reshape(array, [rows * columns])]

    def branch(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        test = build.op("lt", self.scalar(pool), self.scalar(pool))
        other = self.array(pool)
        type_ = self.scope[other] if other is not None else I64
        bodies = []
        for _ in range(2):
            inner, own = build.nested(), list(pool)
            self.fill(inner, own, self.random.randint(0, 2), depth + 1)
            result = self.pick(own, lambda t: t == type_)
            if result is None:
                result = self.make(inner, own, type_)
            bodies.append(inner.finish(result))
        return [build.let(core.If(test, *bodies), "chosen", type_)]

    def loop(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        start = self.array(pool, 1)
        if start is None:
            return []
        type_ = self.scope[start]
        carried = build.parameters([type_, I64, type_], "carried")
        other = self.pick(pool, lambda t: t == type_)
        index = build.names.fresh("i")
        self.scope[index] = I64
        inner, own = build.nested(), [*pool, *((p.name, p.type) for p in carried)]
        own.append((index, I64))
        read = inner.index(carried[0].name, index)
        own.append((read, I64))
        self.fill(inner, own, self.random.randint(0, 2), depth + 1)
        new = inner.update(carried[0].name, [index], self.scalar(own))
        second: Atom = carried[2].name
        if self.random.random() < 0.5:
            second = inner.update(carried[2].name, [index], read)
        following: list[Atom] = [new, self.scalar(own), second]
        if self.random.random() < 0.3:
            following[0], following[2] = following[2], following[0]
        bound = build.size_atom(shape_of(type_)[0])
        assert other is not None
        exp = core.Loop(
            carried,
            (start, self.scalar(pool), other),
            core.ForLoop(index, bound, I64),
            inner.finish(*following),
        )
        return list(build.let_many(exp, ["looped"] * 3))

    def update(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        three = ArrayType(I64, (self.sizes[2],))
        array = self.pick(pool, lambda t: t == three)
        if not isinstance(array, Name):
            return []
        place = i64(self.random.randint(0, 2))
        return [build.update(array, [place], self.scalar(pool))]

    def histogram(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        found, target = self.inputs(pool), self.array(pool, 1)
        if found is None or target is None:
            return []
        width, arrays = found
        operator, neutral = self.combining(build)
        bins = self.inside(build, pool, self.rows(arrays), depth, I64)
        result = bins.body.result[0]
        function = core.Lambda(
            bins.parameters,
            core.Body(bins.body.statements, (result, result)),
            (I64, I64),
        )
        shape = shape_of(self.scope[target])
        op = soacs.HistOp(shape, (target,), neutral, operator)
        exp = soacs.Hist(width, arrays, (op,), function)
        return list(build.let_many(exp, ["bins"]))

    def scatter(self, build: Builder, pool: Pool, depth: int) -> list[Name]:
        found, target = self.inputs(pool), self.array(pool, 1)
        if found is None or target is None:
            return []
        width, arrays = found
        numbers = build.iota(width)
        arrays = (numbers, *arrays)
        values = self.inside(build, pool, self.rows(arrays), depth, I64)
        function = core.Lambda(
            values.parameters,
            core.Body(
                values.body.statements,
                (values.parameters[0].name, values.body.result[0]),
            ),
            (I64, I64),
        )
        destination = soacs.ScatterDestination(target, 1, 1)
        exp = soacs.Scatter(width, arrays, (destination,), function)
        return list(build.let_many(exp, ["scattered"]))
