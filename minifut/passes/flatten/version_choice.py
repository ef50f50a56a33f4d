r"""The conditionals between versions of one place.

let outer = at_least(points, ..)
let ys = if outer then <first> else
  let enough = at_least(inner points, ..)
  let fits = le(bytes, limit)
  if enough && fits then <groups> else <last>
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.ir import sizes, traverse, types
from minifut.ir.core import Atom, Body, If, Iota, Rearrange, Stm
from minifut.ir.host_bodies import host_statements
from minifut.ir.kernels import AtLeast, SegMap
from minifut.ir.node import immutable, replace
from minifut.ir.soacs import Screma
from minifut.passes.flatten.context import SEGMENTED, Judgement, NestContext
from minifut.passes.flatten.defaults import GPU_BUSY, INTRA_DEFAULTS, LastVersion
from minifut.passes.flatten.intra_group import fits, requirements_of, run_map_in_groups
from minifut.passes.flatten.version_names import INTRA, OUTER, threshold, weight
from minifut.rewrite.rule import Rule

IN_THREADS = "one thread for each point of the outer maps, their bodies sequential"
IN_GROUPS = "one work-group for each point of the outer maps, in local memory"


@immutable
class VersionChoice:
    """One place where versions are chosen from: `first` makes the outer version and
    `inner` has the last one, which is one segmented operation if it is `perfect`."""

    context: NestContext
    judgement: Judgement
    inner: NestContext
    perfect: bool
    first: Rule

    def emit(self, outer: bool, intra: bool) -> None:
        """The conditionals of all versions that can be made, within one another."""
        context, names = self.context, self.context.build.names
        first = context.inner()
        outer = outer and self.first.fires(self.judgement, first)
        stem = context.versions.stem(self.inner.path) if outer or intra else ""
        groups = self.groups(stem) if intra else None
        if not outer:
            if groups is None:
                context.build.extend(self.inner.build.statements)
            else:
                context.build.extend(groups.statements)
                context.emit(
                    self.judgement.pattern, groups.choice(self.body(self.inner))
                )
            return
        last = self.body(self.inner)
        if groups is not None:
            build = context.build.nested()
            build.extend(groups.statements)
            own = tuple(
                replace(p, name=names.like(p.name)) for p in self.judgement.pattern
            )
            build.append(Stm(own, groups.choice(last), (), build.location))
            last = build.finish(*(parameter.name for parameter in own))
        inside, points = self.last(), self.points()
        if self.soac.is_map:
            cpu = inside.of_map(self.perfect, self.has_columns())
            points = inside.counted(points, self.perfect)
        else:
            cpu = inside.of_fold(len(self.judgement.nest.sizes) + 1)
        chosen = threshold(f"{stem}.{OUTER}", cpu, GPU_BUSY, IN_THREADS)
        condition = context.build.let(AtLeast(points, chosen), OUTER)
        context.emit(self.judgement.pattern, If(condition, self.body(first), last))

    def points(self) -> sizes.Size:
        """How many points the outer maps have."""
        return sizes.product((*self.judgement.nest.sizes, self.soac.width))

    @property
    def soac(self) -> Screma:
        assert isinstance(self.judgement.statement.exp, Screma)
        return self.judgement.statement.exp

    def last(self) -> LastVersion:
        """What is known of the last version."""
        known = self.context.definitions.items()
        iotas = {name for name, exp in known if isinstance(exp, Iota)}
        inside = tuple(host_statements(self.inner.build.statements))
        return LastVersion(self.soac.function, inside, iotas)

    def has_columns(self) -> bool:
        """Whether the rows of all points are columns in memory: neighbouring points
        have neighbouring elements."""
        pairs = zip(self.soac.function.parameters, self.soac.arrays, strict=True)
        rows = [array for p, array in pairs if types.shape_of(p.type)]
        made = [self.context.definitions.get(array) for array in rows]
        return bool(made) and all(
            isinstance(exp, Rearrange)
            and exp.permutation[0] == len(exp.permutation) - 1
            for exp in made
        )

    def body(self, context: NestContext) -> Body:
        """What binds the pattern at a place, as a branch."""
        made = context.build.finish(
            *(parameter.name for parameter in self.judgement.pattern)
        )
        return traverse.rename(made, context.build.names)

    def groups(self, stem: str) -> _Groups | None:
        """The version in groups, with what decides for it, if it can be made."""
        context = self.context
        copied = weight(self.judgement.statement)
        if copied > context.versions.budget:
            return None
        inside = context.inner()
        if not run_map_in_groups.fires(self.judgement, inside):
            return None
        kernel = inside.build.statements[-1].exp
        assert isinstance(kernel, SegMap)
        needs = requirements_of(kernel)
        if needs is None:
            return None
        context.versions.budget -= copied
        build = context.build.nested()
        chosen = threshold(f"{stem}.{INTRA}", *INTRA_DEFAULTS, IN_GROUPS)
        enough = build.let(AtLeast(needs.parallelism, chosen), "enough")
        condition = build.all_of((enough, fits(build, needs)), INTRA)
        return _Groups(tuple(build.statements), condition, self.body(inside))


@immutable
class _Groups:
    statements: tuple[Stm, ...]
    condition: Atom
    then: Body

    def choice(self, otherwise: Body) -> If:
        """Groups, or else the other version."""
        return If(self.condition, self.then, otherwise)


def gains(statements: Iterable[Stm], depth: int) -> bool:
    """Whether a kernel shares out more than the points of the outer maps."""
    return any(
        not isinstance(kernel, SegMap) or len(kernel.space.sizes) > depth
        for kernel in kernels_of(statements)
    )


def kernels_of(statements: Iterable[Stm]) -> list[Any]:
    """The segmented operations that the host runs."""
    kernels = (statement.exp for statement in host_statements(statements))
    return [kernel for kernel in kernels if isinstance(kernel, SEGMENTED)]
