r"""Incremental flattening: a map with parallelism inside becomes up to three versions.

    nest (i < n) { map (\x -> e) over j < m }
    →  let outer = n * m >= main.map_reduce_map.outer
       if outer then segmap grid (i < n, j < m) { e, sequential }
       else let intra = inner >= main.map_reduce_map.intra && bytes <= local memory
            if intra then segmap group (i < n, j < m) { e for threads }
            else e flattened in the nest (i < n, j < m)

Only where the last exploits more than the first, and within the bounds that
`version_names` states. A map directly inside a map is no choice: two dimensions are
always better than one. Groups are offered where the last version is more than one
segmented operation: else nothing is gained by staying in local memory.

The user's attributes decide as in Futhark: `sequential` leaves the whole map to one
thread, `sequential_inner` and `only_outer` are the first version alone,
`sequential_outer` is a loop of the host around the last, and `flattening(..)` or
`incremental_flattening(..)` with `no_outer`, `no_intra`, `only_intra` (without a check
whether it fits) or `only_inner` leave versions out.
"""

from __future__ import annotations

from collections.abc import Set

from minifut.ir.node import immutable
from minifut.ir.soacs import Screma
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.distribute import distribute_map_over_let
from minifut.passes.flatten.inner_soac import SEQUENTIAL
from minifut.passes.flatten.intra_group import run_map_in_groups
from minifut.passes.flatten.judgement import PPOPP, Answer
from minifut.passes.flatten.map_nest import flatten_perfect_nest, split_perfect
from minifut.passes.flatten.thread_body import run_map_in_threads
from minifut.passes.flatten.version_choice import VersionChoice, gains, kernels_of
from minifut.passes.flatten.version_names import (
    FULL,
    INCREMENTAL,
    shape_of_body,
    weight,
)
from minifut.rewrite.rule import EMITTED, rule


@immutable
class Offers:
    """Which versions the attributes of a map leave, and the kind of flattening."""

    outer: bool
    intra: bool
    inner: bool


def offers_of(attributes: Set[str], kind: str) -> Offers:
    """See the module."""
    words = {
        attribute.partition("(")[2].rstrip(")")
        for attribute in attributes
        if attribute.startswith(("flattening(", "incremental_flattening("))
    }
    if "only_intra" in words:
        return Offers(outer=False, intra=True, inner=False)
    if "only_outer" in words or "sequential_inner" in attributes:
        return Offers(outer=True, intra=False, inner=False)
    incremental = kind == INCREMENTAL
    if "only_inner" in words or "sequential_outer" in attributes or kind == FULL:
        return Offers(outer=False, intra=False, inner=True)
    return Offers(
        outer="no_outer" not in words,
        intra=incremental and "no_intra" not in words,
        inner=True,
    )


@rule(Screma, label="G for l + 1", paper=PPOPP)
def choose_versions(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make versions of a map: its outer parallelism, work-groups, and all parallelism.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let sums: [n]i32 = map(n, (xss), \(xs: [m]i32) -> (i32) {
          return redomap(m, (xs), reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
        })
    after:
        let outer: bool = at_least(n, "main.map_reduce.outer" "threshold"
          ("cpu" = 4611686018427387904, "gpu" = 32768) bounds 0 4611686018427387904
          guards "one thread for each point of the outer maps, their bodies sequential")
        let sums: [n]i32 = if outer then {
          return segmap grid (i < n) -> (i32) {
            let xs: [m]i32 = xss[i]
            return returns redomap(m, (xs),
              reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          }
        } else {
          return segred grid (k < n, l < m)
            operator(add_i32, (0i32), []) -> (i32) {
            let row: [m]i32 = xss[k]
            return returns row[l]
          }
        }
    declines: sequential
        given (n: i64, xs: [n]i32)
        #[sequential] let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
    """
    nest, statement, _ = judgement
    exp = statement.exp_of(Screma)
    if not exp.is_map:
        return None
    attributes = frozenset(statement.attributes)
    if "sequential" in attributes:
        return SEQUENTIAL
    offers = offers_of(attributes, context.versions.kind)
    if not offers.inner:
        if not offers.intra or not run_map_in_groups.fires(judgement, context):
            run_map_in_threads.fires(judgement, context)
        return EMITTED
    parts = split_perfect(exp.function.body)
    if parts is not None and isinstance(parts[1].exp, Screma) and parts[1].exp.is_map:
        if flatten_perfect_nest.fires(judgement, context):
            return EMITTED
        parts = None
    copied = weight(statement)
    reserved = offers.outer and context.versions.reserve(context.path, copied)
    inner = context.inner(shape_of_body(exp.function.body.statements))
    derivation = context.derivation
    mark = len(derivation.trace.steps) if derivation is not None else 0
    perfect = parts is not None and flatten_perfect_nest.fires(judgement, inner)
    found = perfect or distribute_map_over_let.fires(judgement, inner)
    more = found and gains(inner.build.statements, nest.depth + 1)
    if more and (reserved or not offers.outer):
        choice = VersionChoice(context, judgement, inner, perfect, run_map_in_threads)
        choice.emit(reserved, offers.intra and not perfect)
        return EMITTED
    if reserved:
        context.versions.release(copied)
    if perfect or (found and not kernels_of(inner.build.statements)):
        context.build.extend(inner.build.statements)
        return EMITTED
    if derivation is not None and found:
        del derivation.trace.steps[mark:]
    run_map_in_threads.fires(judgement, context)
    return EMITTED
