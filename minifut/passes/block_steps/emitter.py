"""The loop that makes steps in aligned blocks: what is emitted in place of another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minifut.analysis.aligned_blocks import Need
from minifut.ir import kernels
from minifut.ir.builder import FALSE, TRUE, Builder, i64
from minifut.ir.core import Atom, Body, If, Loop, Param, WhileLoop
from minifut.ir.kernels import KernelBody
from minifut.ir.node import immutable
from minifut.ir.scope import add_parameters
from minifut.ir.traverse import free_names, rename_to
from minifut.ir.types import BOOL, I64, U64, ScalarType
from minifut.names import Name
from minifut.passes.block_steps.states import Renaming, RepeatedMap, copy_statements

UNNAMED = "block_steps"
BLOCK_BYTES = 1 << 19
"""of all arrays of a block, twice: they fit the second-level cache of a core"""
PART_BYTES = 1 << 15
"""the same of a part of a block, and the first-level cache"""
FEWEST_BLOCKS = 16
"""for as many threads, if there are so many points"""
LARGE = 1 << 17
"""bytes of arrays whose steps take longer than launches. A bitonic sort on two cores of
a Xeon: 2^14 f32 0.79 in place of 0.66 ms, 2^15 0.71 of 0.95, 2^18 3.4 of 4.3"""


@immutable
class BlockStepsEmitter:
    """Emits the loop for steps, whose map has the body `unchecked` in blocks that have
    what they need."""

    steps: RepeatedMap
    unchecked: KernelBody
    needs: list[Need]

    @property
    def operation(self) -> kernels.SegMap:
        exp = self.steps.map.exp
        assert isinstance(exp, kernels.SegMap)
        return exp

    @property
    def point_bytes(self) -> int:
        types = self.operation.types
        return sum(type_.bytes for type_ in types if isinstance(type_, ScalarType))

    def is_large(self, build: Builder) -> Name:
        """Whether steps take longer than their launches."""
        threshold = kernels.Parameter(
            UNNAMED,
            "threshold",
            (("cpu", LARGE), ("gpu", kernels.NEVER)),
            (0, kernels.NEVER),
            "steps that stay within aligned blocks are made at once, block by block",
        )
        (size,) = self.operation.space.sizes
        return build.let(kernels.AtLeast(size * self.point_bytes, threshold), "large")

    def points(self, number: int) -> int:
        """How many points take so many bytes in two arrays each, a power of two."""
        return 1 << ((number // 2 // self.point_bytes).bit_length() - 1)

    def block(self, build: Builder) -> Name:
        """The points of a block, a power of two that divides the number of all."""
        count = build.size_atom(self.operation.space.sizes[0])
        divisor = build.op("and", count, build.op("neg", count), base="divisor")
        share = build.op("quot", count, i64(FEWEST_BLOCKS), base="share")
        zeros = build.convert(build.op("clz", build.op("max", share, i64(1))), I64)
        share = build.op("shl", i64(1), build.op("sub", i64(63), zeros), base="share")
        most = build.op("min", share, i64(self.points(BLOCK_BYTES)), base="most")
        some = build.op("max", divisor, i64(1))
        return build.op("min", some, most, base="block")

    def fits(self, build: Builder, names: Renaming, block: Name) -> Atom:
        """Whether a step, whose values have these names, stays within blocks."""
        tests: list[Atom] = []
        for need in self.needs:
            number = need.number
            number = names.get(number, number) if isinstance(number, Name) else number
            if need.kind == "below":
                ends = [build.convert(atom, U64) for atom in (number, block)]
                tests.append(build.op("lt", *ends, base="below"))
            elif need.kind == "power":
                less = build.op("sub", number, i64(1), base="less")
                bits = build.op("and", number, less, base="bits")
                tests.append(build.op("eq", bits, i64(0), base="power"))
            else:
                some = build.op("max", number, i64(1))
                rest = build.op("rem", block, some, base="rest")
                tests.append(build.op("eq", some, number, base="positive"))
                tests.append(build.op("eq", rest, i64(0), base="divides"))
        return build.all_of(tests, "fits")

    def loop(self, build: Builder) -> dict[int, Name]:
        """All steps, several at once where they fit; the results by their position."""
        steps, scope = self.steps, build
        block, going = self.block(build), steps.is_any(build)
        arrays = build.parameters([p.type for p in steps.arrays], "array")
        state = build.parameters([p.type for p in steps.state], "state")
        (goes,) = build.parameters([BOOL], "going")
        given, now = tuple(p.name for p in arrays), tuple(p.name for p in state)
        with self.step(build, given, now, checks=True) as (body, names):
            fits = self.fits(body, names, block)
            with body.body() as then:
                several = self.several(then, block, given, now)
            with body.body() as otherwise:
                one = self.one(otherwise, dict(names))
            choice = If(fits, then.finish(*several), otherwise.finish(*one))
            again = body.let_many(choice, [p.name.base for p in (*arrays, *state)])
        loop = Loop(
            (*arrays, *state, goes),
            (*steps.first, *steps.start(), going),
            WhileLoop(goes.name),
            body.finish(*again),
        )
        made = scope.let_many(loop, [p.name.base for p in (*arrays, *state)])
        rest = made[len(arrays) + len(steps.levels) : -1]
        return dict(zip(steps.order, (*made[: len(arrays)], *rest), strict=True))

    @contextmanager
    def step(
        self,
        build: Builder,
        arrays: tuple[Name, ...],
        state: tuple[Name, ...],
        checks: bool = False,
    ) -> Iterator[tuple[Builder, Renaming]]:
        """A body that begins with the values of a step, and the names there of what
        the step has."""
        own = (p.name for p in (*self.steps.arrays, *self.steps.state))
        names = dict(zip(own, (*arrays, *state), strict=True))
        with build.body() as body:
            self.steps.values(body, names, checks=checks)
            yield body, names

    def one(self, build: Builder, names: Renaming) -> tuple[Atom, ...]:
        """One step as it was: its results, the next state, whether there is one."""
        copy_statements(build, (self.steps.map,), names)
        made = [names[bound.name] for bound in self.steps.map.pattern]
        state, going = self.steps.following(build, names)
        return (*made, *state, going)

    def several(
        self,
        build: Builder,
        block: Name,
        arrays: tuple[Name, ...],
        state: tuple[Name, ...],
    ) -> tuple[Atom, ...]:
        """All that fit of the steps from here on, of which the first does."""
        count, after, going = self.run(build, block, state)
        types = build.types(state)
        exp = self.operation
        params = build.parameters(types, "state")
        own = tuple(p.name for p in params)
        part = build.op("min", block, i64(self.points(PART_BYTES)), base="part")
        used = self.steps.computed(free_names(self.unchecked))
        with self.step(build, arrays, own) as (body, names):
            fits = self.fits(body, names, part)
            following, _ = self.steps.following(body, names)
        step = body.finish(fits, *following, *[names[name] for name in used])
        values = tuple(Param(build.names.like(n), build.type(names[n])) for n in used)
        add_parameters(build.scope, values)
        names |= zip(used, (value.name for value in values), strict=True)
        (index,) = exp.space.indices
        names[index] = build.names.like(index)
        point = build.nested()
        copy_statements(point, self.unchecked.statements, names)
        results = tuple(rename_to(result, names) for result in exp.body.result)
        made = kernels.SegMap(
            exp.level,
            kernels.SegSpace((names[index],), exp.space.sizes),
            KernelBody(tuple(point.statements), results),
            exp.types,
            steps=kernels.BlockSteps(
                block, part, arrays, count, params, state, step, values
            ),
        )
        bases = [bound.name.base for bound in self.steps.map.pattern]
        return (*build.let_many(made, bases), *after, going)

    def run(
        self, build: Builder, block: Name, state: tuple[Name, ...]
    ) -> tuple[Name, tuple[Name, ...], Name]:
        """How many steps from here on fit, the state after them, and whether it is one
        of a step."""
        types = build.types(state)
        params = build.parameters((I64, *types, BOOL, BOOL), "run")
        count, *now, there, goes = (p.name for p in params)
        arrays = tuple(p.name for p in self.steps.arrays)
        with self.step(build, arrays, tuple(now), checks=True) as (body, names):
            fits = self.fits(body, names, block)
            with body.body() as then:
                more = then.op("add", count, i64(1), base="count")
                following, going = self.steps.following(then, names)
            ends = Body((), (count, *now, there, FALSE))
            choice = If(fits, then.finish(more, *following, going, going), ends)
            again = body.let_many(choice, [p.name.base for p in params])
        initial: tuple[Atom, ...] = (i64(0), *state, TRUE, TRUE)
        loop = Loop(params, initial, WhileLoop(goes), body.finish(*again))
        made = build.let_many(loop, [p.name.base for p in params])
        return made[0], made[1:-2], made[-2]
