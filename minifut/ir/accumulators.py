"""Accumulators: write-only arrays that are updated in any order.

    let ys: [k]f32 = with_acc((acc([k], (xs), (0f32), add)),
      \\(a: acc a [k] (f32)) -> (acc a [k] (f32)) {
        let b: acc a [k] (f32) = map(n, (a, is, vs),
          \\(c: acc a [k] (f32), i: i64, v: f32) -> (acc a [k] (f32)) {
            let d: acc a [k] (f32) = update_acc(c, (i), (v))
            return d })
        return b })

`WithAcc` lends arrays to a function as accumulators and gives them back updated. An
accumulator is *linear*: each name is used exactly once, so that the updates follow from
one to the next by data dependence alone, and no pass may drop, repeat or reorder them
across another use. A map takes an accumulator among its arrays and gives it back among
its mapped results; inside, every point gets the same accumulator (an accumulator has no
dimensions: `array_of(acc, shape)` is `acc`). The order of the points does not matter,
because the operator is associative and commutative, or there is none and of several
writes to one place one wins.

After R. Schenck, O. Ronning, T. Henriksen, C. Oancea: "AD for an Array Language with
Nested Parallelism", SC 2022. What linear means exactly is in `ir.verify_accumulators`.
"""

from __future__ import annotations

from minifut.ir import sizes, soacs, types
from minifut.ir.core import Atom, Lambda
from minifut.ir.node import node
from minifut.names import Name


@node
class AccInput:
    """Arrays that are updated together: `arrays` (structure of arrays) share the index
    space `shape`, their leading dimensions.

    `operator` combines what is at an index with a value; `neutral` are its neutral
    elements. Without operator `neutral` is empty and a value takes the place.
    """

    printed = "acc({shape}, {arrays}<?, {neutral}, {operator}>)"
    shape: tuple[sizes.Size, ...]
    arrays: tuple[Name, ...]
    neutral: tuple[Atom, ...] = ()
    operator: Lambda | None = None


@node
class WithAcc:
    """The function gets one accumulator per input and gives them back first, in order,
    then any other results. Results: the updated arrays of all inputs, then those."""

    printed = "with_acc({inputs}, {function})"
    inputs: tuple[AccInput, ...]
    function: Lambda


@node
class UpdateAcc:
    """Update an accumulator at an index, with one value for each of its arrays; out of
    bounds nothing happens. The result is the accumulator."""

    printed = "update_acc({accumulator}, {indices}, {values})"
    accumulator: Name
    indices: tuple[Atom, ...]
    values: tuple[Atom, ...]


def updates_accumulators(soac: soacs.Screma) -> bool:
    """Whether a map takes accumulators."""
    return any(isinstance(p.type, types.AccType) for p in soac.function.parameters)


ACCUMULATOR_EXPRESSIONS = (WithAcc, UpdateAcc)
